package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cellserver/cellserver/config"
)

// TestFilesOfMoreDatabases: a start from a snapshot or a log with a database that there is not is refused, in Redis's words, and
// leaves the files alone; with as many as there were it finds the keys.
func TestFilesOfMoreDatabases(t *testing.T) {
	for _, appendOnly := range []bool{false, true} {
		s := startServer(t, func(c *Config) {
			c.AppendOnly, c.Save = appendOnly, []config.SavePoint{{Seconds: 3600, Changes: 1}}
		})
		c := dial(t, s)
		dialogue{{"SELECT 8", "OK"}, {"CL.THROTTLE k 15 1 3600", "[0 16 15 -1 3600]"}}.run(t, c)
		s = restart(t, s)
		few := *s.config().Clone()
		s = restart(t, s)
		dialogue{{"SELECT 8", "OK"}, {"DBSIZE", "1"}}.run(t, dial(t, s))
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		few.Databases = 8
		if err := startFails(t, few); err == nil || !strings.HasSuffix(err.Error(), ": Data file was created with a Redis server configured to handle more than 8 databases") {
			t.Errorf("appendonly %v: %v", appendOnly, err)
		}
		few.Databases = 9
		dialogue{{"SELECT 8", "OK"}, {"DBSIZE", "1"}, {"SELECT 9", "-ERR DB index is out of range"}}.run(t, dial(t, startServer(t, func(c *Config) {
			port := c.Port
			*c = few
			c.Port = port
		})))
	}
}

