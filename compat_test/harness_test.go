// Package compat_test uses the built binary as a stranger would: by its command line, with real clients, over sockets.
package compat_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// heavy is set in CI: the sizes and times that the product is meant for.
var heavy = os.Getenv("CELLSERVER_HEAVY") == "1"

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// stopPatience is how long a server that was told to end may take.
const stopPatience = 2 * time.Second

var buildOnce = map[bool]func() (string, error){
	false: sync.OnceValues(func() (string, error) { return build("cellserver") }),
	true:  sync.OnceValues(func() (string, error) { return build("cellserver-race", "-race") }),
}

var buildFolder string

func TestMain(m *testing.M) {
	var err error
	if buildFolder, err = os.MkdirTemp("", "compat"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(buildFolder)
	os.Exit(code)
}

func build(name string, flags ...string) (path string, err error) {
	path = filepath.Join(buildFolder, name+".exe")
	arguments := append(append([]string{"build"}, flags...), "-o", path, "../cmd/cellserver")
	if out, err := exec.Command("go", arguments...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// binary returns the path of the server, built once.
func binary(t testing.TB, race bool) string {
	t.Helper()
	path, err := buildOnce[race]()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A process is a running server.
type process struct {
	t       testing.TB
	command *exec.Cmd
	address string
	stdout  string // all that it wrote; to be read once it has ended
	stderr  *bytes.Buffer
	ended   chan struct{}
	err     error // how it ended
}

// start starts a server on a free port of loopback and waits until it says that it serves.
func start(t testing.TB, arguments ...string) *process {
	t.Helper()
	return startAs(t, false, freePort(t), arguments...)
}

// startAs starts a server that is to have a certain port, where 0 means no TCP, or to be built with the race detector.
func startAs(t testing.TB, race bool, port int, arguments ...string) *process {
	t.Helper()
	return launch(t, race, port, append([]string{"--bind", "127.0.0.1", "--port", fmt.Sprint(port)}, arguments...))
}

// startWithFile starts a server with a configuration file.
func startWithFile(t testing.TB, path string, port int) *process {
	t.Helper()
	return launch(t, false, port, []string{path, "--bind", "127.0.0.1", "--port", fmt.Sprint(port)})
}

func launch(t testing.TB, race bool, port int, arguments []string) *process {
	t.Helper()
	p := &process{
		t:       t,
		command: exec.Command(binary(t, race), arguments...),
		address: fmt.Sprintf("127.0.0.1:%d", port),
		stderr:  &bytes.Buffer{},
		ended:   make(chan struct{}),
	}
	p.command.Dir, p.command.Stderr = t.TempDir(), p.stderr // the folder of its snapshot
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	banner := ""
	for err == nil && !strings.Contains(banner, "serves ") {
		var line string
		line, err = out.ReadString('\n')
		banner += line
	}
	go func() {
		rest, _ := io.ReadAll(out) // a process that ends closes its end
		p.stdout = banner + string(rest)
		p.err = p.command.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill() // fails only where it has ended
		<-p.ended
	})
	if err != nil {
		<-p.ended
		t.Fatalf("it does not serve: %v\n%s", p.err, p.stderr)
	}
	return p
}

// stop sends a signal and verifies that the process ends in order and soon. Windows has no such signal: there the process
// is killed.
func (p *process) stop(signal os.Signal) {
	p.t.Helper()
	if runtime.GOOS == "windows" {
		_ = p.command.Process.Kill()
		<-p.ended
		return
	}
	if err := p.command.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
	p.endsAfter(signal.String())
}

// endsAfter verifies that the process, which was told to, ends in order and soon.
func (p *process) endsAfter(what string) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(stopPatience):
		p.t.Fatalf("it does not end within %v of %s", stopPatience, what)
	}
	if p.err != nil || p.stderr.Len() > 0 {
		p.t.Errorf("%v after %s\n%s", p.err, what, p.stderr)
	}
}

// dial opens a connection that ends with the test.
func (p *process) dial() net.Conn {
	p.t.Helper()
	nc, err := net.Dial("tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { nc.Close() })
	return nc
}

// exitCode runs the server until it ends by itself.
func exitCode(t testing.TB, arguments ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	command := exec.Command(binary(t, false), arguments...)
	command.Stdout, command.Stderr = &out, &errOut
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), out.String(), errOut.String()
}

func freePort(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// socketPath returns a path for a Unix socket. The system's limit is about 100 bytes, so t.TempDir's can be too long.
func socketPath(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "cell")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return filepath.Join(folder, "socket")
}

// goRedis returns a go-redis client of the server.
func goRedis(t testing.TB, p *process, configure func(*redis.Options)) *redis.Client {
	t.Helper()
	options := &redis.Options{Addr: p.address}
	if configure != nil {
		configure(options)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return client
}

// throttle asks with go-redis and returns the five integers.
func throttle(t testing.TB, client *redis.Client, arguments ...any) []int64 {
	t.Helper()
	reply, err := client.Do(context.Background(), append([]any{"CL.THROTTLE"}, arguments...)...).Int64Slice()
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func oneLine(text string) bool {
	return strings.Count(text, "\n") == 1 && strings.HasSuffix(text, "\n")
}

// frontEnds are the options that choose the server's own front end and the portable one.
var frontEnds = [][]string{nil, {"--io", "goroutines"}}

var endSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT}
