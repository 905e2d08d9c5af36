package server

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"strings"

	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/resp"
)

// Version is this server's own version; redisVersion is the Redis whose behaviour it follows, which is what clients and
// tools ask for under the name redis_version and decide by.
const (
	Version      = "0.1.0"
	redisVersion = "7.0.15"
)

// maxShards is the most event loops that one server runs: SCAN cursors carry the shard's number in 8 bits.
const maxShards = 256

// Front ends, the values of Config.IO.
const (
	ioEpoll      = "epoll"      // one epoll instance per loop, Linux only
	ioGoroutines = "goroutines" // two goroutines per connection, everywhere
)

// Config is what a server is started with. DefaultConfig fills it; Validate reports all that is wrong with it.
type Config struct {
	Bind           []string // addresses; one that starts with '-' may be unavailable
	Port           int      // TCP port; 0 means no TCP
	UnixSocket     string   // path; empty means none
	TLSPort        int      // TCP port for TLS; 0 means none
	TLS            TLSOptions
	Shards         int    // event loops, each the owner of one shard of the keyspace
	MaxClients     int    // connections at a time, all loops together
	MaxBulkBytes   int    // longest argument accepted
	MaxQueryBytes  int    // most unparsed input held for a connection
	MaxOutputBytes int    // most unsent output held for a connection
	IO             string // "epoll" or "goroutines"
	ConstantReply  bool   // answer every CL.THROTTLE with a constant: the floor that bench/compare measures against
}

// DefaultConfig returns the configuration of a server that was told nothing: Redis's defaults, on loopback only.
func DefaultConfig() Config {
	return Config{
		Bind: []string{"127.0.0.1", "-::1"},
		Port: 6379,
		// Half of the cores: the kernel's network stack, the garbage collector and the log want the other half.
		Shards:         min(max(1, runtime.NumCPU()/2), maxShards),
		MaxClients:     10000,
		MaxBulkBytes:   resp.DefaultMaxBulkBytes,
		MaxQueryBytes:  1 << 30,
		MaxOutputBytes: 1 << 30,
		IO:             defaultIO,
	}
}

// A directive is one line of the configuration: how it is written, read and explained. The table of directives is the
// one place that knows their names: the command line, --help and CONFIG GET follow from it.
type directive struct {
	name   string
	help   string // empty for one that --help does not list
	values string // how --help shows the value
	get    func(c *Config) string
	set    func(c *Config, values []string) error // nil for one that only tells what is
}

var directives = []directive{
	{"port", "TCP port to listen on, 0 for none", "PORT",
		func(c *Config) string { return strconv.Itoa(c.Port) },
		func(c *Config, v []string) error { return setInt(&c.Port, v, 0, 65535) }},
	{"bind", "addresses to listen on; one with a '-' before it may be unavailable", "ADDRESS...",
		func(c *Config) string { return strings.Join(c.Bind, " ") },
		setBind},
	{"unixsocket", "path of a Unix socket to listen on", "PATH",
		func(c *Config) string { return c.UnixSocket },
		func(c *Config, v []string) error { return setString(&c.UnixSocket, v) }},
	{"shards", "event loops, each with a shard of the keyspace; half of the cores unless given", "N",
		func(c *Config) string { return strconv.Itoa(c.Shards) },
		func(c *Config, v []string) error { return setInt(&c.Shards, v, 1, maxShards) }},
	{"maxclients", "connections served at a time", "N",
		func(c *Config) string { return strconv.Itoa(c.MaxClients) },
		func(c *Config, v []string) error { return setInt(&c.MaxClients, v, 1, 1<<30) }},
	{"io", "", "",
		func(c *Config) string { return c.IO },
		func(c *Config, v []string) error { return setString(&c.IO, v) }},
	{"constant-reply", "", "",
		func(c *Config) string { return yesNo(c.ConstantReply) },
		func(c *Config, v []string) error { return setBool(&c.ConstantReply, v) }},
	{name: "databases", get: func(*Config) string { return strconv.Itoa(engine.Databases) }},
	{name: "proto-max-bulk-len", get: func(c *Config) string { return strconv.Itoa(c.MaxBulkBytes) }},
	{name: "client-query-buffer-limit", get: func(c *Config) string { return strconv.Itoa(c.MaxQueryBytes) }},
	{name: "save", get: fixed("")},
	{name: "appendonly", get: fixed("no")},
	{name: "maxmemory", get: fixed("0")},
	{name: "maxmemory-policy", get: fixed("noeviction")},
	{name: "timeout", get: fixed("0")},
	{name: "tcp-keepalive", get: func(*Config) string { return strconv.Itoa(keepAliveIdleSeconds) }},
	{name: "replica-read-only", get: fixed("yes")},
	{name: "slave-read-only", get: fixed("yes")},
	{name: "cluster-enabled", get: fixed("no")},
}

