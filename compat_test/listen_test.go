package compat_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cellserver/cellserver/internal/realredis"
)

// What answers to the probes of TestBind: an address of this machine or another one of loopback, and IPv6's.
const (
	on127001 = 1 << iota
	on127002
	onIPv6
)

// bindRows are values of bind and what answers then; 0: the server does not start, for the reason in Redis's words, where ADDRESS:PORT
// stands for what follows "Could not create server TCP listening socket".
var bindRows = []struct {
	bind   string
	serves int
	reason string
}{
	{"127.0.0.1", on127001, ""},
	{"0.0.0.0", on127001 | on127002, ""},
	{"*", on127001 | on127002, ""},
	{"-*", on127001 | on127002, ""},
	{"::", onIPv6, ""},
	{"::*", onIPv6, ""},
	{"-::*", onIPv6, ""},
	{"::1", onIPv6, ""},
	{"-::1", onIPv6, ""},
	{"0.0.0.0 ::", on127001 | on127002 | onIPv6, ""},
	{":: 0.0.0.0", on127001 | on127002 | onIPv6, ""},
	{"* ::*", on127001 | on127002 | onIPv6, ""},
	{"* -::*", on127001 | on127002 | onIPv6, ""},
	{"0.0.0.0 -::1", on127001 | on127002 | onIPv6, ""},
	{":: 127.0.0.1", on127001 | onIPv6, ""},
	{"127.0.0.1 ::1", on127001 | onIPv6, ""},
	{"127.0.0.1 127.0.0.2", on127001 | on127002, ""},
	{"localhost", on127001, ""},
	{"-localhost", on127001, ""},
	{"127.0.0.1 -192.0.2.1", on127001, ""},
	{"127.0.0.1 -2001:db8::1", on127001, ""},

	{"192.0.2.1", 0, "192.0.2.1:PORT: bind: Cannot assign requested address"},
	{"127.0.0.1 192.0.2.1", 0, "192.0.2.1:PORT: bind: Cannot assign requested address"},
	{"2001:db8::1", 0, "2001:db8::1:PORT: bind: Cannot assign requested address"},
	{"127.0.0.1 127.0.0.1", 0, "127.0.0.1:PORT: bind: Address already in use"},
	{"127.0.0.1 -127.0.0.1", 0, "127.0.0.1:PORT: bind: Address already in use"},
	{"127.0.0.1 localhost", 0, "localhost:PORT: bind: Address already in use"},
	{"0.0.0.0 127.0.0.1", 0, "127.0.0.1:PORT: bind: Address already in use"},
	{"* 0.0.0.0", 0, "0.0.0.0:PORT: bind: Address already in use"},
	{"127.0.0.1 *", 0, "*:PORT: bind: Address already in use"},
	{":: ::1", 0, "::1:PORT: bind: Address already in use"},
	{"::1 ::*", 0, "::*:PORT: bind: Address already in use"},
	{"host/8", 0, "host/8:PORT: Name or service not known"},
	{"127.0.0.1 -host/8", 0, "host/8:PORT: Name or service not known"},
	{"1:2:", 0, "1:2::PORT: Name or service not known"},
	{"- 127.0.0.1", 0, ":PORT: Name or service not known"},
	{"fe80::1", 0, "fe80::1:PORT: bind: Invalid argument"},
	{"", 0, "nowhere"},
	{"-192.0.2.1", 0, "nowhere"},
	{"-192.0.2.1 -2001:db8::1", 0, "nowhere"},
}

// TestBind: every value of bind has the server listen where redis-server 7.0.15 listens, on port and on tls-port, or not start, for
// the same reason.
func TestBind(t *testing.T) {
	needIPv6(t)
	files := makeCertificates(t)
	testBind(t, "TCP", []string{binary(t, false)})
	testBind(t, "TLS", []string{binary(t, false), "--tls-cert-file", files.certificate, "--tls-key-file", files.key, "--tls-auth-clients", "no"})
}

// TestRedisAgreesOnBind holds the same table against redis-server.
func TestRedisAgreesOnBind(t *testing.T) {
	needIPv6(t)
	testBind(t, "TCP", []string{realredis.Tool(t, "redis-server"), "--save", ""})
}

