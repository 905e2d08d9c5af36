package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cellserver/cellserver/config"
	"github.com/cellserver/cellserver/persistence"
)

// restart ends a server in order and starts another with the same configuration.
func restart(t *testing.T, s *Server) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	return startServer(t, func(c *Config) { *c = *s.config() })
}

// TestSnapshotBringsKeysBack: each way of saving keeps all databases, and no dead key comes back.
func TestSnapshotBringsKeysBack(t *testing.T) {
	later := strconv.FormatInt(time.Now().Add(time.Hour).UnixNano(), 10)
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		for _, how := range []string{"SAVE", "BGSAVE", "BGSAVE SCHEDULE", "end"} {
			s := startServer(t, func(c *Config) {
				configure(c)
				if how == "end" {
					c.Save = []config.SavePoint{{Seconds: 3600, Changes: 1_000_000}}
				}
			})
			c := dial(t, s)
			for i := range 2000 {
				c.send(encode("SET", fmt.Sprint("k", i), later))
			}
			for range 2000 {
				c.reply()
			}
			c.run("SELECT 15")
			c.run("SET other " + later)
			c.run("CL.THROTTLE short 0 1000 1")
			time.Sleep(2 * time.Millisecond)
			if how != "end" {
				c.run(how)
				eventually(t, "the snapshot is taken", func() bool { return !s.snapshots.isRunning() })
			}
			c = dial(t, restart(t, s))
			dialogue{
				{"DBSIZE", "2000"}, {"GET k0", strconv.Quote(later)}, {"GET k1999", strconv.Quote(later)},
				{"SELECT 15", "OK"}, {"KEYS *", `["other"]`},
			}.run(t, c)
		}
	})
}

// TestSavePoint: a snapshot is taken once there were enough changes, and not before.
func TestSavePoint(t *testing.T) {
	s := startServer(t, func(c *Config) { c.Save = []config.SavePoint{{Seconds: 1, Changes: 3}} })
	c := dial(t, s)
	c.run("CL.THROTTLE a 15 30 60")
	c.run("CL.THROTTLE b 15 30 60")
	time.Sleep(time.Second + 3*everySave)
	path := filepath.Join(s.config().Dir, s.config().DBFilename)
	if _, err := os.Stat(path); err == nil {
		t.Error("a snapshot after 2 changes of 3")
	}
	c.run("CL.THROTTLE c 0 1 60")
	eventually(t, "a snapshot after the third change", func() bool { _, err := os.Stat(path); return err == nil })
}

// TestSnapshotThatFails leaves the last good one in its place, and says so.
func TestSnapshotThatFails(t *testing.T) {
	s := startServer(t, nil)
	c := dial(t, s)
	c.run("CL.THROTTLE a 15 30 60")
	c.run("SAVE")
	good, err := os.ReadFile(filepath.Join(s.config().Dir, s.config().DBFilename))
	if err != nil {
		t.Fatal(err)
	}
	inTheWay := filepath.Join(s.config().Dir, "temp-dump.rdb")
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := c.run("SAVE"); got != "-ERR" {
		t.Error("SAVE:", got)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(s.config().Dir, s.config().DBFilename))
	if err != nil || string(after) != string(good) {
		t.Error("the good snapshot is not in its place:", err)
	}
	if got := c.run("SAVE"); got != "OK" {
		t.Error("SAVE when the way is clear:", got)
	}
}

// TestShutdownThatCannotSave leaves the server at work, unless it is forced.
func TestShutdownThatCannotSave(t *testing.T) {
	s := startServer(t, nil)
	inTheWay := filepath.Join(s.config().Dir, "temp-dump.rdb")
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	dialogue{
		{"SHUTDOWN", "-ERR Errors trying to SHUTDOWN. Check logs."},
		{"SHUTDOWN SAVE", "-ERR Errors trying to SHUTDOWN. Check logs."},
		{"SAVE", "-ERR"},
		{"INFO persistence", "*rdb_last_bgsave_status:ok*"}, // as in Redis: whoever has asked has been told
		{"CL.THROTTLE a 15 30 60", "[0 16 15 -1 2]"},
		{"BGSAVE", "Background saving started"},
	}.run(t, dial(t, s))
	eventually(t, "the snapshot has failed", func() bool { return !s.snapshots.isRunning() })
	dialogue{{"INFO persistence", "*rdb_last_bgsave_status:err*"}}.run(t, dial(t, s))
	dial(t, s).send("SHUTDOWN FORCE\r\n")
	select {
	case <-s.EndRequested():
	case <-time.After(patience):
		t.Error("SHUTDOWN FORCE does not end the server")
	}
}

