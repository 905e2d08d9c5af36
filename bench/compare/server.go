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
	stopLimit  = 5 * time.Second  // from SIGTERM to SIGKILL

	// A server is quiet when it spends less than quietShare of a core for quietInterval. Timers that tick ten times a
	// second, as Redis has them, cost a fifth of that.
	quietInterval = 100 * time.Millisecond
	quietShare    = 0.02
	quietLimit    = 15 * time.Second
)

// server is a running contender.
type server struct {
	contender
	port      int
	scriptSHA string
	process   *exec.Cmd
	exited    chan struct{} // closed once the process is gone
	logPath   string
}

// startServer starts c on a free port of 127.0.0.1, pinned to cores, with a folder of its own below parent, and returns
// once it answers a call as it should. The caller stops it.
func startServer(ctx context.Context, c contender, cores, parent string) (*server, error) {
	folder, err := os.MkdirTemp(parent, c.name+"-")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()

	// taskset replaces itself by the server, so the pid is the server's, and every thread inherits the cores.
	argv := append([]string{"-c", cores}, c.argv...)
	process := exec.Command("taskset", append(argv, "--port", strconv.Itoa(port))...)
	process.Dir, process.Stdout, process.Stderr = folder, log, log
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	s := &server{contender: c, port: port, process: process, exited: make(chan struct{}), logPath: log.Name()}
	go func() {
		// How it ended is in its log; that it ended is all that is asked here.
		_ = process.Wait()
		close(s.exited)
	}()
	if err := s.prepare(ctx); err != nil {
		s.stop()
		return nil, fmt.Errorf("%s: %w\n%s", c.name, err, s.logTail())
	}
	return s, nil
}

// prepare waits for the server to answer, loads its script and makes sure that a call gets a throttle reply, so that no error
// is ever measured as if it were a decision.
func (s *server) prepare(ctx context.Context) error {
	deadline := time.Now().Add(startLimit)
	for {
		reply, err := s.call(ctx, "PING")
		if err == nil && reply == "PONG" {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no PONG within %v, but %q, %v", startLimit, reply, err)
		}
		select {
		case <-s.exited:
			return errors.New("the process ended before it answered")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	if s.script != "" {
		sha, err := s.call(ctx, "SCRIPT", "LOAD", s.script)
		if err != nil {
			return err
		}
		s.scriptSHA = sha
	}
	reply, err := s.call(ctx, s.request(s.scriptSHA, "probe")...)
	if err != nil {
		return err
	}
	if _, err := parseThrottleReply(reply); err != nil {
		return err
	}
	return s.waitQuiet(ctx)
}

// call sends one command by redis-cli and returns the reply as redis-cli prints it for scripts. An error reply is an error.
func (s *server) call(ctx context.Context, arguments ...string) (string, error) {
	argv := append([]string{"-e", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port)}, arguments...)
	output, err := exec.CommandContext(ctx, "redis-cli", argv...).CombinedOutput()
	reply := strings.TrimSpace(string(output))
	if err != nil {
		return "", fmt.Errorf("redis-cli %s: %w: %s", arguments[0], err, reply)
	}
	return reply, nil
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

// waitQuiet returns when the server has come to rest.
func (s *server) waitQuiet(ctx context.Context) error {
	deadline := time.Now().Add(quietLimit)
	for {
		share, err := s.cpuShare(ctx, quietInterval)
		if err != nil {
			return err
		}
		if share < quietShare {
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
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(interval):
	}
	after, err := s.cpu()
	if err != nil {
		return 0, err
	}
	spent, err := after.since(before)
	return float64(spent) / float64(interval), err
}

func (s *server) cpu() (threadTimes, error) {
	return readThreadTimes(fmt.Sprintf("/proc/%d/task", s.process.Process.Pid))
}

// stop ends the process and returns when it is gone. Stopping a server that has ended by itself does nothing.
func (s *server) stop() {
	// An error means that there is no process any more, which is what is wanted.
	_ = s.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(stopLimit):
		_ = s.process.Process.Kill()
		<-s.exited
	}
}

// logTail returns the end of what the server printed, for an error message.
func (s *server) logTail() string {
	const most = 2000 // bytes: some twenty lines
	log, err := os.ReadFile(s.logPath)
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-most):])
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
