package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cellserver/cellserver/internal/vfs"
)

// withLog turns the append-only file on, under a policy.
func withLog(policy string, configure func(*Config)) func(*Config) {
	return func(c *Config) {
		if configure != nil {
			configure(c)
		}
		c.AppendOnly, c.AppendFsync, c.Save = true, policy, nil
	}
}

// TestLogBringsKeysBack: whatever changes keys, alone, in transactions, from scripts and over shards, is there after a restart.
func TestLogBringsKeysBack(t *testing.T) {
	later := strconv.FormatInt(time.Now().Add(time.Hour).UnixNano(), 10)
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		for _, policy := range []string{"always", "everysec", "no"} {
			s := startServer(t, withLog(policy, configure))
			c := dial(t, s)
			for _, command := range []string{
				"CL.THROTTLE throttled 15 1 3600 3", "SET set " + later, "SET gone " + later, "DEL gone nothing", "SET old " + later, "RENAME old new",
				"COPY set copied", "COPY set copied DB 2", "CL.THROTTLE full 5 1 60 1", "CL.THROTTLE full 5 1 60 -1",
				"MULTI", "SET inMulti1 " + later, "SET inMulti2 " + later, "EXEC",
				"SELECT 3", "SET flushed " + later, "FLUSHDB", "SET after " + later,
				"SELECT 4", "SET swapped " + later, "SWAPDB 4 5", "SELECT 6", "SET moved " + later, "MOVE moved 7", "SELECT 0",
			} {
				if got := c.run(command); strings.HasPrefix(got, "-") {
					t.Fatal(command, got)
				}
			}
			c.do("EVAL", "redis.call('cl.throttle', KEYS[1], 15, 1, 3600) redis.call('cl.throttle', KEYS[2], 15, 1, 3600)", "2", "script1", "script2")
			before := c.run("GET throttled")
			c = dial(t, restart(t, s))
			dialogue{
				{"EXISTS set new copied inMulti1 inMulti2 script1 script2", "7"}, {"EXISTS gone old full", "0"}, {"GET throttled", before},
				{"DBSIZE", "8"}, {"SELECT 2", "OK"}, {"KEYS *", `["copied"]`}, {"SELECT 3", "OK"}, {"KEYS *", `["after"]`},
				{"SELECT 4", "OK"}, {"DBSIZE", "0"}, {"SELECT 5", "OK"}, {"KEYS *", `["swapped"]`}, {"SELECT 6", "OK"}, {"DBSIZE", "0"},
				{"SELECT 7", "OK"}, {"KEYS *", `["moved"]`},
			}.run(t, c)
		}
	})
}

// TestLogTakesSnapshotOver: a server that had snapshots keeps its keys when the log is turned on at a start.
func TestLogTakesSnapshotOver(t *testing.T) {
	s := startServer(t, nil)
	c := dial(t, s)
	c.run("CL.THROTTLE a 15 1 3600")
	c.run("SAVE")
	restart(t, s)
	c = dial(t, startServer(t, func(config *Config) {
		dir := s.config().Dir
		withLog("always", nil)(config)
		config.Dir = dir
	}))
	if got := c.run("EXISTS a"); got != "1" {
		t.Error(got)
	}
}

// TestLogIsTurnedOnAndOff by CONFIG SET, under load: what was there before is kept too.
func TestLogIsTurnedOnAndOff(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.Save = nil
		})
		c := dial(t, s)
		for i := range 500 {
			c.run(fmt.Sprintf("CL.THROTTLE before%d 15 1 3600", i))
		}
		if got := c.run("BGREWRITEAOF"); !strings.HasPrefix(got, "-ERR there is no append only file") {
			t.Error("BGREWRITEAOF:", got)
		}
		if got := c.run("CONFIG SET appendonly yes"); got != "OK" {
			t.Fatal(got)
		}
		for i := range 500 {
			c.run(fmt.Sprintf("CL.THROTTLE after%d 15 1 3600", i))
		}
		eventually(t, "the first rewrite is finished", func() bool {
			aof := s.aof.Load()
			return aof != nil && aof.Stats().Rewrites > 0
		})
		s2 := restart(t, s)
		c = dial(t, s2)
		if got := c.run("DBSIZE"); got != "1000" {
			t.Error("after a restart:", got)
		}
		if got := c.run("CONFIG SET appendonly no") + c.run("INFO persistence"); !strings.Contains(got, "aof_enabled:0") {
			t.Error(got)
		}
		if got := c.run("CL.THROTTLE more 15 1 3600"); got != "[0 16 15 -1 3600]" {
			t.Error(got)
		}
	})
}

// TestLogIsForOneServer: another on the same folder does not start, and CONFIG SET in another fails, until the first has ended.
func TestLogIsForOneServer(t *testing.T) {
	s := startServer(t, withLog("always", nil))
	dial(t, s).run("CL.THROTTLE a 15 1 3600")
	if err := startFails(t, *s.config()); !errors.Is(err, vfs.ErrLocked) {
		t.Error("a second server:", err)
	}
	other := dial(t, startServer(t, func(c *Config) { c.Dir = s.config().Dir }))
	if got := other.run("CONFIG SET appendonly yes"); !strings.HasPrefix(got, "-ERR CONFIG SET failed") {
		t.Error("a second log:", got)
	}
	for range 5 {
		if got := dial(t, s).run("CONFIG SET appendonly no") + dial(t, s).run("CONFIG SET appendonly yes"); got != "OKOK" {
			t.Error("off and on:", got)
		}
	}
	if got := dial(t, restart(t, s)).run("EXISTS a"); got != "1" {
		t.Error("after the restart:", got)
	}
}

