package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// startLogged starts a server whose log goes to a file, and returns what reads it.
func startLogged(t *testing.T, configure func(*Config)) (s *Server, logged func() string) {
	t.Helper()
	s = startServer(t, func(c *Config) {
		if configure != nil {
			configure(c)
		}
		c.LogFile = "cell.log"
	})
	return s, func() string {
		content, err := os.ReadFile(filepath.Join(s.config().Dir, "cell.log"))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
}

// TestErrorsOfTheDisk: clients get Redis's words, with a code, and the log gets the system's.
func TestErrorsOfTheDisk(t *testing.T) {
	aclFile := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(aclFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, logged := startLogged(t, withLog("everysec", func(c *Config) { c.ACLFile = aclFile }))
	eventually(t, "the first base is there", func() bool { return s.aof.Load().Stats().Rewrites > 0 })
	dir := s.config().Dir
	inTheWay := []string{
		filepath.Join(dir, "temp-dump.rdb"),
		filepath.Join(dir, "appendonlydir", "appendonly.aof.2.incr.aof"),
		filepath.Join(aclFile, "folder"),
	}
	if err := os.Remove(aclFile); err != nil {
		t.Fatal(err)
	}
	for _, folder := range inTheWay {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	dialogue{
		{"SAVE", "-ERR"},
		{"BGREWRITEAOF", "-ERR Can't execute an AOF background rewriting. Please check the server logs for more information."},
		{"ACL SAVE", "-ERR There was an error trying to save the ACLs. Please check the server logs for more information"},
		{"ACL LOAD", "-ERR Error loading ACLs, opening file '" + aclFile + "': Is a directory"},
	}.run(t, dial(t, s))
	for _, want := range []string{
		" # Error saving DB on disk: open " + inTheWay[0],
		" # Can't rewrite append only file in background: open " + inTheWay[1],
		" # Can't save the ACLs: rename ",
	} {
		if got := logged(); !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// TestConfigSetWithoutEffect is noted as at a start, once for each change.
func TestConfigSetWithoutEffect(t *testing.T) {
	s, logged := startLogged(t, nil)
	c := dial(t, s)
	for _, row := range []struct{ command, note string }{
		{"CONFIG SET maxmemory 100mb", ""}, // which is refused
		{"CONFIG SET maxmemory 0", ""},
		{"CONFIG SET repl-timeout 50", " * 1 directive is not implemented and has no effect: repl-timeout\n"},
		{"CONFIG SET repl-timeout 50", ""},
		{"CONFIG SET repl-timeout 60", ""}, // which asks for nothing
		{"CONFIG SET timeout 100", ""},
		{"CONFIG SET timeout 0 hz 20", " * 1 directive does not concern a rate limiter and has no effect: hz\n"},
		{"CONFIG SET hz 30 list-max-ziplist-size 5", " * 2 directives do not concern a rate limiter and have no effect: hz, list-max-listpack-size\n"},
		{"CONFIG SET hz 40 timeout x", ""},
	} {
		before := logged()
		c.run(row.command)
		added := strings.TrimPrefix(logged(), before)
		if lines := strings.Count(added, "\n"); !strings.Contains(added, row.note) || row.note == "" && lines > 0 || lines > 1 {
			t.Errorf("%s: %q", row.command, added)
		}
	}
}

// TestFailedStartIsLogged: what keeps a server from starting is in its log, in a line, and names a file once.
func TestFailedStartIsLogged(t *testing.T) {
	c := DefaultConfig()
	c.Dir, c.LogFile, c.Bind, c.Port = t.TempDir(), "cell.log", []string{"127.0.0.1"}, freePort(t)
	snapshot := filepath.Join(c.Dir, "dump.rdb")
	if err := os.WriteFile(snapshot, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := c
	readLines(t, &broken, "rename-command nosuch x")
	for _, row := range []struct {
		config Config
		want   string
	}{
		{broken, ">>> 'rename-command nosuch x'; No such command in rename-command\n"},
		{c, " # Fatal error: " + snapshot + " is damaged at offset 0: unexpected end of file. Restore it from a backup\n"},
	} {
		if s, err := New(row.config); err == nil {
			_ = s.Serve()
		}
		if content, err := os.ReadFile(filepath.Join(c.Dir, "cell.log")); err != nil || !strings.HasSuffix(string(content), row.want) {
			t.Errorf("%v: %s", err, content)
		}
	}
}

// TestSnapshotsAreLogged in the words and at the levels of redis-server 7.0.15.
func TestSnapshotsAreLogged(t *testing.T) {
	pid := os.Getpid()
	inBackground := fmt.Sprintf(" * Background saving started by pid %d\n * DB saved on disk\n * Background saving terminated with success\n", pid)
	s, logged := startLogged(t, nil)
	c := dial(t, s)
	for _, row := range []struct {
		command []string
		want    string
	}{
		{[]string{"SAVE"}, " * DB saved on disk\n"},
		{[]string{"CL.THROTTLE", "k", "15", "30", "60"}, ""},
		{[]string{"BGSAVE"}, inBackground},
		{[]string{"CL.THROTTLE", "k", "15", "30", "60"}, ""},
		{[]string{"CONFIG", "SET", "save", "1 1"}, " * 1 changes in 1 seconds. Saving...\n" + inBackground},
	} {
		before := logged()
		c.do(row.command...)
		eventually(t, row.command[0]+" is logged", func() bool {
			var b strings.Builder
			for line := range strings.Lines(strings.TrimPrefix(logged(), before)) {
				b.WriteString(line[len(fmt.Sprintf("%d:M 30 Nov 2026 12:00:00.000", pid)):])
			}
			return b.String() == row.want
		})
	}
}
