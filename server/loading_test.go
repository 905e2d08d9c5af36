package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cellserver/cellserver/config"
	"github.com/cellserver/cellserver/internal/vfs"
	"github.com/cellserver/cellserver/persistence"
)

// gatedDisk is the real disk, but files open for reading only once the gate is closed: until then a load does not get on.
type gatedDisk struct {
	vfs.OS
	gate chan struct{}
}

func (d gatedDisk) Open(name string) (vfs.File, error) {
	<-d.gate
	return d.OS.Open(name)
}

// whileLoading runs a test on a server that finds one key, "kept", but does not get on with its load before the gate is closed.
func whileLoading(t *testing.T, configure func(*Config), test func(s *Server, gate chan struct{})) {
	for _, appendOnly := range []bool{false, true} {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.AppendOnly = appendOnly
			c.Save = []config.SavePoint{{Seconds: 3600, Changes: 1}}
		})
		dial(t, s).run("CL.THROTTLE kept 15 1 3600")
		if err := s.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		gate := make(chan struct{})
		loading := newServer(t, func(c *Config) { *c = *s.config() })
		loading.snapshots.disk = gatedDisk{gate: gate}
		test(loading, gate)
	}
}

// TestLoading: what needs the keys is refused until they are there, and what does not is carried out.
func TestLoading(t *testing.T) {
	const refused = "-LOADING Redis is loading the dataset in memory"
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		whileLoading(t, configure, func(s *Server, gate chan struct{}) {
			serve(t, s)
			c := dial(t, s)
			dialogue{
				{"PING", refused}, {"CL.THROTTLE kept 15 1 3600", refused}, {"CL.PROBE kept 15 1 3600", refused}, {"GET kept", refused},
				{"SET kept 1", refused}, {"DBSIZE", refused}, {"FLUSHALL", refused}, {"SCAN 0", refused}, {"WATCH kept", refused},
				{"EVAL return(1) 0", refused}, {"SAVE", refused}, {"BGSAVE", refused}, {"BGREWRITEAOF", refused},
				{"GET", "-ERR wrong number of arguments for 'get' command"}, {"NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: "},
				{"SELECT 1", "OK"}, {"SELECT 0", "OK"}, {"CLIENT SETNAME me", "OK"}, {"ECHO hello", `"hello"`}, {"PUBLISH c m", "0"},
				{"MULTI", "OK"}, {"GET kept", refused}, {"EXEC", "-EXECABORT Transaction discarded because of previous errors."},
				{"MULTI", "OK"}, {"PUBLISH c m", "QUEUED"}, {"EXEC", "[0]"},
				{"CONFIG SET appendonly yes", "-ERR CONFIG SET failed (possibly related to argument 'appendonly') - not while data is being loaded"},
			}.run(t, c)
			for _, want := range []string{`loading:1\r\n`, `loading_start_time:1`, `loading_total_bytes:`, `loading_loaded_perc:0.00\r\n`, `loading_eta_seconds:1\r\n`} {
				if got := c.run("INFO persistence"); !strings.Contains(got, want) {
					t.Errorf("%s is not in %s", want, got)
				}
			}
			close(gate)
			eventually(t, "the load is finished", func() bool { return c.run("PING") == "PONG" })
			if got := c.run("CL.THROTTLE kept 15 1 3600"); !strings.HasPrefix(got, "[0 16 14 ") {
				t.Error("after the load:", got)
			}
			if got := c.run("INFO persistence"); !strings.Contains(got, `loading:0\r\n`) || strings.Contains(got, "loading_start_time") {
				t.Error("after the load:", got)
			}
		})
	})
}

// TestShortLoadIsNotTold: a client that comes while little is being loaded waits for its answer.
func TestShortLoadIsNotTold(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		whileLoading(t, configure, func(s *Server, gate chan struct{}) {
			c := dial(t, s)
			c.send("PING\r\n")
			time.AfterFunc(loadPatience/4, func() { close(gate) })
			serve(t, s)
			if got := c.reply(); got != "PONG" {
				t.Error(got)
			}
		})
	})
}

