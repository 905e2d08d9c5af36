package compat_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestCommandLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	takenPort := fmt.Sprint(taken.Addr().(*net.TCPAddr).Port)
	rows := []struct {
		name      string
		arguments []string
		code      int
		stdout    string
		stderr    string
	}{
		{"help", []string{"--help"}, 0, "Usage: cellserver", ""},
		{"version", []string{"--version"}, 0, "cellserver 0.1.0", ""},
		{"unknown option", []string{"--nosuch", "1"}, 1, "", "cellserver: unknown option '--nosuch'"},
		{"bad value", []string{"--port", "x"}, 1, "", "cellserver: --port: 'x' is not a number between 0 and 65535"},
		{"no option", []string{"redis.conf"}, 1, "", "cellserver: 'redis.conf' is not an option"},
		{"nothing to listen on", []string{"--port", "0"}, 1, "", "cellserver: port 0 and no unixsocket"},
		{"port taken", []string{"--bind", "127.0.0.1", "--port", takenPort}, 1, "", "cellserver: cannot listen on 127.0.0.1 port " + takenPort},
		{"no such address", []string{"--bind", "192.0.2.1", "--port", "7777"}, 1, "", "cellserver: cannot listen on 192.0.2.1 port 7777"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			code, stdout, stderr := exitCode(t, row.arguments...)
			if code != row.code || !strings.HasPrefix(stdout, row.stdout) || !strings.HasPrefix(stderr, row.stderr) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			if row.code != 0 && (!oneLine(stderr) || stdout != "") {
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
			p := start(t)
			if want := "serves " + p.address; !oneLine(p.stdout) || !strings.Contains(p.stdout, want) {
				t.Errorf("stdout %q does not say %q", p.stdout, want)
			}
			idle, err := net.Dial("tcp", p.address)
			if err != nil {
				t.Fatal(err)
			}
			defer idle.Close()
			throttle(t, goRedis(t, p, nil), "k", 15, 30, 60)
			began := time.Now()
			if err := p.stop(signal); err != nil {
				t.Errorf("%v\n%s", err, p.stderr)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
			if rest, err := io.ReadAll(idle); len(rest) > 0 || err != nil {
				t.Errorf("an idle connection got %q, %v", rest, err)
			}
			if p.stderr.Len() > 0 {
				t.Errorf("stderr %q", p.stderr)
			}
		})
	}
}

// TestKillAndRestart: after a kill -9 the same port and socket path serve again at once, and a client reconnects.
func TestKillAndRestart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no socket files")
	}
	port, path := freePort(t), t.TempDir()+"/socket"
	p := startAs(t, false, port, "--unixsocket", path)
	client := goRedis(t, p, nil)
	local := redis.NewClient(&redis.Options{Network: "unix", Addr: path})
	defer local.Close()
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
