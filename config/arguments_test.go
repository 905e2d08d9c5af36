package config

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cellserver/cellserver/internal/realredis"
)

// commandLines are taken as redis-server 7.0.15 takes them. Words are separated by |. want is a directive and its value; without
// it, the line is an error.
var commandLines = []struct{ args, name, want string }{
	{"--timeout|3|--maxclients|2", "maxclients", "2"},
	{"--MaxClients|7", "maxclients", "7"},
	{"--maxclients|5|--maxclients|6", "maxclients", "6"},
	{"--loglevel|VERBOSE", "loglevel", "verbose"},
	{"--repl-backlog-size|1gb", "repl-backlog-size", "1073741824"},
	{"--replicaof|no|one", "replicaof", ""},
	{"--databases|8", "databases", "8"},
	{"--acl-pubsub-default allchannels", "acl-pubsub-default", "allchannels"},
	{"--maxclients 5|--maxmemory-policy volatile-ttl", "maxclients", "5"},
	{"--maxclients |5", "maxclients", "5"},
	{"--maxclients 5 ", "maxclients", "5"},
	{"--maxclients 5\n", "maxclients", "5"},
	{"--timeout 3\nmaxclients 5", "maxclients", "5"},
	{"--  maxclients 5", "maxclients", "5"},
	{"--|maxclients|5", "maxclients", "5"},
	{"--maxclients|5|--", "maxclients", "5"},
	{"--# maxclients 5", "maxclients", "10000"},
	{"--save", "save", ""},
	{"--save|--maxclients|5", "maxclients", "5"},
	{"--save|--maxclients|5", "save", ""},
	{"--save|", "save", ""},
	{"--save|\"\"", "save", ""},
	{"--save|''", "save", ""},
	{"--save \"\"", "save", ""},
	{"--save|60|1|--save|30|2", "save", "60 1 30 2"},
	{"--save 60 1|--save 30 2", "save", "60 1 30 2"},
	{"--save|60 1 30 2", "save", "60 1 30 2"},
	{"--save|'60' \"1\"", "save", "60 1"},
	{"--save|60|1|--save|", "save", ""},
	{"--client-output-buffer-limit|normal 1 2 3", "client-output-buffer-limit", "normal 1 2 3 slave 268435456 67108864 60 pubsub 33554432 8388608 60"},
	{"--client-output-buffer-limit|normal|1|2|3|--client-output-buffer-limit|pubsub|0|0|0", "client-output-buffer-limit", "normal 1 2 3 slave 268435456 67108864 60 pubsub 0 0 0"},
	{"--oom-score-adj-values|0 '100' 200", "oom-score-adj-values", "0 100 200"},
	{"--latency-tracking-info-percentiles|'50' \"99\"", "latency-tracking-info-percentiles", "50 99"},
	{"--shutdown-on-sigterm|save 'now'", "shutdown-on-sigterm", "save now"},
	{"--masterauth|--x", "masterauth", "--x"},
	{"--masterauth|--x|--maxclients|5", "maxclients", "5"},
	{"--masterauth|-x", "masterauth", "-x"},
	{"--masterauth|a b", "masterauth", "a b"},
	{"--masterauth|'a b'", "masterauth", "'a b'"},
	{"--masterauth|it's", "masterauth", "it's"},
	{`--masterauth|a\x41"b`, "masterauth", `a\x41"b`},
	{`--masterauth "a \x41"`, "masterauth", "a A"},
	{"--masterauth|#x", "masterauth", "#x"},
	{"--masterauth|", "masterauth", ""},

	{"--nosuch|1", "", ""},
	{"--nosuch", "", ""},
	{"--maxclients", "", ""},
	{"--maxclients|7|8", "", ""},
	{"--maxclients|7|", "", ""},
	{"--maxclients|5 --timeout 3", "", ""},
	{"--maxclients 5 --timeout 3", "", ""},
	{"--appendonly", "", ""},
	{"--appendonly|--maxclients|7", "", ""},
	{"--maxclients=7", "", ""},
	{"--maxclients|7|-|--timeout|3", "", ""},
	{"-maxclients|7", "", ""},
	{"---maxclients|7", "", ""},
	{"--|--maxclients|7", "", ""},
	{"--masterauth \"a b", "", ""},
	{"--timeout|3|--version", "", ""},
}

