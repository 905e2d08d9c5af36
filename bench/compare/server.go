package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startLimit = 10 * time.Second // until a started server answers PING
	stopLimit  = 20 * time.Second // from SIGTERM to SIGKILL: a log is to be finished

	// A server is quiet when it spends less than quietShare of a core for quietInterval. Timers that tick ten times a
	// second, as Redis has them, cost a fifth of that.
	quietInterval = 100 * time.Millisecond
	quietShare    = 0.02
	quietLimit    = 15 * time.Second

	// logLag is how long a log that is not synced for each reply may have work left: it is written once a second.
	logLag = 1300 * time.Millisecond
)

// server is a running contender.
type server struct {
	contender
	cores     string // as taskset -c takes them
	folder    string // its own: the files it keeps, and its log
	port      int
	scriptSHA string
	process   *exec.Cmd
	exited    chan struct{} // closed once the process is gone
}

// startServer starts c on a free port of 127.0.0.1, pinned to cores, with a folder of its own below parent, and returns
// once it answers a call as it should. The caller stops it.
func startServer(ctx context.Context, c contender, cores, parent string) (*server, error) {
	folder, err := os.MkdirTemp(parent, c.name+"-")
	if err != nil {
		return nil, err
	}
	s := &server{contender: c, cores: cores, folder: folder}
	if err := s.launch(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	if err := s.prepare(ctx); err != nil {
		s.stop()
		return nil, fmt.Errorf("%s: %w\n%s", c.name, err, s.logTail())
	}
	return s, nil
}

// launch starts the process in the server's folder, the first time or again.
func (s *server) launch() error {
	var err error
	if s.port, err = freePort(); err != nil {
		return err
	}
	log, err := os.Create(s.logPath())
	if err != nil {
		return err
	}
	defer log.Close()

	// taskset replaces itself by the server, so the pid is the server's, and every thread inherits the cores.
	argv := append([]string{"-c", s.cores}, s.argv...)
	s.process = exec.Command("taskset", append(argv, "--port", strconv.Itoa(s.port))...)
	s.process.Dir, s.process.Stdout, s.process.Stderr = s.folder, log, log
	if err := s.process.Start(); err != nil {
		return err
	}
	process, exited := s.process, make(chan struct{})
	s.exited = exited
	go func() {
		// How it ended is in its log; that it ended is all that is asked here.
		_ = process.Wait()
		close(exited)
	}()
	return nil
}

// waitFor returns the server's first reply to the words that is as wanted. Before it listens there is none, and while it
// loads its data the reply is an error.
func (s *server) waitFor(ctx context.Context, limit, interval time.Duration, want string, words ...string) error {
	deadline := time.Now().Add(limit)
	for {
		reply, err := s.call(ctx, words...)
		if err == nil && reply == want {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not %s within %v, but %q, %v", words[0], want, limit, reply, err)
		}
		select {
		case <-s.exited:
			return errors.New("the process ended before it answered")
		default:
		}
		if err := sleep(ctx, interval); err != nil {
			return err
		}
	}
}

// prepare waits for the server to answer, loads its script and makes sure that a call gets a throttle reply, so that no error
// is ever measured as if it were a decision.
func (s *server) prepare(ctx context.Context) error {
	if err := s.waitFor(ctx, startLimit, 20*time.Millisecond, "PONG", "PING"); err != nil {
		return err
	}
	if s.script != "" {
		sha, err := s.call(ctx, "SCRIPT", "LOAD", s.script)
		if err != nil {
			return err
		}
		s.scriptSHA = sha
	}
	if err := s.tryCall(ctx); err != nil {
		return err
	}
	return s.waitQuiet(ctx)
}

// tryCall makes a call, and makes sure that it gets into a log that is synced for each reply: redis-cell before 0.3.0 leaves its
// calls out of the log, and is fast with any policy.
func (s *server) tryCall(ctx context.Context) error {
	before, err := s.call(ctx, "INFO", "persistence")
	if err != nil {
		return err
	}
	reply, err := s.call(ctx, s.request(s.scriptSHA, "probe", usualLimit)...)
	if err != nil {
		return err
	}
	if _, err := parseThrottleReply(reply); err != nil {
		return err
	}
	after, err := s.call(ctx, "INFO", "persistence")
	if err != nil {
		return err
	}
	if size := "aof_current_size"; s.log == always && infoField(before, size) == infoField(after, size) {
		return errors.New("a call was answered that is not in the log")
	}
	return nil
}

// call sends one command on a connection of its own and returns the reply as readReply does.
func (s *server) call(ctx context.Context, words ...string) (string, error) {
	c, err := dial(ctx, s.port)
	if err != nil {
		return "", err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	return c.do(words...)
}

// parseThrottleReply reads the five integers of a throttle reply, one a line.
func parseThrottleReply(reply string) ([5]int64, error) {
	var integers [5]int64
	lines := strings.Split(reply, "\n")
	if len(lines) != len(integers) {
		return integers, fmt.Errorf("not the five integers of a throttle reply: %q", reply)
	}
	for i, line := range lines {
		n, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			return integers, fmt.Errorf("not the five integers of a throttle reply: %q", reply)
		}
		integers[i] = n
	}
	return integers, nil
}

// settle returns when the server has done all that its load has brought it.
func (s *server) settle(ctx context.Context) error {
	if s.log == everySecond || s.log == whenever {
		if err := sleep(ctx, logLag); err != nil {
			return err
		}
	}
	return s.waitQuiet(ctx)
}

// waitQuiet returns when the server has come to rest.
func (s *server) waitQuiet(ctx context.Context) error {
	deadline := time.Now().Add(quietLimit)
	for {
		share, err := s.cpuShare(ctx, quietInterval)
		if err != nil {
			return err
		}
		saving, err := s.saving(ctx)
		if err != nil {
			return err
		}
		if share < quietShare && !saving {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s still takes %.0f%% of a core %v after its load: no other server can be measured beside it",
				s.name, 100*share, quietLimit)
		}
	}
}