// TestEndWhileLoading: the server ends in order, and what is on disk stays as it is.
func TestEndWhileLoading(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		for _, command := range []string{"", "SHUTDOWN", "SHUTDOWN SAVE"} {
			whileLoading(t, configure, func(s *Server, gate chan struct{}) {
				before := filesOf(t, s.config().Dir)
				serve(t, s)
				c := dial(t, s)
				c.run("ECHO serves")
				if command != "" {
					c.send(command + "\r\n")
					<-s.EndRequested()
				}
				ended := make(chan error, 1)
				go func() { ended <- s.Shutdown(context.Background()) }()
				<-s.stopped
				close(gate)
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if after := filesOf(t, s.config().Dir); after != before {
					t.Errorf("%q: on disk before: %q, after: %q", command, before, after)
				}
				if got := dial(t, startServer(t, func(c *Config) { *c = *s.config() })).run("EXISTS kept"); got != "1" {
					t.Errorf("%q: the key is gone", command)
				}
			})
		}
	})
}

// filesOf returns names and contents of all files in a folder and those below.
func filesOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		b.WriteString(path + "\n" + string(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWhatIsLeftOutIsKept: a file of Redis with more than limiter keys is not lost to the first snapshot or rewrite.
func TestWhatIsLeftOutIsKept(t *testing.T) {
	now := time.Now()
	in := func(d time.Duration) string { return fmt.Sprint(now.Add(d).UnixMilli()) }
	tat := fmt.Sprint(now.Add(time.Hour).UnixNano())
	expiry := string(binary.LittleEndian.AppendUint64([]byte{0xfc}, uint64(now.Add(time.Minute).UnixMilli())))
	rdb := func(entries string) string {
		var file bytes.Buffer
		w := persistence.NewRDBWriter(&file, persistence.RDBHeader{})
		if err := errors.Join(w.Write(0, []byte(entries)), w.Close()); err != nil {
			t.Fatal(err)
		}
		return file.String()
	}
	for _, c := range []struct{ file, content, named string }{
		{"dump.rdb", rdb("\x00\x05greet\x05hello"), "greet"},
		{"dump.rdb", rdb("\x00\x06visits\xc0\x2a"), "visits"},
		{"dump.rdb", rdb(expiry + "\x00\x04lock\xc0\x01"), "lock"},
		{"dump.rdb", rdb("\x00\x05stamp\x13" + tat), "stamp"},
		{"dump.rdb", rdb(expiry + "\x00\x04seen\x13" + tat), "seen"},
		{"dump.rdb", rdb("\x01\x04list\x01\x01a"), "list"},
		{"appendonlydir/appendonly.aof.1.base.rdb", rdb("\x00\x06visits\xc0\x2a"), "visits"},
		{"appendonlydir/appendonly.aof.1.incr.aof", encode("SET", "greet", "hello"), "greet"},
		{"appendonlydir/appendonly.aof.1.incr.aof", encode("SELECT", "0") + encode("SET", "visits", "42"), "visits"},
		{"appendonlydir/appendonly.aof.1.incr.aof", encode("SETEX", "lock", "60", "1"), "lock"},
		{"appendonlydir/appendonly.aof.1.incr.aof", encode("SET", "seen", tat, "PXAT", in(time.Minute)), "seen"},
		{"appendonlydir/appendonly.aof.1.incr.aof", encode("SET", "seen", tat) + encode("PEXPIREAT", "seen", in(time.Minute)), "seen"},
		{"appendonlydir/appendonly.aof.1.incr.aof", encode("RESTORE", "seen", "0", "x"), "seen"},
		{"appendonlydir/appendonly.aof.1.incr.aof", encode("INCR", "visits"), "INCR"},
		{"appendonly.aof", encode("SET", "visits", "42"), "visits"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, c.file)
		if err := os.Mkdir(filepath.Join(dir, "appendonlydir"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		isLog, manifest := c.file != "dump.rdb", filepath.Join(dir, "appendonlydir", "appendonly.aof.manifest")
		if strings.Contains(c.file, "/") {
			kind := map[bool]string{true: "b", false: "i"}[strings.Contains(c.file, "base")]
			if err := os.WriteFile(manifest, fmt.Appendf(nil, "file %s seq 1 type %s\n", filepath.Base(c.file), kind), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		configure := func(c *Config) { c.Dir, c.AppendOnly, c.LogFile = dir, isLog, filepath.Join(dir, "log") }
		strict := DefaultConfig()
		configure(&strict)
		strict.StrictLoad = true
		if err := startFails(t, strict); !strings.Contains(err.Error(), path) && !strings.Contains(err.Error(), manifest) || !strings.Contains(err.Error(), c.named) {
			t.Errorf("%s of %s, strict: %v", c.named, c.file, err)
		}
		for range 2 { // a second start finds the name taken, and does no harm
			s := startServer(t, configure)
			client := dial(t, s)
			if got := client.run("CL.THROTTLE a 15 1 3600") + client.run("SAVE"); !strings.HasSuffix(got, "OK") {
				t.Error(got)
			}
			if isLog {
				client.run("BGREWRITEAOF")
				eventually(t, "the rewrite is finished", func() bool { return s.aof.Load().Stats().Rewrites > 0 })
			}
			if err := s.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if kept, err := os.ReadFile(path + ".left-out"); string(kept) != c.content {
				t.Errorf("%s of %s: kept is %q, %v", c.named, c.file, kept, err)
			}
			if now, _ := os.ReadFile(path); string(now) == c.content && c.file != "appendonly.aof" {
				t.Errorf("%s was not replaced, which shows nothing", c.file)
			}
		}
		log, err := os.ReadFile(filepath.Join(dir, "log"))
		if line := fmt.Sprintf("%q", c.named); err != nil || !strings.Contains(string(log), "left out: 1 ") || !strings.Contains(string(log), line) {
			t.Errorf("%s of %s is not told: %v\n%s", c.named, c.file, err, log)
		}
	}
}

// TestLoadTellsKeys: the line on a load says how many keys there are, whether they come from entries or from calls.
func TestLoadTellsKeys(t *testing.T) {
	call := func(key string) string { return encode("CL.THROTTLE", key, "15", "1", "3600") }
	tat := time.Now().Add(time.Hour)
	dir := t.TempDir()
	content := fmt.Sprintf("#TS:%d\r\n", time.Now().Unix()) + encode("SELECT", "0") + call("a") + call("a") + call("b") +
		encode("SELECT", "9") + call("a") + encode("SET", "c", fmt.Sprint(tat.UnixNano()), "PXAT", fmt.Sprint(tat.UnixMilli())) +
		encode("SET", "dead", "1600000000000000000", "PXAT", "1600000000000")
	if err := os.WriteFile(filepath.Join(dir, "appendonly.aof"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	startServer(t, func(c *Config) { c.Dir, c.AppendOnly, c.LogFile = dir, true, filepath.Join(dir, "log") })
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	want := "DB loaded from the append only file: 4 keys (1 entries read, 4 CL.THROTTLE calls applied, 1 expired entries left out) in "
	if err != nil || !strings.Contains(string(log), want) {
		t.Errorf("no %q, %v, in\n%s", want, err, log)
	}
}

// TestLogOfRenamedCommands: a log of Redis is read by the names that its rename-command lines, which are ours too, have given.
func TestLogOfRenamedCommands(t *testing.T) {
	now := time.Now()
	tat := now.Add(time.Hour)
	content := fmt.Sprintf("#TS:%d\r\n", now.Unix()) + encode("SELECT", "0") + encode("x", "a", "15", "1", "3600") + encode("CL.THROTTLE", "b", "15", "1", "3600") +
		encode("put", "c", fmt.Sprint(tat.UnixNano()), "PXAT", fmt.Sprint(tat.UnixMilli()))
	for _, renames := range []string{"rename-command CL.THROTTLE x\nrename-command SET put\n", "rename-command CL.THROTTLE \"\"\n"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "appendonly.aof"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		configuration := DefaultConfig()
		if err := configuration.Load([]string{"-"}, strings.NewReader(renames)); err != nil {
			t.Fatal(err)
		}
		s := startServer(t, func(c *Config) { c.Dir, c.AppendOnly, c.Renames = dir, true, configuration.Renames })
		renamed := len(configuration.Renames) == 2
		want := map[bool]string{true: `["a", "b", "c"]`, false: `["b"]`}[renamed]
		c := dial(t, s)
		got := c.run("KEYS *")
		for _, key := range []string{"a", "b", "c"} {
			if strings.Contains(got, key) != strings.Contains(want, key) {
				t.Errorf("%q: the keys are %s, want %s", renames, got, want)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "appendonly.aof.left-out")); (err == nil) == renamed {
			t.Errorf("%q: left out: %v", renames, err)
		}
	}
}

// storeClock returns the store's time, by TIME.
func (c *client) storeClock() time.Time {
	c.t.Helper()
	var seconds, micros int64
	if _, err := fmt.Sscanf(c.run("TIME"), `["%d" "%d"]`, &seconds, &micros); err != nil {
		c.t.Fatal(err)
	}
	return time.Unix(seconds, 1000*micros)
}

// TestFilesAheadOfTheMachine: the store goes on from the files' clock and says so, or with accept-machine-clock goes by the machine's and
// leaves each limit what it had left.
func TestFilesAheadOfTheMachine(t *testing.T) {
	const hours = 1000 * time.Hour
	for _, isLog := range []bool{false, true} {
		dir := t.TempDir()
		ahead := time.Now().Add(hours).UnixNano()
		var file bytes.Buffer
		w := persistence.NewRDBWriter(&file, persistence.RDBHeader{ClockNanos: ahead})
		entries := persistence.AppendEntry(nil, []byte("minute"), ahead+int64(time.Minute))
		entries = persistence.AppendEntry(entries, []byte("over"), ahead-int64(time.Minute)) // in time by the machine's clock
		if err := errors.Join(w.Write(3, entries), w.Close(), os.WriteFile(filepath.Join(dir, "dump.rdb"), file.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		start := func(accept bool) (*Server, *client) {
			s := startServer(t, func(c *Config) {
				c.Dir, c.AppendOnly, c.AcceptMachineClock, c.LogFile = dir, isLog, accept, filepath.Join(dir, "log")
				c.Save = []config.SavePoint{{Seconds: 3600, Changes: 1}}
			})
			client := dial(t, s)
			client.run("SELECT 3")
			return s, client
		}
		end := func(s *Server) {
			if err := s.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		check := func(c *client, wantAhead time.Duration) {
			t.Helper()
			if off := time.Until(c.storeClock()) - wantAhead; off < -time.Second || off > patience {
				t.Errorf("the store's clock is %v off", off)
			}
			var left time.Duration
			fmt.Sscanf(c.run("PTTL minute"), "%d", &left)
			if left *= time.Millisecond; left < time.Minute-patience || left > time.Minute {
				t.Errorf("the limit has %v left", left)
			}
			if got := c.run("KEYS *"); got != `["minute"]` {
				t.Error(got)
			}
		}
		s, c := start(false)
		check(c, hours)
		end(s)
		s, c = start(true)
		check(c, 0)
		end(s)
		s, c = start(false)
		check(c, 0)
		end(s)
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		for _, line := range []string{"ahead of this machine's clock, and so the store's clock is", "ahead of this machine's clock. The machine's counts from now on"} {
			if strings.Count(string(log), line) != 1 || !strings.Contains(string(log), "1000h0m0") && !strings.Contains(string(log), "999h59m59") {
				t.Errorf("%q is not told once:\n%s", line, log)
			}
		}
	}
}

// TestImpossibleClockStopsTheStart: the store does not live in another century.
func TestImpossibleClockStopsTheStart(t *testing.T) {
	dir := t.TempDir()
	var file bytes.Buffer
	w := persistence.NewRDBWriter(&file, persistence.RDBHeader{ClockNanos: math.MaxInt64})
	tat := time.Now().Add(time.Hour).UnixNano()
	if err := errors.Join(w.Write(0, persistence.AppendEntry(nil, []byte("k"), tat)), w.Close(), os.WriteFile(filepath.Join(dir, "dump.rdb"), file.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	configuration := DefaultConfig()
	configuration.Dir = dir
	if err := startFails(t, configuration); !strings.Contains(err.Error(), "no clock can show. Start with accept-machine-clock yes") {
		t.Error(err)
	}
	c := dial(t, startServer(t, func(c *Config) { c.Dir, c.AcceptMachineClock = dir, true }))
	if off := time.Until(c.storeClock()); off < -patience || off > time.Second {
		t.Errorf("the store's clock is %v off", off)
	}
	if got := c.run("GET k"); got != fmt.Sprintf("%q", fmt.Sprint(tat)) {
		t.Error(got)
	}
}
