package compat_test

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestStopWithDeafClient: a client that does not read its replies neither delays the end nor makes it a failure.
func TestStopWithDeafClient(t *testing.T) {
	for _, frontEnd := range frontEnds {
		t.Run(strings.Join(frontEnd, ""), func(t *testing.T) {
			p := start(t, frontEnd...)
			// More replies than the sockets hold.
			go io.WriteString(p.dial(), strings.Repeat(encode("ECHO", strings.Repeat("x", 10_000)), 2000))
			time.Sleep(300 * time.Millisecond)
			p.stop(syscall.SIGTERM)
		})
	}
}

// TestShutdownEnds: SHUTDOWN ends the process with exit code 0, deaf clients or not, and without a reply.
func TestShutdownEnds(t *testing.T) {
	for _, frontEnd := range frontEnds {
		t.Run(strings.Join(frontEnd, ""), func(t *testing.T) {
			p := start(t, frontEnd...)
			go io.WriteString(p.dial(), strings.Repeat(encode("ECHO", strings.Repeat("x", 10_000)), 2000))
			c := p.dial()
			io.WriteString(c, encode("PING")+encode("SHUTDOWN", "NOSAVE")+encode("PING"))
			got, err := io.ReadAll(c)
			if err != nil || string(got) != "+PONG\r\n" {
				t.Errorf("%q, %v", got, err)
			}
			p.endsAfter("SHUTDOWN")
		})
	}
}

// TestStopAtOnce: a signal that follows the line on stdout at once ends the server in order.
func TestStopAtOnce(t *testing.T) {
	for range 50 {
		start(t).stop(syscall.SIGTERM)
	}
}

// TestSignalThatCannotSave: the server stays at work where its keyspace can't be saved, and ends for the next signal once it can.
func TestSignalThatCannotSave(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals to send")
	}
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "temp-dump.rdb")
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	p := start(t, "--dir", dir, "--save", "3600 1", "--stop-writes-on-bgsave-error", "no")
	client := goRedis(t, p, nil)
	throttle(t, client, "k", 15, 30, 3600)
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	throttle(t, client, "k", 15, 30, 3600)
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	p.stop(syscall.SIGTERM)
	if !strings.Contains(p.stdout, "Error trying to save the DB, can't exit") {
		t.Errorf("the log does not say why it went on: %s", p.stdout)
	}
	client = goRedis(t, start(t, "--dir", dir), nil)
	if got := throttle(t, client, "k", 15, 30, 3600); got[2] != 13 {
		t.Error("after the restart:", got)
	}
}

// TestSecondInterruptEnds a server that can't save, at once and with exit code 1.
func TestSecondInterruptEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals to send")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "temp-dump.rdb"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := start(t, "--dir", dir, "--save", "3600 1")
	for range 2 {
		if err := p.command.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
	}
	<-p.ended
	if code := p.command.ProcessState.ExitCode(); code != 1 {
		t.Error("exit code", code)
	}
}

// TestFailedStartRemovesNothing: a server that cannot start leaves the files of others alone.
func TestFailedStartRemovesNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no socket files")
	}
	socket, file := socketPath(t), socketPath(t)
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "--unixsocket", socket)
	port := p.address[strings.LastIndex(p.address, ":")+1:]
	for _, row := range []struct {
		name string
		port string
		path string
	}{
		{"the socket of a living server", "0", socket},
		{"the port of a living server, which has the socket too", port, socket},
		{"a file", "0", file},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, _, stderr := exitCode(t, "--bind", "127.0.0.1", "--port", row.port, "--unixsocket", row.path)
			if code != 1 || !oneLine(stderr) {
				t.Errorf("exit code %d, %q", code, stderr)
			}
			if _, err := os.Lstat(row.path); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestHangUpIsIgnored: a closed terminal doesn't stop the server, as it doesn't stop Redis.
func TestHangUpIsIgnored(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals to send")
	}
	p := start(t)
	if err := p.command.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	throttle(t, goRedis(t, p, nil), "k", 15, 30, 60)
	p.stop(syscall.SIGTERM)
}

// TestSocketOfSuccessorIsKept: a server that ends leaves a socket alone that another has put in the place of its own.
func TestSocketOfSuccessorIsKept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps no socket files")
	}
	socket := socketPath(t)
	first := start(t, "--unixsocket", socket)
	if err := os.Remove(socket); err != nil {
		t.Fatal(err)
	}
	start(t, "--unixsocket", socket)
	first.stop(syscall.SIGTERM)
	if _, err := os.Lstat(socket); err != nil {
		t.Error(err)
	}
}
