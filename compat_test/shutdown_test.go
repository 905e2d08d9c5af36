package compat_test

import (
	"io"
	"os"
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
