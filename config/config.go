package config

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
)

// Config holds the value of every directive. A Config in use is never changed: to change a value, make a Clone, change
// that, and replace the original with it. The fields have the directives' names, with the unit where there is one.
type Config struct {
	// Where to listen, and for how many clients.
	Bind                []string // addresses; one that starts with '-' may be unavailable
	Port                int      // TCP port; 0: none
	UnixSocket          string   // path; empty: none
	UnixSocketPerm      fs.FileMode
	TCPBacklog          int
	MaxClients          int // connections at a time, all loops together
	ProtectedMode       bool
	TimeoutSeconds      int // of silence until a connection is closed; 0: never
	TCPKeepAliveSeconds int // until the first probe; 0: none
	MaxBulkBytes        int // proto-max-bulk-len: longest argument accepted
	MaxQueryBytes       int // client-query-buffer-limit: most unparsed input held for a connection
	OutputLimits        OutputLimits
	Databases           int // that SELECT can choose from, at most MaxDatabases

	TLSPort int // 0: none
	TLS     TLSOptions

	// Who may do what.
	RequirePass            string
	ACLFile                string
	ACLLogMaxLen           int64
	ACLPubSubDefault       string // allchannels or resetchannels
	EnableDebugCommand     string // no, yes or local
	EnableProtectedConfigs string // no, yes or local

	// What is watched.
	SlowlogLogSlowerThanMicros     int64 // negative: nothing is logged
	SlowlogMaxLen                  int64
	LatencyMonitorThresholdMillis  int64 // 0: off
	LatencyTracking                bool
	LatencyTrackingInfoPercentiles []float64

	// Scripts.
	BusyReplyThresholdMillis int64 // 0: a script may run for ever

	// What is kept on disk.
	Dir                      string // absolute
	Save                     []SavePoint
	DBFilename               string
	StopWritesOnBGSaveError  bool
	AppendOnly               bool
	AppendDirname            string
	AppendFilename           string
	AppendFsync              string // everysec, always or no
	AutoAOFRewritePercentage int    // 0: never by itself
	AutoAOFRewriteMinSize    int64
	AOFLoadTruncated         bool
	AOFTimestampEnabled      bool
	StrictLoad               bool // a file that holds anything but limiter keys stops the start
	AcceptMachineClock       bool // trust the machine's clock where the files' clock is ahead of it

	// The process.
	LogLevel       string // debug, verbose, notice, warning or nothing
	LogFile        string // empty: standard output
	SyslogEnabled  bool
	SyslogIdent    string
	SyslogFacility string
	PIDFile        string
	Supervised     string // upstart, systemd, auto or no
	// Which SHUTDOWN options SIGINT and SIGTERM stand for, separated by spaces; "default": none.
	ShutdownOnSIGINT, ShutdownOnSIGTERM string

	// Our own.
	Shards        int    // event loops, each of which owns one shard of the keyspace
	IO            string // epoll or goroutines
	ConstantReply bool   // answer every CL.THROTTLE with a constant: the floor that bench/compare measures against

	// What the file and the command line said besides values of directives.
	File    string   // the configuration file, absolute; empty: there is none to rewrite
	Origins []string // what was read: files of the command line, standard input and the command line itself
	Users   []Line   // user name rule...
	Renames []Line   // rename-command old new
	// For the log:
	Warnings []string // accepted values that promise what cellserver does not do, a line each
	Notes    []string // other accepted values that have no effect

	inert map[string]string // values of directives without a field, by name, where they differ from the table's
	given map[string]bool   // names of the directives that a file or the command line has given
}

// TLSOptions are the tls- directives, with Redis's meanings. Path makes the files' names absolute.
type TLSOptions struct {
	CertFile, KeyFile     string
	CACertFile, CACertDir string
	AuthClients           string // "yes", "optional" or "no"
	Protocols             string // "TLSv1.2", "TLSv1.3" or both, separated by spaces; empty: both
	Ciphers               string // OpenSSL's names, separated by colons, for TLS 1.2; empty: Go's choice
}

// A SavePoint asks for a snapshot once both this many changes and this many seconds have passed since the last one.
type SavePoint struct {
	Seconds int64 // at least 1
	Changes int64
}

// OutputLimits are client-output-buffer-limit's, one for each class of clients.
type OutputLimits struct{ Normal, Replica, PubSub OutputLimit }

// An OutputLimit closes a connection whose unsent output is beyond HardBytes, or has been beyond SoftBytes for SoftSeconds.
// 0 bytes mean no limit.
type OutputLimit struct{ HardBytes, SoftBytes, SoftSeconds int64 }

// A Line is a line of a file, or its equivalent on the command line.
type Line struct {
	Words  []string // with the directive's name, in lower case
	Text   string   // as it was written
	Source Source
}

// Default returns the configuration of a server that is given none: Redis's values, but on loopback only.
func Default() Config {
	c := Config{}
	for i := range directives {
		d := &directives[i]
		if d.field == nil {
			continue
		}
		text, err := d.kind.parse(d.value, []string{d.value})
		if err != nil {
			panic("config: the value of " + d.name + " in the table: " + err.Error())
		}
		assign(d.field(&c), text)
	}
	return c
}

// Clone returns a copy that shares nothing with the original.
func (c *Config) Clone() *Config {
	clone := *c
	clone.Bind = slices.Clone(c.Bind)
	clone.LatencyTrackingInfoPercentiles = slices.Clone(c.LatencyTrackingInfoPercentiles)
	clone.Save = slices.Clone(c.Save)
	clone.Origins = slices.Clone(c.Origins)
	clone.Users = slices.Clone(c.Users)
	clone.Renames = slices.Clone(c.Renames)
	clone.Warnings = slices.Clone(c.Warnings)
	clone.Notes = slices.Clone(c.Notes)
	clone.inert = maps.Clone(c.inert)
	clone.given = maps.Clone(c.given)
	return &clone
}

// Path makes the name of a file absolute: it is relative to dir, the configuration's working directory.
func (c *Config) Path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.Dir, name)
}

// Given says whether a file or the command line has given a directive, by its first name.
func (c *Config) Given(name string) bool { return c.given[name] }