// TestDamagedSnapshotStopsTheStart: nothing is served from half of the keys.
func TestDamagedSnapshotStopsTheStart(t *testing.T) {
	s := startServer(t, nil)
	c := dial(t, s)
	c.run("CL.THROTTLE a 15 30 60")
	c.run("SAVE")
	path := filepath.Join(s.config().Dir, s.config().DBFilename)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"a wrong checksum": append(good[:len(good)-1:len(good)-1], ^good[len(good)-1]),
		"a cut file":       good[:len(good)/2],
		"no RDB file":      []byte("hello"),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := startFails(t, *s.config()); !strings.Contains(err.Error(), path) {
			t.Errorf("%s: without the file's name: %v", name, err)
		}
	}
}

// TestClockDoesNotStepBackOverARestart: a store that was ahead of the wall clock goes on from where it was.
func TestClockDoesNotStepBackOverARestart(t *testing.T) {
	dir, hourAhead := t.TempDir(), time.Now().Add(time.Hour).UnixNano()
	file, err := os.Create(filepath.Join(dir, "dump.rdb"))
	if err != nil {
		t.Fatal(err)
	}
	w := persistence.NewRDBWriter(file, persistence.RDBHeader{ClockNanos: hourAhead})
	if err := errors.Join(w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, func(c *Config) { c.Dir = dir })
	c := dial(t, s)
	micros := func() int64 {
		parts := strings.Split(c.run("TIME"), `"`)
		seconds, errSeconds := strconv.ParseInt(parts[1], 10, 64)
		rest, errRest := strconv.ParseInt(parts[3], 10, 64)
		if err := errors.Join(errSeconds, errRest); err != nil {
			t.Fatal(err)
		}
		return 1e6*seconds + rest
	}
	before := micros()
	if before < hourAhead/1000 {
		t.Errorf("TIME is %d, before %d", before, hourAhead/1000)
	}
	c.run("CL.THROTTLE a 0 1 60")
	c.run("SAVE")
	c = dial(t, restart(t, s))
	if after := micros(); after < before {
		t.Errorf("TIME was %d, is %d", before, after)
	}
	if got := c.run("CL.THROTTLE a 0 1 60"); !strings.HasPrefix(got, "[1 1 0 ") {
		t.Error("after the restart:", got)
	}
}

// TestSnapshotUnderLoad takes snapshots while keys change: every key that was there throughout is in each of them.
func TestSnapshotUnderLoad(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		c, load := dial(t, s), dial(t, s)
		later := strconv.FormatInt(time.Now().Add(time.Hour).UnixNano(), 10)
		const keys = 20_000
		for i := range keys {
			c.send(encode("SET", fmt.Sprint("k", i), later))
		}
		for range keys {
			c.reply()
		}
		c.run("BGSAVE")
		for i := 0; s.snapshots.isRunning(); i++ {
			load.run(fmt.Sprintf("CL.THROTTLE new%d 15 30 60", i))
		}
		c = dial(t, restart(t, s))
		for i := range keys {
			c.send(encode("EXISTS", fmt.Sprint("k", i)))
		}
		for i := range keys {
			if got := c.reply(); got != "1" {
				t.Fatalf("k%d is lost", i)
			}
		}
	})
}

// TestSnapshotsThatCannotBeSaved are told of at the start, and when CONFIG SET asks for them, not when the first one fails.
func TestSnapshotsThatCannotBeSaved(t *testing.T) {
	const told = "Snapshots can't be saved to "
	for _, c := range []struct {
		inTheWay bool
		save     []config.SavePoint
		want     int
	}{
		{true, []config.SavePoint{{Seconds: 3600, Changes: 1}}, 1},
		{true, nil, 0},
		{false, []config.SavePoint{{Seconds: 3600, Changes: 1}}, 0},
	} {
		dir := t.TempDir()
		if c.inTheWay {
			if err := os.Mkdir(filepath.Join(dir, "temp-dump.rdb.try"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		s := startServer(t, func(config *Config) { config.Dir, config.Save, config.LogFile = dir, c.save, filepath.Join(dir, "log") })
		client := dial(t, s)
		client.run("ECHO serves")
		lines := func() int {
			log, err := os.ReadFile(filepath.Join(dir, "log"))
			if err != nil {
				t.Fatal(err)
			}
			return strings.Count(string(log), told+filepath.Join(dir, "dump.rdb"))
		}
		eventually(t, "the start is told", func() bool {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			return strings.Contains(string(log), "serves") && lines() >= c.want
		})
		if got := lines(); got != c.want {
			t.Errorf("%+v: told %d times", c, got)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "temp-*")); len(left) > 0 != c.inTheWay {
			t.Errorf("%+v: it leaves %q", c, left)
		}
		client.do("CONFIG", "SET", "save", "60 1")
		if got := lines() - c.want; got > 0 != c.inTheWay {
			t.Errorf("%+v: told %d times after CONFIG SET", c, got)
		}
		os.Remove(filepath.Join(dir, "temp-dump.rdb.try")) // for the end
	}
}
