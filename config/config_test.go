package config

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cellserver/cellserver/internal/realredis"
)

// write makes a file in a folder of the test and returns its path.
func write(t *testing.T, folder, name, content string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads a file with the given content, and then the arguments.
func load(t *testing.T, content string, args ...string) (*Config, error) {
	t.Helper()
	c := Default()
	err := c.Load(append([]string{write(t, t.TempDir(), "cell.conf", content)}, args...), nil)
	return &c, err
}

func value(t *testing.T, c *Config, name string) string {
	t.Helper()
	text, known := c.Lookup(name)
	if !known {
		t.Fatalf("there is no directive %s", name)
	}
	return text
}

// TestTable: every directive takes its value from the table, and can read back what it shows of it.
func TestTable(t *testing.T) {
	defaults := Default()
	for i := range directives {
		d := &directives[i]
		text := d.get(&defaults)
		c := Default()
		for _, line := range d.kind.lines(text) {
			words, err := splitLine(d.name + " " + line)
			if err == nil {
				err = (&reader{config: &c, saves: c.given["save"]}).set(words[0], words[1:])
			}
			if err != nil {
				t.Errorf("%s %s: %v", d.name, line, err)
			}
		}
		if d.get(&c) != text {
			t.Errorf("%s: %q is read as %q", d.name, text, d.get(&c))
		}
	}
}

func TestValues(t *testing.T) {
	rows := []struct{ line, name, want string }{
		{"port 7000", "port", "7000"},
		{"  PORT\t65535  ", "port", "65535"},
		{"port 0", "port", "0"},
		{"bind 127.0.0.1 -::1", "bind", "127.0.0.1 -::1"},
		{`bind "127.0.0.1 ::1"`, "bind", "127.0.0.1 ::1"},
		{`bind ""`, "bind", ""},
		{"bind 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", "bind", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"},
		{"appendonly YES", "appendonly", "yes"},
		{"appendfsync ALWAYS", "appendfsync", "always"},
		{"repl-backlog-size 100", "repl-backlog-size", "100"},
		{"repl-backlog-size 100b", "repl-backlog-size", "100"},
		{"repl-backlog-size 1k", "repl-backlog-size", "1000"},
		{"repl-backlog-size 1kb", "repl-backlog-size", "1024"},
		{"repl-backlog-size 2M", "repl-backlog-size", "2000000"},
		{"repl-backlog-size 2mB", "repl-backlog-size", "2097152"},
		{"repl-backlog-size 3g", "repl-backlog-size", "3000000000"},
		{"repl-backlog-size 3GB", "repl-backlog-size", "3221225472"},
		{`repl-backlog-size ""`, "repl-backlog-size", "0"},
		{"repl-backlog-size 8589934591gb", "repl-backlog-size", "9223372035781033984"},
		{"cluster-enabled NO", "cluster-enabled", "no"},
		{"proto-max-bulk-len 1mb", "proto-max-bulk-len", "1048576"},
		{"unixsocketperm 0770", "unixsocketperm", "770"},
		{"unixsocketperm 777", "unixsocketperm", "777"},
		{`requirepass "a\x41 \"b\""`, "requirepass", `aA "b"`},
		{"save 60 1", "save", "60 1"},
		{"save 60 1\nsave 10 2", "save", "60 1 10 2"},
		{`save "60 1 10 0"`, "save", "60 1 10 0"},
		{"save 60 1\nsave \"\"\nsave 5 5", "save", "5 5"},
		{`save ""`, "save", ""},
		{"client-output-buffer-limit normal 1mb 2kb 3", "client-output-buffer-limit", "normal 1048576 2048 3 slave 268435456 67108864 60 pubsub 33554432 8388608 60"},
		{"client-output-buffer-limit replica 0 0 0\nclient-output-buffer-limit slave 1 0 0", "client-output-buffer-limit", "normal 0 0 0 slave 1 0 0 pubsub 33554432 8388608 60"},
		{"latency-tracking-info-percentiles 50 99.9999 1e1", "latency-tracking-info-percentiles", "50 99.9999 10"},
		{`latency-tracking-info-percentiles ""`, "latency-tracking-info-percentiles", ""},
		{"lua-time-limit 7", "busy-reply-threshold", "7"},
		{"slave-read-only no", "replica-read-only", "no"},
		{"shutdown-on-sigterm now SAVE", "shutdown-on-sigterm", "save now"},
		{"shutdown-on-sigterm default", "shutdown-on-sigterm", "default"},
		{"shutdown-on-sigint default force", "shutdown-on-sigint", "force"},
		{"shutdown-on-sigint safe failover now", "shutdown-on-sigint", "now safe failover"},
		{"loglevel nothing", "loglevel", "nothing"},
		{"repl-diskless-load flush-before-load", "repl-diskless-load", "flush-before-load"},
		{"primaryauth x", "masterauth", "x"},
		{"commandlog-slow-execution-max-len 7", "slowlog-max-len", "7"},
		{"server-cpulist 0-1", "server_cpulist", "0-1"},
		{"cluster-slot-stats-enabled net cpu", "cluster-slot-stats-enabled", "cpu net"},
		{"tls-auth-clients-user OFF", "tls-auth-clients-user", "off"},
		{"replicaof no one", "replicaof", ""},
		{"slaveof NO ONE", "replicaof", ""},
		{`replicaof ""`, "replicaof", ""},
		{"databases 1", "databases", "1"},
		{"oom-score-adj-values 0 -2000 2000", "oom-score-adj-values", "0 -2000 2000"},
		{"databases 16", "databases", "16"},
		{"# port 1\n\nport 2", "port", "2"},
		{"port 1\r\nport 2\r\n", "port", "2"},
	}
	for _, row := range rows {
		c, err := load(t, row.line)
		if err != nil {
			t.Errorf("%s: %v", row.line, err)
		} else if got := value(t, c, row.name); got != row.want {
			t.Errorf("%s: %s is %q, not %q", row.line, row.name, got, row.want)
		}
	}
}

// TestErrors: errors in a line have Redis's words, with the file and the line.
func TestErrors(t *testing.T) {
	rows := []struct{ line, want string }{
		{"nosuch 1", "Bad directive or wrong number of arguments"},
		{"port", "wrong number of arguments"},
		{"port 1 2", "wrong number of arguments"},
		{"port 1 # one", "wrong number of arguments"},
		{"port x", "argument couldn't be parsed into an integer"},
		{"port +1", "argument couldn't be parsed into an integer"},
		{"port 65536", "argument must be between 0 and 65535 inclusive"},
		{"port -1", "argument must be between 0 and 65535 inclusive"},
		{"maxclients 0", "argument must be between 1 and 4294967295 inclusive"},
		{"slowlog-log-slower-than -2", "argument must be between -1 and 9223372036854775807 inclusive"},
		{"shards 257", "argument must be between 0 and 256 inclusive"},
		{"appendonly maybe", "argument must be 'yes' or 'no'"},
		{"loglevel loud", "argument(s) must be one of the following: debug, verbose, notice, warning"},
		{"repl-backlog-size 1zb", "argument must be a memory value"},
		{"repl-backlog-size -1", "argument must be a memory value"},
		{"repl-backlog-size 1.5gb", "argument must be a memory value"},
		{"repl-backlog-size 8589934592gb", "argument must be a memory value"},
		{"maxmemory-clients x%", "argument must be a memory or percent value"},
		{"maxmemory-clients 101%", "percentage argument must be less or equal to 100"},
		{"proto-max-bulk-len 1048575", "argument must be between 1048576 and 9223372036854775807 inclusive"},
		{"unixsocketperm 8", "argument couldn't be parsed as an octal number"},
		{"unixsocketperm 1777", "argument must be between 0 and 777 inclusive"},
		{`save "x`, "Unbalanced quotes in configuration line"},
		{"save 1", "Invalid save parameters"},
		{"save 0 1", "Invalid save parameters"},
		{"save 1 -1", "Invalid save parameters"},
		{`save "" 60 1`, "Invalid save parameters"},
		{"bind 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", "Too many bind addresses specified."},
		{"client-output-buffer-limit normal 1 2", "Wrong number of arguments in buffer limit configuration."},
		{"client-output-buffer-limit foo 1 2 3", "Invalid client class specified in buffer limit configuration."},
		{"client-output-buffer-limit normal 1 2 -3", "Error in hard, soft or soft_seconds setting in buffer limit configuration."},
		{"latency-tracking-info-percentiles x", "Invalid latency-tracking-info-percentiles parameters"},
		{"latency-tracking-info-percentiles nan", "Invalid latency-tracking-info-percentiles parameters"},
		{"latency-tracking-info-percentiles 101", "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"},
		{"notify-keyspace-events Z", "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."},
		{"oom-score-adj-values 1 2", "wrong number of arguments"},
		{"oom-score-adj-values 1 2 2001", "Invalid oom-score-adj-values, elements must be between -2000 and 2000."},
		{"dir /no/such/folder", "No such file or directory"},
		{`dir ""`, "No such file or directory"},
		{"appendfilename a/b", "appendfilename can't be a path, just a filename"},
		{"dbfilename a/b", "dbfilename can't be a path, just a filename"},
		{`appendfilename ""`, "appendfilename can't be empty"},
		{"appenddirname a/b", "appenddirname can't be a path, just a dirname"},
		{"rename-command get", "Bad directive or wrong number of arguments"},
		{"user", "Bad directive or wrong number of arguments"},
		{"include", "Bad directive or wrong number of arguments"},
		{"loadmodule", "Bad directive or wrong number of arguments"},
		{"loadmodule /usr/lib/redisearch.so", "cellserver has no modules; redis-cell's commands are built in"},
		{"databases 17", "cellserver has at most 16 databases"},
		{"databases 64", "cellserver has at most 16 databases"},
		{"databases 0", "argument must be between 1 and 2147483647 inclusive"},
		{"databases 2147483648", "argument must be between 1 and 2147483647 inclusive"},
		{"shutdown-on-sigterm save nosave", "shutdown options SAVE and NOSAVE can't be used simultaneously"},
		{"shutdown-on-sigterm later", "argument(s) must be one of the following: default, save, nosave, now, force"},
		{"sentinel monitor mymaster 127.0.0.1 6379 2", "sentinel directive while not in sentinel mode"},
		{"maxmemory 75%", "argument must be a memory value"},
		{"search-timeout", "Bad directive or wrong number of arguments"},
		{"tls-auth-clients-user CN", "cellserver does not take a client's user from its certificate"},
		{"preload-file rdb:x", "cellserver loads only the files in dir"},
		{"tls-key-file-pass x", "cellserver does not read encrypted keys; openssl pkey removes the password"},
		{"replicaof 10.0.0.1 6379", "replication is not implemented"},
		{"replicaof 10.0.0.1", "wrong number of arguments"},
		{"cluster-enabled yes", "cellserver does not support clusters"},
	}
	for _, row := range rows {
		c, err := load(t, "\n# comment\n"+row.line+"\n")
		var located *Error
		if !errors.As(err, &located) {
			t.Errorf("%s: %v", row.line, err)
			continue
		}
		want := fmt.Sprintf("*** FATAL CONFIG FILE ERROR (cellserver) ***\nReading the configuration file %s, at line 3\n>>> '%s'\n%s", c.File, row.line, row.want)
		if located.Error() != want {
			t.Errorf("%s:\n%s\ninstead of\n%s", row.line, err, want)
		}
	}
}

// TestFileThenArguments: the file comes first, then standard input, wherever its - stands, then the directives of the command line.
func TestFileThenArguments(t *testing.T) {
	c, err := load(t, "port 1\nmaxclients 7\n", "--port", "2")
	if err != nil || c.Port != 2 || c.MaxClients != 7 || !filepath.IsAbs(c.File) {
		t.Error(err, c.Port, c.MaxClients, c.File)
	}
	c, err = load(t, "port 1\n", "extra")
	if err == nil || !strings.Contains(err.Error(), ">>> 'extra'\nBad directive") {
		t.Error(c.Port, err)
	}
	for _, args := range [][]string{{"-", "--port", "2"}, {"--port", "2", "-"}} {
		c := Default()
		err := c.Load(args, strings.NewReader("port 3\nmaxclients 8"))
		if err != nil || c.Port != 2 || c.MaxClients != 8 || c.File != "" {
			t.Error(args, err, c.Port, c.MaxClients, c.File)
		}
	}
	failed := Default()
	err = failed.Load([]string{"-"}, strings.NewReader("\nport x"))
	if err == nil || !strings.Contains(err.Error(), "Reading standard input, at line 2\n>>> 'port x'\n") {
		t.Error(err)
	}
	err = failed.Load([]string{"/no/such/file"}, nil)
	if err == nil || err.Error() != "can't open config file '/no/such/file': No such file or directory" {
		t.Error(err)
	}
	c, err = load(t, "port 3\n", "--timeout", "5")
	if want := []string{c.File, "the command line"}; err != nil || !slices.Equal(c.Origins, want) {
		t.Error(err, c.Origins)
	}
	byInput := Default()
	if err := byInput.Load([]string{"-"}, strings.NewReader("")); err != nil || !slices.Equal(byInput.Origins, []string{"standard input"}) {
		t.Error(err, byInput.Origins)
	}
	var nothing Config
	if err := nothing.Load(nil, nil); err != nil || nothing.Origins != nil {
		t.Error(err, nothing.Origins)
	}
}

func TestInclude(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "more"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, folder, "more/1.conf", "port 1\nmaxclients 11\n")
	write(t, folder, "more/2.conf", "port 2\ninclude ../other\n")
	write(t, folder, "other", "timeout 5\n")
	path := write(t, folder, "main.conf", "port 3\ninclude more/*.conf\ninclude none/*\n")
	c := Default()
	if err := c.Load([]string{path}, nil); err != nil || c.Port != 2 || c.MaxClients != 11 || c.TimeoutSeconds != 5 {
		t.Error(err, c.Port, c.MaxClients, c.TimeoutSeconds)
	}
	other := write(t, folder, "other", "port 1\n\ntimeout x\n")
	if err := c.Load([]string{path}, nil); err == nil || !strings.Contains(err.Error(), "file "+other+", at line 3\n>>> 'timeout x'\n") {
		t.Error(err)
	}
	missing := write(t, folder, "missing", "include nothing.conf\n")
	if err := c.Load([]string{missing}, nil); err == nil || !strings.Contains(err.Error(), "nothing.conf': No such file or directory") {
		t.Error(err)
	}
	write(t, folder, "self", "include self\n")
	if err := c.Load([]string{filepath.Join(folder, "self")}, nil); err == nil || !strings.Contains(err.Error(), "more than 16 deep") {
		t.Error(err)
	}
	for depth := range maxIncludes + 1 { // deep0 includes 15 further ones and then, as the 16th, the last
		content := fmt.Sprintf("include deep%d\n", depth+1)
		if depth == maxIncludes {
			content = "port 77\n"
		}
		write(t, folder, fmt.Sprint("deep", depth), content)
	}
	if err := c.Load([]string{filepath.Join(folder, "deep0")}, nil); err != nil || c.Port != 77 {
		t.Error(err, c.Port)
	}
}

func TestLongestFile(t *testing.T) {
	line := "# " + strings.Repeat("x", 1<<20-3) + "\n"
	content := strings.Repeat(line, 16)
	if _, err := load(t, content); err != nil {
		t.Error(err)
	}
	if _, err := load(t, content+"\n"); err == nil || !strings.Contains(err.Error(), "longer than 16777216 bytes") {
		t.Error(err)
	}
}

func TestWhatIsKeptAndNoted(t *testing.T) {
	c, err := load(t, "user bob on >x ~*\nrename-command CONFIG \"\"\nloadmodule /usr/lib/libredis_cell.so\nhz 5\ndaemonize yes\nlist-max-ziplist-entries 5\nhz 6\n", "--user", "eve", "off")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Users) != 2 || strings.Join(c.Users[0].Words, " ") != "user bob on >x ~*" || c.Users[0].Source != (Source{c.File, 1}) || c.Users[1].Source != (Source{}) {
		t.Errorf("users %+v", c.Users)
	}
	if len(c.Renames) != 1 || !slices.Equal(c.Renames[0].Words, []string{"rename-command", "CONFIG", ""}) || c.Renames[0].Source.Line != 2 {
		t.Errorf("renames %+v", c.Renames)
	}
	want := []string{
		"loadmodule /usr/lib/libredis_cell.so: redis-cell's commands are built in; the file is not loaded",
		"daemonize yes: cellserver stays in the foreground; run it under a supervisor or with the shell's &",
		"2 directives do not concern a rate limiter and have no effect: hz, list-max-ziplist-entries",
	}
	if !slices.Equal(c.Notes, want) {
		t.Errorf("notes %q", c.Notes)
	}
}

