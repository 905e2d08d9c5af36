package config

import (
	"math"
	"slices"

	"github.com/cellserver/cellserver/netio"
)

// directives is the table: first those that take effect, then the others, in the order of CONFIG GET.
var directives = slices.Concat(working, inert, missing, promises, areMissing(refused), later)

const (
	maxInt  = math.MaxInt32
	maxLong = math.MaxInt64
	maxUint = math.MaxUint32
	mib     = 1 << 20
)

var (
	port       = integer{0, 65535}
	count      = integer{0, maxInt}
	long       = integer{0, maxLong}
	anyText    = text{}
	anyBytes   = memory{}
	noYesLocal = choice{"no", "yes", "local"}

	// shutdownFlags are the options of SHUTDOWN that a signal may stand for. The last two are Valkey's.
	shutdownFlags = flags{
		choice{"default", "save", "nosave", "now", "force"}, choice{"safe", "failover"},
		[2]string{"save", "nosave"}, "shutdown options SAVE and NOSAVE can't be used simultaneously",
	}
)

// working are the directives that take effect.
var working = []directive{
	{name: "bind", kind: addresses{}, value: "127.0.0.1 -::1", when: atStart, help: "addresses to listen on; one that starts with '-' may be unavailable",
		field: func(c *Config) any { return &c.Bind }},
	{name: "port", kind: port, value: "6379", when: atStart, help: "TCP port to listen on, 0 for none",
		field: func(c *Config) any { return &c.Port }},
	{name: "unixsocket", kind: anyText, when: atStart, help: "path of a Unix socket to listen on",
		field: func(c *Config) any { return &c.UnixSocket }},
	{name: "unixsocketperm", kind: permissions{}, value: "0", when: atStart, field: func(c *Config) any { return &c.UnixSocketPerm }},
	{name: "tcp-backlog", kind: count, value: "511", when: atStart, field: func(c *Config) any { return &c.TCPBacklog }},
	{name: "maxclients", kind: integer{1, maxUint}, value: "10000", help: "connections served at a time",
		field: func(c *Config) any { return &c.MaxClients }},
	{name: "protected-mode", kind: boolean{}, value: "yes", help: "without a password, serve only this machine",
		field: func(c *Config) any { return &c.ProtectedMode }},
	{name: "timeout", kind: count, value: "0", help: "seconds until a silent connection is closed, 0 for never",
		field: func(c *Config) any { return &c.TimeoutSeconds }},
	{name: "tcp-keepalive", kind: count, value: "300", field: func(c *Config) any { return &c.TCPKeepAliveSeconds }},
	{name: "proto-max-bulk-len", kind: memory{least: mib}, value: "536870912", field: func(c *Config) any { return &c.MaxBulkBytes }},
	{name: "client-query-buffer-limit", kind: memory{least: mib}, value: "1073741824", field: func(c *Config) any { return &c.MaxQueryBytes }},
	{name: "client-output-buffer-limit", kind: outputLimits{}, value: "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
		field: func(c *Config) any { return &c.OutputLimits }},
	{name: "databases", kind: databaseCount{integer{1, maxInt}}, value: "16", when: atStart, field: func(c *Config) any { return &c.Databases }},

	{name: "tls-port", kind: port, value: "0", when: atStart, help: "TLS port to listen on, 0 for none",
		field: func(c *Config) any { return &c.TLSPort }},
	{name: "tls-cert-file", kind: anyText, field: func(c *Config) any { return &c.TLS.CertFile }},
	{name: "tls-key-file", kind: anyText, field: func(c *Config) any { return &c.TLS.KeyFile }},
	{name: "tls-ca-cert-file", kind: anyText, field: func(c *Config) any { return &c.TLS.CACertFile }},
	{name: "tls-ca-cert-dir", kind: anyText, field: func(c *Config) any { return &c.TLS.CACertDir }},
	{name: "tls-auth-clients", kind: choice{"no", "yes", "optional"}, value: "yes", field: func(c *Config) any { return &c.TLS.AuthClients }},
	{name: "tls-protocols", kind: anyText, field: func(c *Config) any { return &c.TLS.Protocols }},
	{name: "tls-ciphers", kind: anyText, field: func(c *Config) any { return &c.TLS.Ciphers }},

	{name: "requirepass", kind: anyText, help: "password of the default user", field: func(c *Config) any { return &c.RequirePass }},
	{name: "aclfile", kind: anyText, when: atStart, field: func(c *Config) any { return &c.ACLFile }},
	{name: "acllog-max-len", kind: long, value: "128", field: func(c *Config) any { return &c.ACLLogMaxLen }},
	{name: "acl-pubsub-default", kind: choice{"allchannels", "resetchannels"}, value: "resetchannels", field: func(c *Config) any { return &c.ACLPubSubDefault }},
	{name: "enable-debug-command", kind: noYesLocal, value: "no", when: atStart, field: func(c *Config) any { return &c.EnableDebugCommand }},
	{name: "enable-protected-configs", kind: noYesLocal, value: "no", when: atStart, field: func(c *Config) any { return &c.EnableProtectedConfigs }},

	{name: "slowlog-log-slower-than", later: "commandlog-execution-slower-than", kind: integer{-1, maxLong}, value: "10000", field: func(c *Config) any { return &c.SlowlogLogSlowerThanMicros }},
	{name: "slowlog-max-len", later: "commandlog-slow-execution-max-len", kind: long, value: "128", field: func(c *Config) any { return &c.SlowlogMaxLen }},
	{name: "latency-monitor-threshold", kind: long, value: "0", field: func(c *Config) any { return &c.LatencyMonitorThresholdMillis }},
	{name: "latency-tracking", kind: boolean{}, value: "yes", field: func(c *Config) any { return &c.LatencyTracking }},
	{name: "latency-tracking-info-percentiles", kind: percentiles{}, value: "50 99 99.9", field: func(c *Config) any { return &c.LatencyTrackingInfoPercentiles }},

	{name: "busy-reply-threshold", alias: "lua-time-limit", kind: long, value: "5000", field: func(c *Config) any { return &c.BusyReplyThresholdMillis }},

	{name: "dir", kind: directory{}, value: ".", when: protected, help: "where files are kept", field: func(c *Config) any { return &c.Dir }},
	{name: "save", kind: savePoints{}, value: "3600 1 300 100 60 10000", help: "seconds and changes after which a snapshot is taken, \"\" for never",
		field: func(c *Config) any { return &c.Save }},
	{name: "dbfilename", kind: fileName("dbfilename", "filename"), value: "dump.rdb", when: protected, field: func(c *Config) any { return &c.DBFilename }},
	{name: "stop-writes-on-bgsave-error", kind: boolean{}, value: "yes", field: func(c *Config) any { return &c.StopWritesOnBGSaveError }},
	{name: "appendonly", kind: boolean{}, value: "no", help: "log every change", field: func(c *Config) any { return &c.AppendOnly }},
	{name: "appenddirname", kind: fileName("appenddirname", "dirname"), value: "appendonlydir", when: atStart, field: func(c *Config) any { return &c.AppendDirname }},
	{name: "appendfilename", kind: fileName("appendfilename", "filename"), value: "appendonly.aof", when: atStart, field: func(c *Config) any { return &c.AppendFilename }},
	{name: "appendfsync", kind: choice{"everysec", "always", "no"}, value: "everysec", help: "when the log is safe on disk: everysec, always or no",
		field: func(c *Config) any { return &c.AppendFsync }},
	{name: "auto-aof-rewrite-percentage", kind: count, value: "100", field: func(c *Config) any { return &c.AutoAOFRewritePercentage }},
	{name: "auto-aof-rewrite-min-size", kind: anyBytes, value: "67108864", field: func(c *Config) any { return &c.AutoAOFRewriteMinSize }},
	{name: "aof-load-truncated", kind: boolean{}, value: "yes", field: func(c *Config) any { return &c.AOFLoadTruncated }},
	{name: "aof-timestamp-enabled", kind: boolean{}, value: "no", field: func(c *Config) any { return &c.AOFTimestampEnabled }},

	{name: "loglevel", kind: widened{choice{"debug", "verbose", "notice", "warning"}, choice{"nothing"}}, value: "notice", help: "debug, verbose, notice, warning or nothing",
		field: func(c *Config) any { return &c.LogLevel }},
	{name: "logfile", kind: anyText, when: atStart, help: "path of the log; standard output if not given", field: func(c *Config) any { return &c.LogFile }},
	{name: "syslog-enabled", kind: boolean{}, value: "no", when: atStart, field: func(c *Config) any { return &c.SyslogEnabled }},
	{name: "syslog-ident", kind: anyText, value: "cellserver", when: atStart, field: func(c *Config) any { return &c.SyslogIdent }},
	{name: "syslog-facility", kind: choice{"user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"}, value: "local0", when: atStart,
		field: func(c *Config) any { return &c.SyslogFacility }},
	{name: "pidfile", kind: anyText, when: atStart, help: "path of a file for the process ID", field: func(c *Config) any { return &c.PIDFile }},
	{name: "supervised", kind: choice{"upstart", "systemd", "auto", "no"}, value: "no", when: atStart, field: func(c *Config) any { return &c.Supervised }},
	{name: "shutdown-on-sigint", kind: shutdownFlags, value: "default", field: func(c *Config) any { return &c.ShutdownOnSIGINT }},
	{name: "shutdown-on-sigterm", kind: shutdownFlags, value: "default", field: func(c *Config) any { return &c.ShutdownOnSIGTERM }},

	{name: "strict-load", kind: boolean{}, value: "no", when: atStart, help: "refuse to start from a file that holds anything but limiter keys",
		field: func(c *Config) any { return &c.StrictLoad }},
	{name: "accept-machine-clock", kind: boolean{}, value: "no", when: atStart, help: "trust this machine's clock where the files' clock is ahead: move all limits back",
		field: func(c *Config) any { return &c.AcceptMachineClock }},
	{name: "shards", kind: shardCount{integer{0, maxShards}}, value: "0", when: atStart, help: "event loops, each with a shard of the keyspace, 0 for half of the cores or of the CPU quota",
		field: func(c *Config) any { return &c.Shards }},
	{name: "io", kind: choice{netio.Epoll, netio.Goroutines}, value: netio.FrontEnds()[0], when: atStart, hidden: true, field: func(c *Config) any { return &c.IO }},
	{name: "constant-reply", kind: boolean{}, value: "no", when: atStart, hidden: true, field: func(c *Config) any { return &c.ConstantReply }},
}
