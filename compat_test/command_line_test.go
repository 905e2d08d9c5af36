package compat_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestCommandLine(t *testing.T) {
	rows := []struct {
		name      string
		arguments []string
		code      int
		stdout    string
		stderr    string
	}{
		{"help", []string{"--help"}, 0, "Usage: cellserver", ""},
		{"version", []string{"--version"}, 0, "Redis server v=7.0.15 sha=", ""},
		{"version and more", []string{"-v", "extra"}, 0, "Redis server v=7.0.15 sha=", ""},
		{"unknown option", []string{"--nosuch", "1"}, 1, "", "*** FATAL CONFIG FILE ERROR (cellserver) ***\nReading the command line\n>>> '--nosuch 1'\nBad directive or wrong number of arguments\n"},
		{"bad value", []string{"--port", "x"}, 1, "", "*** FATAL CONFIG FILE ERROR (cellserver) ***\nReading the command line\n>>> '--port x'\nargument couldn't be parsed into an integer\n"},
		{"no file", []string{"no.conf"}, 1, "", "cellserver: can't open config file"},
		{"help and more", []string{"--help", "extra"}, 0, "Usage: cellserver", ""},
		{"no value", []string{"--port"}, 1, "", "*** FATAL CONFIG FILE ERROR (cellserver) ***\nReading the command line\n>>> '--port'\nwrong number of arguments\n"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			code, stdout, stderr := exitCode(t, row.arguments...)
			if code != row.code || !strings.HasPrefix(stdout, row.stdout) || !strings.HasPrefix(stderr, row.stderr) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			ofALine := strings.HasPrefix(stderr, "*** FATAL") // as Redis tells it, in four lines
			if row.code != 0 && (!ofALine && !oneLine(stderr) || ofALine && strings.Count(stderr, "\n") != 4 || stdout != "") {
				t.Errorf("not one line: stdout %q, stderr %q", stdout, stderr)
			}
		})
	}
}

// TestSignals: a signal ends the server in order, with clients connected.
func TestSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals to send")
	}
	for _, signal := range endSignals {
		t.Run(signal.String(), func(t *testing.T) {
			for _, frontEnd := range frontEnds {
				p := start(t, frontEnd...)
				idle, midway, busy := p.dial(), p.dial(), p.dial()
				_, _ = io.WriteString(midway, "*5\r\n$11\r\nCL.THRO")
				answers, asking := make(chan int, 1), make(chan struct{})
				go func() { answers <- askUntilClosed(busy, asking) }()
				select {
				case <-asking:
				case <-time.After(patience):
					t.Fatal("a hundred calls are not answered")
				}
				p.stop(signal)
				<-answers
				if rest, err := io.ReadAll(idle); len(rest) > 0 || err != nil {
					t.Errorf("an idle connection got %q, %v", rest, err)
				}
				_, ended, serves := strings.Cut(p.stdout, " serves tcp "+p.address+" (shards: ")
				if !serves || !strings.Contains(ended, "scheduling shutdown") {
					t.Errorf("where it serves and the signal are not told: %s", p.stdout)
				}
			}
		})
	}
}

// askUntilClosed asks again and again until the server closes the connection, and returns how many answers came. It closes
// asking when there were a hundred.
func askUntilClosed(nc net.Conn, asking chan struct{}) (answers int) {
	in := bufio.NewReader(nc)
	for {
		if answers == 100 {
			close(asking)
		}
		_, _ = io.WriteString(nc, encode("CL.THROTTLE", "k", "15", "30", "60"))
		if _, err := readReply(in); err != nil {
			return answers
		}
		answers++
	}
}

// TestUnixSocketAlone: without TCP the server serves its Unix socket, which is gone when the server has ended.
func TestUnixSocketAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no socket files")
	}
	path := socketPath(t)
	p := startAs(t, false, 0, "--unixsocket", path)
	client := goRedis(t, p, func(o *redis.Options) { o.Network, o.Addr = "unix", path })
	if reply := throttle(t, client, "k", 15, 30, 60); fmt.Sprint(reply) != "[0 16 15 -1 2]" {
		t.Error(reply)
	}
	p.stop(syscall.SIGTERM)
	if !strings.Contains(p.stdout, " serves unix "+path+" (shards: ") {
		t.Errorf("stdout %q", p.stdout)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the socket is still there:", err)
	}
}

// TestKillAndRestart: after a kill -9 the same port and socket path serve again at once, and a client reconnects.
func TestKillAndRestart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no socket files")
	}
	port, path := freePort(t), socketPath(t)
	p := startAs(t, false, port, "--unixsocket", path)
	client := goRedis(t, p, nil)
	local := goRedis(t, p, func(o *redis.Options) { o.Network, o.Addr = "unix", path })
	for round := range 3 {
		for _, each := range []*redis.Client{client, local} {
			// The first attempts may meet the connections of the server that was killed.
			var reply []int64
			var err error
			for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
				reply, err = each.Do(context.Background(), "CL.THROTTLE", each.Options().Network, 15, 30, 60).Int64Slice()
				if err == nil {
					break
				}
			}
			if err != nil || fmt.Sprint(reply) != "[0 16 15 -1 2]" {
				t.Errorf("round %d, %s: %v, %v", round, each.Options().Network, reply, err)
			}
		}
		_ = p.command.Process.Kill()
		<-p.ended
		p = startAs(t, false, port, "--unixsocket", path)
	}
	if code, _, stderr := exitCode(t, "--port", "0", "--unixsocket", path); code != 1 || !oneLine(stderr) {
		t.Errorf("a second server on a living socket: exit code %d, %q", code, stderr)
	}
}

// TestCheckGoesOn: cellserver check reports on every file that it is given, whatever is the matter with one before it.
func TestCheckGoesOn(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sound, absent := write("sound.aof", "*1\r\n$4\r\nPING\r\n"), filepath.Join(dir, "absent")
	bad := write("bad.manifest", "file a\x1b[2J.aof seq 1 type i\n")
	for _, row := range [][]string{{dir}, {absent}, {bad}, {dir, absent, bad}} {
		code, stdout, stderr := exitCode(t, append(append([]string{"check"}, row...), sound)...)
		if code != 1 || !strings.HasPrefix(stdout, sound+": ") || !strings.HasSuffix(stdout, ": sound\n") || !oneLine(stderr) || strings.Contains(stderr, "\x1b") {
			t.Errorf("%q: %d, %q, %q", row, code, stdout, stderr)
		}
		for _, path := range row {
			if !strings.Contains(stderr, path) {
				t.Errorf("%q: no %s in %q", row, path, stderr)
			}
		}
	}
	if code, stdout, stderr := exitCode(t, "check", sound, sound); code != 0 || strings.Count(stdout, ": sound\n") != 2 || stderr != "" {
		t.Errorf("%d, %q, %q", code, stdout, stderr)
	}
}
