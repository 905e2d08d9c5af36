package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	var rdb bytes.Buffer
	w := persistence.NewRDBWriter(&rdb, persistence.RDBHeader{})
	err := w.Write(0, []byte("\x00\x01s\x05hello")) // a string
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"dump.rdb": rdb.String(),
		"appendonlydir/appendonly.aof.1.base.rdb": rdb.String(),
		"appendonlydir/appendonly.aof.1.incr.aof": encode("SELECT", "0") + encode("SET", "s", "hello"),
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := os.Mkdir(filepath.Join(dir, "appendonlydir"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		isLog := filepath.Dir(name) != "."
		if isLog {
			kind := map[bool]string{true: "b", false: "i"}[strings.Contains(name, "base")]
			manifest := fmt.Sprintf("file %s seq 1 type %s\n", filepath.Base(name), kind)
			if err := os.WriteFile(filepath.Join(dir, "appendonlydir", "appendonly.aof.manifest"), []byte(manifest), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // a second start finds the name taken, and does no harm
			s := startServer(t, func(c *Config) { c.Dir, c.AppendOnly = dir, isLog })
			c := dial(t, s)
			if got := c.run("CL.THROTTLE a 15 1 3600") + c.run("SAVE"); !strings.HasSuffix(got, "OK") {
				t.Error(got)
			}
			if isLog {
				c.run("BGREWRITEAOF")
				eventually(t, "the rewrite is finished", func() bool { return s.aof.Load().Stats().Rewrites > 0 })
			}
			if err := s.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if kept, err := os.ReadFile(path + ".left-out"); string(kept) != content {
				t.Errorf("%s: kept is %q, %v", name, kept, err)
			}
			if now, _ := os.ReadFile(path); string(now) == content {
				t.Errorf("%s was not replaced, which shows nothing", name)
			}
		}
	}
}
