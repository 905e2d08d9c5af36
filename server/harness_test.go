package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cellserver/cellserver/netio"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// heavy is set in CI, where tests take the sizes that the product is meant for.
var heavy = os.Getenv("CELLSERVER_HEAVY") == "1"

// startServer starts a server on a free port of loopback, waits until it has loaded its data, and stops it when the test
// ends.
func startServer(t testing.TB, configure func(*Config)) *Server {
	t.Helper()
	s := newServer(t, configure)
	serve(t, s)
	eventually(t, "the data is loaded", func() bool { return !s.loading.active.Load() })
	return s
}

// newServer makes a server on a free port of loopback.
func newServer(t testing.TB, configure func(*Config)) *Server {
	t.Helper()
	config := DefaultConfig()
	config.Bind = []string{"127.0.0.1"}
	config.Port = freePort(t)
	config.Dir = t.TempDir()
	if configure != nil {
		configure(&config)
	}
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve runs a server and stops it when the test ends.
func serve(t testing.TB, s *Server) {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error("shutdown:", err)
		}
		if err := <-served; err != ErrServerClosed {
			t.Error("served:", err)
		}
	})
}

// startFails runs a server that cannot load its data, and returns why.
func startFails(t testing.TB, config Config) error {
	t.Helper()
	config.Port = freePort(t)
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	select {
	case err := <-served:
		return err
	case <-time.After(patience):
		t.Fatal("the server serves")
	}
	return nil
}

// everySetting runs a test on every front end, with one shard and with several.
func everySetting(t *testing.T, test func(t *testing.T, configure func(*Config))) {
	for _, frontEnd := range netio.FrontEnds() {
		for _, shards := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s/shards=%d", frontEnd, shards), func(t *testing.T) {
				test(t, func(c *Config) { c.IO, c.Shards = frontEnd, shards })
			})
		}
	}
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

// A client talks to a server, or to anything that speaks RESP.
type client struct {
	t testing.TB
	net.Conn
	in *bufio.Reader
}

func dial(t testing.TB, s *Server) *client {
	t.Helper()
	return dialTo(t, "tcp", fmt.Sprintf("127.0.0.1:%d", s.config().Port))
}

func dialTo(t testing.TB, network, address string) *client {
	t.Helper()
	nc, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &client{t: t, Conn: nc, in: bufio.NewReader(nc)}
}

func (c *client) send(bytes string) {
	c.t.Helper()
	if _, err := io.WriteString(c, bytes); err != nil {
		c.t.Fatal("send:", err)
	}
}

// do sends one command and returns the reply as reply does.
func (c *client) do(words ...string) string {
	c.t.Helper()
	c.send(encode(words...))
	return c.reply()
}

// run is do for a command written as one line.
func (c *client) run(line string) string {
	c.t.Helper()
	return c.do(strings.Fields(line)...)
}

func encode(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	return b.String()
}

// reply reads one reply and returns it as text: 7, OK, "bulk", nil, -ERR text, [array of], {map: of}, ~[set of], >[push of].
func (c *client) reply() string {
	c.t.Helper()
	text, err := readReply(c.in)
	if err != nil {
		c.t.Fatal("reply:", err)
	}
	return text
}

// closed fails the test unless the server has closed the connection without a further reply.
func (c *client) closed() {
	c.t.Helper()
	rest, err := io.ReadAll(c.in)
	if timeout, isTimeout := err.(net.Error); isTimeout && timeout.Timeout() {
		c.t.Error("the connection is still open")
	}
	if len(rest) > 0 {
		c.t.Errorf("got %.200q before the end", rest)
	}
}

func readReply(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", err
	}
	kind, rest := line[0], strings.TrimSuffix(line[1:], "\r\n")
	switch kind {
	case '+', ':', ',':
		return rest, nil
	case '-':
		return "-" + rest, nil
	case '_':
		return "nil", nil
	case '#':
		return map[string]string{"t": "true", "f": "false"}[rest], nil
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return "", fmt.Errorf("reply %q", line)
	}
	switch {
	case n < 0:
		return "nil", nil
	case kind == '$' || kind == '=':
		bulk := make([]byte, n+2)
		if _, err := io.ReadFull(in, bulk); err != nil {
			return "", err
		}
		return strconv.Quote(string(bulk[:n])), nil
	case kind == '*':
		elements, err := readReplies(in, n)
		return "[" + strings.Join(elements, " ") + "]", err
	case kind == '>':
		elements, err := readReplies(in, n)
		return ">[" + strings.Join(elements, " ") + "]", err
	case kind == '~':
		elements, err := readReplies(in, n)
		return "~[" + strings.Join(elements, " ") + "]", err
	case kind == '%':
		elements, err := readReplies(in, 2*n)
		return "{" + strings.Join(elements, " ") + "}", err
	}
	return "", fmt.Errorf("reply %q", line)
}

func readReplies(in *bufio.Reader, n int) ([]string, error) {
	elements := make([]string, n)
	for i := range elements {
		element, err := readReply(in)
		if err != nil {
			return nil, err
		}
		elements[i] = element
	}
	return elements, nil
}

// eventually waits until the condition holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still not so: ", what)
		}
	}
}