func testBind(t *testing.T, use string, command []string) {
	for _, row := range bindRows {
		port := fmt.Sprint(freePort(t))
		arguments := append(command[1:len(command):len(command)], "--bind", row.bind)
		if use == "TLS" {
			arguments = append(arguments, "--port", "0", "--tls-port", port)
		} else {
			arguments = append(arguments, "--port", port)
		}
		serves, output := tryBind(t, port, command[0], arguments)
		if serves != row.serves {
			t.Errorf("%s, bind %q: serves %03b, not %03b\n%s", use, row.bind, serves, row.serves, output)
		}
		var want []string
		switch row.reason {
		case "":
		case "nowhere":
			want = []string{"# Configured to not listen anywhere, exiting.\n"}
		default:
			want = []string{
				"# Warning: Could not create server TCP listening socket " + strings.Replace(row.reason, "PORT", port, 1) + "\n",
				fmt.Sprintf("# Failed listening on port %s (%s), aborting.\n", port, use),
			}
		}
		for _, line := range want {
			if !strings.Contains(output, line) {
				t.Errorf("%s, bind %q: no %q in\n%s", use, row.bind, line, output)
			}
		}
	}
}

// tryBind starts a server, probes where it listens once it is ready, and ends it. It returns what it wrote, too.
func tryBind(t *testing.T, port, path string, arguments []string) (serves int, output string) {
	t.Helper()
	within, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	command := exec.CommandContext(within, path, arguments...)
	command.Dir = t.TempDir()
	read, written := io.Pipe()
	command.Stdout = written
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		_ = command.Wait() // it is killed, or fails as it should
		written.Close()
	})
	var text strings.Builder
	for piece := make([]byte, 1<<16); ; {
		n, err := read.Read(piece)
		text.Write(piece[:n])
		if err != nil {
			break
		}
		if serves == 0 && strings.Contains(text.String(), "Ready to accept connections\n") {
			for i, address := range []string{"127.0.0.1", "127.0.0.2", "::1"} {
				if nc, err := net.DialTimeout("tcp", net.JoinHostPort(address, port), patience); err == nil {
					nc.Close()
					serves |= 1 << i
				}
			}
			_ = command.Process.Kill()
		}
	}
	waiting.Wait()
	return serves, text.String()
}

// needIPv6 ends a test on a machine that lacks IPv6, or all of 127.0.0.0/8, which Linux alone has.
func needIPv6(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("127.0.0.2 is an address of Linux's loopback alone")
	}
	listener, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		realredis.Missing(t, "no IPv6 on loopback: ", err)
	}
	listener.Close()
}

// TestFailedListening: why a server does not listen stands in its log, in Redis's words, and on the terminal.
func TestFailedListening(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := fmt.Sprint(taken.Addr().(*net.TCPAddr).Port)
	used := "Could not create server TCP listening socket 127.0.0.1:" + port + ": bind: Address already in use\n"
	noFolder := "Failed opening Unix socket no/such/folder: bind: No such file or directory\n"
	rows := []struct {
		name           string
		arguments      []string
		stdout, stderr string
	}{
		{"port taken", []string{"--port", port}, "# Failed listening on port " + port + " (TCP), aborting.\n", used},
		{"the same in its log", []string{"--port", port}, "# Warning: " + used, used},
		{"no port", []string{"--port", "0"}, "# Configured to not listen anywhere, exiting.\n",
			"Configured to not listen anywhere: port 0, tls-port 0, bind \"127.0.0.1 -::1\", unixsocket \"\"\n"},
		{"no folder for the socket", []string{"--port", "0", "--unixsocket", "no/such/folder"}, "# " + noFolder, noFolder},
		{"no certificate", []string{"--port", "0", "--tls-port", port}, "# Fatal error: no tls-cert-file configured\n", "no tls-cert-file configured\n"},
	}
	for _, row := range rows {
		started := time.Now()
		code, stdout, stderr := exitCode(t, row.arguments...)
		if code != 1 || !strings.Contains(stdout, row.stdout) || stderr != "cellserver: "+row.stderr {
			t.Errorf("%s: exit code %d after %v, stdout\n%sstderr\n%s", row.name, code, time.Since(started), stdout, stderr)
		}
	}
}