// TestFlushAllOfFewDatabases: the log of a server with few databases names no others, so that Redis reads it with as few.
func TestFlushAllOfFewDatabases(t *testing.T) {
	s := startServer(t, func(c *Config) { c.AppendOnly, c.AppendFsync, c.Databases = true, "always", 2 })
	dialogue{{"CL.THROTTLE k 15 1 3600", "[0 16 15 -1 3600]"}, {"FLUSHALL", "OK"}}.run(t, dial(t, s))
	files, err := filepath.Glob(filepath.Join(s.config().Dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil || strings.Contains(string(content), "SELECT\r\n$1\r\n2\r\n") || !strings.Contains(string(content), "SELECT\r\n$1\r\n1\r\n") {
		t.Errorf("%v: %q", err, content)
	}
}

// TestRenameAbsentCommand: the commands of Redis and Valkey that are not here may be turned off and renamed. Their names count as
// taken where they do in Redis 7.0.
func TestRenameAbsentCommand(t *testing.T) {
	rows := []struct {
		lines string
		want  string // the error's last line; empty: none
		notes int
	}{
		{`rename-command SPOP ""`, "", 0},
		{`rename-command spop ""` + "\n" + `rename-command Hexpire ""` + "\n" + `rename-command COMMANDLOG ""` + "\n" + `rename-command function ""`, "", 0},
		{`rename-command SPOP abc`, "", 1},
		{"rename-command SPOP abc\nrename-command ABC def", "", 2},
		{"rename-command SPOP spop", "", 1},
		{"rename-command GET get", "", 0},
		{`rename-command GET ""` + "\nrename-command SPOP get", "", 1},
		{`rename-command SPOP ""` + "\nrename-command GET spop", "", 0},
		{"rename-command DEBUG digest", "", 0}, // a command of Redis 8.4
		{`rename-command SPOP ""` + "\n" + `rename-command SPOP ""`, "No such command in rename-command", 0},
		{"rename-command SPOP GET", "Target command name already exists", 0},
		{"rename-command SPOP SADD", "Target command name already exists", 0},
		{"rename-command GET SADD", "Target command name already exists", 0},
		{"rename-command SPOP abc\nrename-command GET ABC", "Target command name already exists", 0},
		{`rename-command nosuch ""`, "No such command in rename-command", 0},
		{`rename-command "" x`, "No such command in rename-command", 0},
		{`rename-command config|get ""`, "No such command in rename-command", 0},
		{"rename-command SPOP x" + strings.Repeat("x", longestName), "A command's name has at most 128 bytes", 0},
	}
	for _, row := range rows {
		c := DefaultConfig()
		readLines(t, &c, row.lines)
		table := newCommandTable(commandRows(&c))
		r := newRenamer(table, newACL(table).Catalogue().Absent())
		err := r.rename(c.Renames)
		lines := strings.Split(row.lines, "\n")
		want := fmt.Sprintf(", at line %d\n>>> '%s'\n%s", len(lines), lines[len(lines)-1], row.want)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) || err == nil && len(r.notes) != row.notes {
			t.Errorf("%q: %v, notes %q", row.lines, err, r.notes)
		}
	}
}

// TestWarningsAtTheStart: what a file asks for in vain is in the log: a warning for each promise that is not kept, a line for the
// rest; and CONFIG GET says what is so.
func TestWarningsAtTheStart(t *testing.T) {
	s, logged := startLogged(t, func(c *Config) {
		readLines(t, c, "maxmemory 1gb\nmin-replicas-to-write 1\nio-threads 4\nhz 20\nrename-command SPOP x\n")
	})
	eventually(t, "the start is told", func() bool { return strings.Contains(logged(), " serves ") })
	for _, want := range []string{
		" # maxmemory 1gb is not implemented: memory is not limited; ",
		" # min-replicas-to-write 1 is not implemented: there are no replicas, and writes are accepted without them (CONFIG GET says 0)\n",
		" * 1 directive is not implemented and has no effect: io-threads\n",
		" * 1 directive does not concern a rate limiter and has no effect: hz\n",
		" * rename-command spop x: cellserver has no command spop, and so none that is called x\n",
	} {
		if got := logged(); strings.Count(got, want) != 1 {
			t.Errorf("no %q in %s", want, got)
		}
	}
	dialogue{
		{"CONFIG GET maxmemory min-replicas-to-write io-threads", `["io-threads" "4" "maxmemory" "0" "min-replicas-to-write" "0"]`},
		{"CONFIG SET maxmemory 100mb", "-ERR CONFIG SET failed (possibly related to argument 'maxmemory') - not implemented: memory is not limited; keys take about 40 bytes each and live only until their limit is full again"},
		{"CONFIG SET hz 30 min-slaves-to-write 1", "-ERR CONFIG SET failed (possibly related to argument 'min-slaves-to-write') - not implemented: there are no replicas, and writes are accepted without them"},
		{"CONFIG GET hz", `["hz" "20"]`},
		{"CONFIG SET maxmemory 0 maxmemory-policy noeviction", "OK"},
		{"X a", "-ERR unknown command 'X', with args beginning with: 'a' "},
	}.run(t, dial(t, s))
}

// TestSyslogIsDown: the server starts without the system's log, warns, and finds it when it is there.
func TestSyslogIsDown(t *testing.T) {
	var lines []string
	down := true
	l := &logger{path: filepath.Join(t.TempDir(), "log")}
	l.openSystem = func() (systemLog, error) {
		if down {
			return nil, errors.New("it is down")
		}
		return func(_ logLevel, text string) { lines = append(lines, text) }, nil
	}
	if err := l.reachSystem(); err == nil {
		t.Error("it is up")
	}
	l.notice("a")
	down = false
	l.notice("b")
	down = true
	l.notice("c")
	if !slices.Equal(lines, []string{"b", "c"}) {
		t.Errorf("%q", lines)
	}
}

// TestLogNothing: no line is written.
func TestLogNothing(t *testing.T) {
	s, logged := startLogged(t, func(c *Config) { readLines(t, c, "maxmemory 1gb\nloglevel nothing") })
	if got := logged(); got != "" {
		t.Error(got)
	}
	dialogue{{"CONFIG SET loglevel warning", "OK"}, {"SHUTDOWN ABORT x", "-ERR syntax error"}}.run(t, dial(t, s))
	s.log.warning("now")
	if got := logged(); !strings.HasSuffix(got, " # now\n") {
		t.Error(got)
	}
}

// TestOptionsOfSignals: shutdown-on-sigterm and shutdown-on-sigint say whether a snapshot is taken, and whether the server ends
// where none can be.
func TestOptionsOfSignals(t *testing.T) {
	rows := []struct {
		lines    string
		signal   string
		inTheWay bool // of the snapshot
		saves    bool
		ends     bool
	}{
		{"save 3600 1", "SIGTERM", false, true, true},
		{"save \"\"", "SIGTERM", false, false, true},
		{"save \"\"\nshutdown-on-sigterm save", "SIGTERM", false, true, true},
		{"save \"\"\nshutdown-on-sigterm save", "SIGINT", false, false, true},
		{"save \"\"\nshutdown-on-sigint now save", "SIGINT", false, true, true},
		{"save 3600 1\nshutdown-on-sigterm nosave", "SIGTERM", false, false, true},
		{"save 3600 1", "SIGTERM", true, false, false},
		{"save 3600 1\nshutdown-on-sigterm force", "SIGTERM", true, false, true},
	}
	for _, row := range rows {
		s := startServer(t, func(c *Config) { readLines(t, c, row.lines) })
		dial(t, s).run("CL.THROTTLE k 15 1 3600")
		if row.inTheWay {
			if err := os.Mkdir(filepath.Join(s.config().Dir, "temp-dump.rdb"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		s.EndFor(row.signal)
		dial(t, s).run("PING") // its loop has done what the signal asked for
		ended := false
		select {
		case <-s.EndRequested():
			ended = true
		default:
		}
		_, err := os.Stat(filepath.Join(s.config().Dir, "dump.rdb"))
		if saved := err == nil; ended != row.ends || saved != row.saves {
			t.Errorf("%q, %s: ends %v, saves %v", row.lines, row.signal, ended, saved)
		}
		if row.inTheWay {
			_ = os.Remove(filepath.Join(s.config().Dir, "temp-dump.rdb"))
		}
	}
}

// TestSecondSignalChangesNothing: the keyspace is saved once, however often the end is asked for. A signal after an end that failed
// is another attempt.
func TestSecondSignalChangesNothing(t *testing.T) {
	s := startServer(t, func(c *Config) {
		readLines(t, c, "save 3600 1")
		c.LogFile = filepath.Join(c.Dir, "log")
	})
	client := dial(t, s)
	client.run("CL.THROTTLE k 15 1 3600")
	inTheWay := filepath.Join(s.config().Dir, "temp-dump.rdb")
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	s.EndFor("SIGTERM")
	client.run("PING") // its loop has done what the signal asked for
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	for range 3 { // without a wait between them: the later ones come while the first saves
		s.EndFor("SIGTERM")
	}
	client.run("PING")
	s.EndFor("SIGINT")
	client.run("PING")
	log, err := os.ReadFile(s.config().LogFile)
	if saves := strings.Count(string(log), "Saving the final RDB snapshot"); err != nil || saves != 2 || strings.Contains(string(log), "SIGINT") {
		t.Errorf("%d attempts to save, want one that fails and one that does not; %v\n%s", saves, err, log)
	}
}
