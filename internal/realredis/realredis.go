package realredis

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Missing ends a test that lacks something of the machine's: skipped, or in CI failed.
func Missing(t testing.TB, reason ...any) {
	t.Helper()
	if os.Getenv("CELLSERVER_REQUIRE_TOOLS") == "1" {
		t.Fatal(reason...)
	}
	t.Skip(reason...)
}

// Tool returns the path of a program that the test needs.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, err)
	}
	return path
}

// A Server is a redis-server of the system's. Redis 7.0.15 is the one that the tests are known to agree with.
type Server struct {
	Address string          // on loopback
	Ended   <-chan struct{} // closed when it has ended
}

// Start starts a Redis on a free port and waits until it has loaded its files and listens. It works in a folder of its own unless the options say otherwise,
// and lives as long as the test.
func Start(t testing.TB, options ...string) *Server {
	t.Helper()
	path := Tool(t, "redis-server")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(path, append([]string{"--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir()}, options...)...)
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	lines := bufio.NewScanner(stdout)
	ready := false
	for !ready && lines.Scan() {
		log.WriteString(lines.Text() + "\n")
		ready = strings.Contains(lines.Text(), "Ready to accept connections")
	}
	ended := make(chan struct{})
	go func() {
		for lines.Scan() { // it would stop where nobody reads
		}
		_ = command.Wait() // it is killed, and says so
		close(ended)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill() // fails only where it has ended
		<-ended
	})
	if !ready {
		t.Fatalf("Redis does not start:\n%s", log.String())
	}
	return &Server{Address: address, Ended: ended}
}