// cpuShare returns how many cores the server kept busy for an interval.
func (s *server) cpuShare(ctx context.Context, interval time.Duration) (float64, error) {
	before, err := s.cpu()
	if err != nil {
		return 0, err
	}
	if err := sleep(ctx, interval); err != nil {
		return 0, err
	}
	after, err := s.cpu()
	if err != nil {
		return 0, err
	}
	spent, err := after.since(before)
	return float64(spent) / float64(interval), err
}

func (s *server) cpu() (cpuTimes, error) {
	return readCPUTimes(fmt.Sprintf("/proc/%d", s.process.Process.Pid))
}

// saving tells whether the server is writing a snapshot or a new base of its log, or is about to.
func (s *server) saving(ctx context.Context) (bool, error) {
	info, err := s.call(ctx, "INFO", "persistence")
	if err != nil {
		return false, err
	}
	for _, field := range []string{"rdb_bgsave_in_progress", "aof_rewrite_in_progress", "aof_rewrite_scheduled"} {
		switch infoField(info, field) {
		case "0":
		case "1":
			return true, nil
		default:
			return false, fmt.Errorf("INFO persistence has no usable %s: %q", field, info)
		}
	}
	return false, nil
}

// infoField returns a field of INFO, "" if it has none of that name.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// stop ends the process and returns when it is gone. Stopping a server that has ended by itself does nothing.
func (s *server) stop() {
	// An error means that there is no process any more, which is what is wanted.
	_ = s.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(stopLimit):
		s.kill()
	}
}

// kill ends the process, whatever it is at, and returns when it is gone.
func (s *server) kill() {
	_ = s.process.Process.Kill() // an error means that there is no process any more
	<-s.exited
}

func (s *server) logPath() string { return filepath.Join(s.folder, "log") }

// logTail returns the end of what the server printed, for an error message.
func (s *server) logTail() string {
	const most = 2000 // bytes: some twenty lines
	log, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-most):])
}

// sleep waits, unless the run is interrupted.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
