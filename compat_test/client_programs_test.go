package compat_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cellserver/cellserver/internal/realredis"
)

// program builds the language's program where all that it needs is there; else the test ends.
func (l language) program(t *testing.T) []string {
	t.Helper()
	for _, name := range l.tools {
		realredis.Tool(t, name)
	}
	if len(l.probe) > 0 {
		if out, err := exec.Command(l.probe[0], l.probe[1:]...).CombinedOutput(); err != nil {
			realredis.Missing(t, fmt.Sprintf("no library: %v\n%s", err, out))
		}
	}
	installed, err := installedClients()
	if err != nil {
		realredis.Missing(t, err)
	}
	return l.build(t, filepath.Join(installed, l.folder))
}

// installedClients is the folder into which compat_test/clients/install installs.
func installedClients() (string, error) {
	if folder := os.Getenv("CELLSERVER_CLIENTS"); folder != "" {
		return folder, nil
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "cellserver-clients"), err
}

// needInstalled ends the test unless the versions that the language's file pins are installed.
func needInstalled(t *testing.T, installed, pins string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("clients", filepath.Base(installed), pins))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(installed, pins+".installed"))
	if err != nil || !bytes.Equal(got, want) {
		realredis.Missing(t, "not installed, or other versions: run compat_test/clients/install ", filepath.Base(installed))
	}
}

func runIn(t *testing.T, folder, name string, arguments ...string) {
	t.Helper()
	command := exec.Command(name, arguments...)
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// asIs is for programs that need no building and no installing.
func asIs(interpreter, file string) func(*testing.T, string) []string {
	return func(*testing.T, string) []string {
		return []string{interpreter, filepath.Join("clients", interpreter, file)}
	}
}

func buildGo(t *testing.T, _ string) []string {
	program := filepath.Join(t.TempDir(), "client.exe")
	runIn(t, "clients/go", "go", "build", "-o", program, ".")
	return []string{program}
}

func buildPython(t *testing.T, installed string) []string {
	needInstalled(t, installed, "requirements.txt")
	return []string{filepath.Join(installed, "bin", "python"), "clients/python/main.py"}
}

func buildNode(t *testing.T, installed string) []string {
	needInstalled(t, installed, "package-lock.json")
	// Modules are looked for beside the program, and then here.
	return []string{"env", "NODE_PATH=" + filepath.Join(installed, "node_modules"), "node", "clients/node/main.cjs"}
}

func buildJava(t *testing.T, installed string) []string {
	needInstalled(t, installed, "pom.xml")
	sources, err := filepath.Glob("clients/java/*.java")
	if err != nil {
		t.Fatal(err)
	}
	classes, libraries := t.TempDir(), filepath.Join(installed, "lib", "*")
	runIn(t, ".", "javac", append([]string{"-d", classes, "-cp", libraries}, sources...)...)
	// The first tier of compilation is quickest for programs that end within a second.
	return []string{"java", "-XX:TieredStopAtLevel=1", "-cp", classes + string(filepath.ListSeparator) + libraries, "Main"}
}

func buildRust(t *testing.T, installed string) []string {
	needInstalled(t, installed, "Cargo.lock")
	target := filepath.Join(installed, "target")
	// Cargo goes by the files' times, and would take for up to date what another checkout has built.
	runIn(t, "clients/rust", "cargo", "clean", "--quiet", "--offline", "--locked", "--package", "clients", "--target-dir", target)
	runIn(t, "clients/rust", "cargo", "build", "--quiet", "--offline", "--locked", "--target-dir", target)
	program := filepath.Join(t.TempDir(), "client")
	runIn(t, ".", "cp", filepath.Join(target, "debug", "clients"), program)
	return []string{program}
}

func buildC(t *testing.T, _ string) []string {
	program := filepath.Join(t.TempDir(), "client")
	runIn(t, "clients/c", "gcc", "-Wall", "-Wextra", "-Werror", "-o", program, "main.c", "-lhiredis")
	return []string{program}
}

// A clientServer is cellserver, or the command in CELLSERVER_REFERENCE with the same arguments: so the programs are tried
// against redis-server with redis-cell.
type clientServer struct {
	t       *testing.T
	words   []string
	folder  string
	address string
	command *exec.Cmd
	output  bytes.Buffer // to be read once it has ended
	ended   chan struct{}
}

func startForClient(t *testing.T, access access) *clientServer {
	t.Helper()
	words := strings.Fields(os.Getenv("CELLSERVER_REFERENCE"))
	if len(words) == 0 {
		words = []string{binary(t, false)}
	}
	port := fmt.Sprint(freePort(t))
	words = append(words, "--bind", "127.0.0.1")
	if access.tls {
		words = append(words, "--port", "0", "--tls-port", port)
	} else {
		words = append(words, "--port", port)
	}
	s := &clientServer{t: t, words: append(words, access.server...), folder: t.TempDir(), address: "127.0.0.1:" + port}
	s.start()
	t.Cleanup(s.stop)
	return s
}

// start waits until the server accepts connections.
func (s *clientServer) start() {
	s.t.Helper()
	s.command, s.ended = exec.Command(s.words[0], s.words[1:]...), make(chan struct{})
	s.command.Dir, s.command.Stdout, s.command.Stderr = s.folder, &s.output, &s.output
	if err := s.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		_ = s.command.Wait() // the client notices a server that has failed
		close(s.ended)
	}()
	for {
		if nc, err := net.Dial("tcp", s.address); err == nil {
			nc.Close()
			return
		}
		select {
		case <-s.ended:
			s.t.Fatalf("it does not serve\n%s", &s.output)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// stop ends the server in order, or at any rate.
func (s *clientServer) stop() {
	defer time.AfterFunc(patience, func() { _ = s.command.Process.Kill() }).Stop()
	_ = s.command.Process.Signal(syscall.SIGTERM) // fails only where it has ended
	<-s.ended
}

func (s *clientServer) restart() {
	s.t.Helper()
	s.stop()
	s.start()
}