func fixed(value string) func(*Config) string { return func(*Config) string { return value } }

// Validate returns every fault of the configuration, joined, or nil.
func (c *Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Port < 0 || c.Port > 65535 {
		fault("port must be between 0 and 65535")
	}
	if c.Port == 0 && c.TLSPort == 0 && c.UnixSocket == "" {
		fault("port 0 and no unixsocket: nothing to listen on")
	}
	if c.Shards < 1 || c.Shards > maxShards {
		fault("shards must be between 1 and %d", maxShards)
	}
	if c.MaxClients < 1 {
		fault("maxclients must be at least 1")
	}
	for _, address := range c.Bind {
		host := strings.TrimPrefix(address, "-")
		if host != "*" && host != "::*" && net.ParseIP(host) == nil && strings.ContainsAny(host, ": /") {
			fault("bind: '%s' is not an address", address)
		}
	}
	if c.IO != ioGoroutines && c.IO != defaultIO {
		fault("io must be one of: %s", strings.Join(ioChoices(), ", "))
	}
	return errors.Join(faults...)
}

func ioChoices() []string {
	if defaultIO == ioGoroutines {
		return []string{ioGoroutines}
	}
	return []string{defaultIO, ioGoroutines}
}

// ParseArgs reads a command line in redis-server's grammar, "--name value... --name value...", over c.
func (c *Config) ParseArgs(args []string) error {
	for len(args) > 0 {
		name, isOption := strings.CutPrefix(args[0], "--")
		if !isOption {
			return fmt.Errorf("'%s' is not an option; options are written --name value", args[0])
		}
		end := 1
		for end < len(args) && !strings.HasPrefix(args[end], "--") {
			end++
		}
		d := findDirective(name)
		if d == nil || d.set == nil {
			return fmt.Errorf("unknown option '--%s'; --help lists the options", name)
		}
		if err := d.set(c, args[1:end]); err != nil {
			return fmt.Errorf("--%s: %w", d.name, err)
		}
		args = args[end:]
	}
	return nil
}

// Usage returns the text of --help.
func Usage() string {
	var b strings.Builder
	b.WriteString("Usage: cellserver [--option value]...\n\n" +
		"A rate limiter that speaks Redis's protocol: CL.THROTTLE key max_burst count period [quantity].\n\nOptions:\n")
	defaults := DefaultConfig()
	for _, d := range directives {
		if d.help == "" {
			continue
		}
		fmt.Fprintf(&b, "  %-24s%s", "--"+d.name+" "+d.values, d.help)
		if value := d.get(&defaults); value != "" && d.name != "shards" {
			fmt.Fprintf(&b, " (default %s)", value)
		}
		b.WriteByte('\n')
	}
	b.WriteString("  --help                  print this and exit\n  --version               print the version and exit\n")
	return b.String()
}

func findDirective(name string) *directive {
	for i := range directives {
		if strings.EqualFold(directives[i].name, name) {
			return &directives[i]
		}
	}
	return nil
}

func one(values []string) (string, error) {
	if len(values) != 1 {
		return "", fmt.Errorf("one value expected, %d given", len(values))
	}
	return values[0], nil
}

func setString(field *string, values []string) (err error) {
	*field, err = one(values)
	return err
}

func setInt(field *int, values []string, least, most int) error {
	value, err := one(values)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return fmt.Errorf("'%s' is not a number between %d and %d", value, least, most)
	}
	*field = n
	return nil
}

func setBool(field *bool, values []string) error {
	value, err := one(values)
	if err != nil {
		return err
	}
	if value != "yes" && value != "no" {
		return fmt.Errorf("'%s' is neither yes nor no", value)
	}
	*field = value == "yes"
	return nil
}

func setBind(c *Config, values []string) error {
	if len(values) == 0 {
		return errors.New("an address expected")
	}
	c.Bind = nil
	for _, value := range values {
		c.Bind = append(c.Bind, strings.Fields(value)...)
	}
	return nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