func TestCommandLine(t *testing.T) {
	for _, row := range commandLines {
		c := Default()
		err := c.Load(strings.Split(row.args, "|"), nil)
		var located *Error
		switch {
		case row.name == "" && !errors.As(err, &located):
			t.Errorf("%q: %v", row.args, err)
		case row.name != "" && err != nil:
			t.Errorf("%q: %v", row.args, err)
		case row.name != "" && value(t, &c, row.name) != row.want:
			t.Errorf("%q: %s is %q, not %q", row.args, row.name, value(t, &c, row.name), row.want)
		}
	}
}

// TestRedisAgreesOnCommandLines starts a Redis with each of them.
func TestRedisAgreesOnCommandLines(t *testing.T) {
	server, client := realredis.Tool(t, "redis-server"), realredis.Tool(t, "redis-cli")
	for _, row := range commandLines {
		args := strings.Split(row.args, "|")
		if row.name == "" {
			soon, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			if out, err := exec.CommandContext(soon, server, args...).CombinedOutput(); err == nil || !strings.Contains(string(out), "FATAL CONFIG FILE ERROR") {
				t.Errorf("%q: %v, %s", row.args, err, out)
			}
			continue
		}
		_, port, err := net.SplitHostPort(realredis.Start(t, args...).Address)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(client, "-p", port, "config", "get", row.name).Output()
		if got := string(out); err != nil || got != row.name+"\n"+row.want+"\n" {
			t.Errorf("%q: %q, %v", row.args, got, err)
		}
	}
}

// TestHints: an error on the command line says what the user probably meant.
func TestHints(t *testing.T) {
	const bad = "Bad directive or wrong number of arguments"
	rows := []struct{ args, want string }{
		{"--nosuch|1", bad},
		{"--port=7000", bad + ": write --port 7000"},
		{"--maxmemory-policy=volatile-ttl|--port|7000", bad + ": write --maxmemory-policy volatile-ttl --port 7000"},
		{"--save=60|1", bad + ": write --save 60 1"},
		{"--maxmemory_policy|noeviction", bad + ": write --maxmemory-policy noeviction"},
		{"-p|7000", bad + ": write --port 7000"},
		{"-p7000", bad + ": options begin with --; cellserver --help lists them"},
		{"-port|7000", bad + ": write --port 7000"},
		{"---port|7000", bad + ": write --port 7000"},
		{"-a|secret", bad + ": write --requirepass secret"},
		{"-x", bad + ": options begin with --; cellserver --help lists them"},
		{"--port|7000|--version", bad + ": --version must be the first argument"},
		{"--port|7000|--help", bad + ": --help must be the first argument"},
		{"--sentinel", "sentinel directive while not in sentinel mode: cellserver has no --sentinel"},
		{"--check-system", bad + ": cellserver has no --check-system"},
		{"--test-memory|100", bad + ": cellserver has no --test-memory"},
	}
	for _, row := range rows {
		c := Default()
		err := c.Load(strings.Split(row.args, "|"), nil)
		var located *Error
		if !errors.As(err, &located) || located.Err.Error() != row.want || located.Source != (Source{}) {
			t.Errorf("%q: %v", row.args, err)
		}
	}
	for name, hint := range map[string]string{
		"help":      "; the first word is a file name unless it begins with --: see cellserver --help",
		"7000":      "; the first word is a file name unless it begins with --: see cellserver --help",
		"port":      "; the first word is a file name unless it begins with --: write --port",
		"no.conf":   "",
		"./no-conf": "",
	} {
		t.Chdir(t.TempDir())
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		c := Default()
		if err := c.Load([]string{name}, nil); err == nil || err.Error() != "can't open config file '"+path+"': No such file or directory"+hint {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := Default()
	if err := c.Load([]string{"", "--port", "1"}, nil); err == nil || err.Error() != "the name of the configuration file is empty" {
		t.Error(err)
	}
	c = Default()
	if err := c.Load([]string{"--timeout", "5", "maxclients", "6"}, nil); err == nil || !strings.Contains(err.Error(), ">>> '--timeout 5 maxclients 6'") {
		t.Error(err)
	}
}