// TestTornLogIsToldOf in the server's log, as is one without a manifest.
func TestTornLogIsToldOf(t *testing.T) {
	s := startServer(t, withLog("always", nil))
	dial(t, s).run("CL.THROTTLE a 15 1 3600")
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(s.config().Dir, s.config().AppendDirname)
	file, err := os.OpenFile(filepath.Join(folder, "appendonly.aof.1.incr.aof"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("*3\r\n$3\r\nSE"); err != nil {
		t.Fatal(err)
	}
	file.Close()
	told := startWithLogFile(t, s)
	if want := "appendonly.aof.1.incr.aof ends in the middle of a command: its last 10 bytes are cut off\n"; !strings.Contains(told, want) {
		t.Errorf("%q is not in the log: %s", want, told)
	}
	if err := os.Remove(filepath.Join(folder, "appendonly.aof.manifest")); err != nil {
		t.Fatal(err)
	}
	told = startWithLogFile(t, s)
	if want := "files of a log that no manifest lists: appendonly.aof.1.base.rdb, appendonly.aof.1.incr.aof."; !strings.Contains(told, want) {
		t.Errorf("%q is not in the log: %s", want, told)
	}
}

// startWithLogFile starts and ends a server with the configuration of another, and returns what it has logged.
func startWithLogFile(t *testing.T, s *Server) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	started := startServer(t, func(c *Config) {
		*c = *s.config()
		c.LogFile = path
	})
	if err := started.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestRewrite makes the log short while keys change.
func TestRewriteOfLog(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, withLog("always", configure))
		c := dial(t, s)
		for i := range 300 {
			c.run(fmt.Sprintf("CL.THROTTLE k%d 15 1 3600", i%10))
		}
		long := s.aof.Load().Stats().CurrentBytes
		eventually(t, "a rewrite can begin", func() bool { return c.run("BGREWRITEAOF") == "Background append only file rewriting started" })
		for i := 0; s.aof.Load().Stats().Rewriting; i++ {
			c.run(fmt.Sprintf("CL.THROTTLE during%d 15 1 3600", i%5))
		}
		if short := s.aof.Load().Stats().CurrentBytes; short >= long {
			t.Errorf("%d bytes before, %d after", long, short)
		}
		keys := c.run("DBSIZE")
		if got := dial(t, restart(t, s)).run("DBSIZE"); got != keys {
			t.Errorf("%s keys before, %s after a restart", keys, got)
		}
	})
}

// TestDamagedLogStopsTheStart names the file.
func TestDamagedLogStopsTheStart(t *testing.T) {
	s := startServer(t, withLog("always", nil))
	c := dial(t, s)
	for i := range 50 {
		c.run(fmt.Sprintf("CL.THROTTLE k%d 15 1 3600", i))
	}
	restart(t, s)
	files, err := filepath.Glob(filepath.Join(s.config().Dir, s.config().AppendDirname, "*.incr.aof"))
	if err != nil || len(files) == 0 {
		t.Fatal("no increments: ", err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(content), "k7")
	content[at] = 'j'
	if err := os.WriteFile(files[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := startFails(t, *s.config()); !strings.Contains(err.Error(), filepath.Base(files[0])) {
		t.Error("without the file's name:", err)
	}
}

// TestLogThatIsRemoved: under always no change is answered that a start would not find, and the log is there again soon.
func TestLogThatIsRemoved(t *testing.T) {
	later := strconv.FormatInt(time.Now().Add(time.Hour).UnixNano(), 10)
	for _, policy := range []string{"always", "everysec"} {
		for _, remove := range []func(folder string) error{
			os.RemoveAll,
			func(folder string) error { return os.Rename(folder, folder+".moved") },
			func(folder string) error {
				return os.Truncate(filepath.Join(folder, "appendonly.aof.1.incr.aof"), 0)
			},
		} {
			s := startServer(t, withLog(policy, func(c *Config) { c.LogFile = filepath.Join(c.Dir, "log") }))
			c := dial(t, s)
			c.run("SET before " + later)
			folder := filepath.Join(s.config().Dir, s.config().AppendDirname)
			first := s.aof.Load().Stats().Rewrites // the base of its start
			if err := remove(folder); err != nil {
				t.Fatal(err)
			}
			answered := 0
			eventually(t, "the log is there again", func() bool {
				probe := dial(t, s)
				probe.send(encode("SET", fmt.Sprint("during", answered), later))
				if reply, err := readReply(probe.in); err == nil && reply == "OK" {
					answered++
				} else if err == nil && !strings.HasPrefix(reply, "-MISCONF Errors writing to the AOF file: The file was removed or changed by another program") {
					t.Error(reply)
				}
				stats := s.aof.Load().Stats()
				return stats.Rewrites > first && !stats.Rewriting && s.aof.Load().Err() == nil
			})
			c = dial(t, s)
			eventually(t, "changes are taken again", func() bool { return c.run("SET after "+later) == "OK" }) // loops look now and then
			eventually(t, "the log tells of it", func() bool {
				log, _ := os.ReadFile(s.config().LogFile)
				return strings.Contains(string(log), "removed or changed by another program") && strings.Contains(string(log), "AOF write error looks solved")
			})
			c = dial(t, restart(t, s))
			if got := c.run("EXISTS before after"); got != "2" {
				t.Error(policy, got)
			}
			for i := range answered {
				if got := c.run(fmt.Sprint("EXISTS during", i)); got != "1" {
					t.Errorf("%s: change %d was answered and is lost", policy, i)
				}
			}
		}
	}
}