// TestStockFile reads the redis.conf that Debian ships.
func TestStockFile(t *testing.T) {
	const stock = "/etc/redis/redis.conf"
	content, err := os.ReadFile(stock)
	if err != nil {
		realredis.Missing(t, err)
	}
	// The data folder exists only where the whole package is installed.
	data := t.TempDir()
	c, err := load(t, strings.Replace(string(content), "dir /var/lib/redis\n", "dir "+data+"\n", 1))
	if err != nil {
		t.Fatal(err)
	}
	if c.Port != 6379 || c.LogFile != "/var/log/redis/redis-server.log" || c.PIDFile != "/run/redis/redis-server.pid" || c.Dir != data {
		t.Errorf("%+v", c)
	}
	if len(c.Notes) != 2 || !strings.HasPrefix(c.Notes[0], "daemonize yes:") || !strings.Contains(c.Notes[1], " directives do not concern a rate limiter and have no effect: always-show-logo, ") || len(c.Warnings) > 0 {
		t.Errorf("notes %q, warnings %q", c.Notes, c.Warnings)
	}
}

// TestRedisHasTheSameDirectives: the table has all that CONFIG GET * of a real Redis shows, with its values, and no other.
func TestRedisHasTheSameDirectives(t *testing.T) {
	_, port, err := net.SplitHostPort(realredis.Start(t).Address)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(realredis.Tool(t, "redis-cli"), "-p", port, "config", "get", "*").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	if len(lines) < 300 {
		t.Fatalf("redis-cli says %q", out)
	}
	differ := map[string]bool{"bind": true, "dir": true, "port": true, "unixsocket": true, "syslog-ident": true, "shards": true}
	ours := map[string]string{}
	c := Default()
	for _, v := range c.Get("*") {
		ours[v.Name] = v.Text
	}
	for i := 0; i+1 < len(lines); i += 2 {
		text, known := ours[lines[i]]
		if !known {
			t.Errorf("%s is missing", lines[i])
		} else if text != lines[i+1] && !differ[lines[i]] {
			t.Errorf("%s is %q, not %q", lines[i], text, lines[i+1])
		}
		delete(ours, lines[i])
	}
	delete(ours, "shards")
	delete(ours, "strict-load")
	delete(ours, "accept-machine-clock")
	if len(ours) > 0 {
		t.Errorf("Redis has no %v", ours)
	}
}

// TestDefaultShards: half of the cores, and at least one.
func TestDefaultShards(t *testing.T) {
	for cores, want := range map[float64]int{0.2: 1, 1: 1, 1.5: 1, 2: 1, 3.9: 1, 4: 2, 16: 8, 1000: maxShards} {
		if got := halfOf(cores); got != want {
			t.Errorf("%v cores: %d shards, not %d", cores, got, want)
		}
	}
}
