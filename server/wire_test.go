package server

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestProtocolErrors has what the server answers to malformed input, in Redis's words, before it closes the connection.
func TestProtocolErrors(t *testing.T) {
	rows := []struct{ name, sent, reply string }{
		{"unbalanced quotes", "GET \"foo\r\n", "-ERR Protocol error: unbalanced quotes in request"},
		{"too big inline", strings.Repeat("x", 65537), "-ERR Protocol error: too big inline request"},
		{"too big mbulk count", "*" + strings.Repeat("1", 65537), "-ERR Protocol error: too big mbulk count string"},
		{"invalid multibulk length", "*abc\r\n", "-ERR Protocol error: invalid multibulk length"},
		{"multibulk length over the limit", "*1048577\r\n", "-ERR Protocol error: invalid multibulk length"},
		{"multibulk length 2^31", "*2147483648\r\n", "-ERR Protocol error: invalid multibulk length"},
		{"expected dollar", "*1\r\n+PING\r\n", "-ERR Protocol error: expected '$', got '+'"},
		{"too big bulk count", "*1\r\n$" + strings.Repeat("1", 65537), "-ERR Protocol error: too big bulk count string"},
		{"bulk length -1", "*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length"},
		{"bulk length abc", "*1\r\n$abc\r\n", "-ERR Protocol error: invalid bulk length"},
		{"bulk length over the limit", "*1\r\n$536870913\r\n", "-ERR Protocol error: invalid bulk length"},
		{"POST", "POST / HTTP/1.1\r\n", ""},
		{"Host", "host: localhost\r\n", ""},
		{"GET then Host", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "-ERR wrong number of arguments for 'get' command"},
	}
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				c := dial(t, s)
				c.send(row.sent)
				if row.reply != "" {
					if got := c.reply(); got != row.reply {
						t.Errorf("got %s, want %s", got, row.reply)
					}
				}
				c.closed()

				// The same behind commands that are still to be answered.
				c = dial(t, s)
				c.send(encode("CL.THROTTLE", row.name, "15", "30", "60") + encode("ECHO", "x") + encode("EXISTS", row.name) + row.sent)
				for _, want := range []string{"[0 16 15 -1 2]", `"x"`, "1", row.reply} {
					if want == "" {
						break
					}
					if got := c.reply(); got != want {
						t.Errorf("behind commands: got %s, want %s", got, want)
					}
				}
				c.closed()
			})
		}
	})
}

// TestLenientInput has the rows of 5.1 that are no errors.
func TestLenientInput(t *testing.T) {
	rows := []struct {
		name, sent string
		replies    []string
	}{
		{"inline", "PING\r\n", []string{"PONG"}},
		{"inline, newline alone", "PING\n", []string{"PONG"}},
		{"blank lines", "\r\n\r\n\nPING\r\n", []string{"PONG"}},
		{"empty multibulk", "*0\r\nPING\r\n", []string{"PONG"}},
		{"null multibulk", "*-1\r\nPING\r\n", []string{"PONG"}},
		{"quotes and escapes", "ECHO \"a\\x41\\n b\" \r\nECHO 'c d'\r\n", []string{`"aA\n b"`, `"c d"`}},
		{"bytes after a bulk", "*1\r\n$4\r\nPINGxx", []string{"PONG"}},
		{"plus and colon", "+PING\r\n:1\r\n", []string{"-ERR unknown command '+PING', with args beginning with: ", "-ERR unknown command ':1', with args beginning with: "}},
		{"empty command", "*1\r\n$0\r\n\r\n", []string{"-ERR unknown command '', with args beginning with: "}},
		{"GET / HTTP/1.1", "GET / HTTP/1.1\r\n", []string{"-ERR wrong number of arguments for 'get' command"}},
		{"the longest inline", "ECHO " + strings.Repeat("x", 60_000) + "\r\n", []string{`"` + strings.Repeat("x", 60_000) + `"`}},
		{"a million arguments", "*1048576\r\n$6\r\nEXISTS\r\n" + strings.Repeat("$0\r\n\r\n", 1048575), []string{"0"}},
	}
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				c := dial(t, s)
				go c.send(row.sent)
				for _, want := range row.replies {
					if got := c.reply(); got != want {
						t.Errorf("got %.100s, want %.100s", got, want)
					}
				}
				if got := c.run("PING"); got != "PONG" {
					t.Error("afterwards:", got)
				}
			})
		}
	})
}

// TestByteAtATime sends a pipeline one byte at a time.
func TestByteAtATime(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, configure))
		_ = c.Conn.(*net.TCPConn).SetNoDelay(true)
		for _, b := range []byte(encode("CL.THROTTLE", "slow", "15", "30", "60") + "ECHO inline\r\n" + encode("GET", "none")) {
			c.send(string(b))
		}
		for _, want := range []string{"[0 16 15 -1 2]", `"inline"`, "nil"} {
			if got := c.reply(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}

func TestKeyLengths(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, configure))
		for _, key := range []string{"", "\xff\xfe", "nul\x00in", strings.Repeat("k", 65535)} {
			if got := c.do("CL.THROTTLE", key, "15", "30", "60"); got != "[0 16 15 -1 2]" {
				t.Errorf("key of %d bytes: %s", len(key), got)
			}
			if got := c.do("EXISTS", key); got != "1" {
				t.Errorf("key of %d bytes: EXISTS %s", len(key), got)
			}
		}
		tooLong := strings.Repeat("k", 65536)
		for _, words := range [][]string{{"CL.THROTTLE", tooLong, "15", "30", "60"}, {"GET", tooLong}, {"DEL", "a", tooLong}, {"OBJECT", "ENCODING", tooLong}} {
			if got := c.do(words...); got != "-ERR key is longer than 65535 bytes" {
				t.Errorf("%s with too long a key: %s", words[0], got)
			}
		}
	})
}

// heapBytes returns the live heap after a collection.
func heapBytes() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// TestDeclaredNotSent: an argument costs memory as it comes, not as it is announced.
func TestDeclaredNotSent(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		before := heapBytes()
		for range 20 {
			c := dial(t, s)
			c.send("*3\r\n$3\r\nSET\r\n$500000000\r\n" + strings.Repeat("x", 1000))
			c = dial(t, s)
			c.send("*1048576\r\n$3\r\nDEL\r\n")
		}
		c := dial(t, s)
		if got := c.run("PING"); got != "PONG" {
			t.Fatal(got)
		}
		if grown := heapBytes() - before; grown > 8<<20 {
			t.Errorf("the heap grew by %d bytes", grown)
		}
	})
}

// TestQueryLimit closes a connection whose unfinished command grows past the limit, and no other.
func TestQueryLimit(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.MaxQueryBytes = 1 << 20
		})
		other := dial(t, s)
		within, beyond := dial(t, s), dial(t, s)
		within.send(fmt.Sprintf("*2\r\n$4\r\nECHO\r\n$%d\r\n", 1<<20-100) + strings.Repeat("x", 1<<20-100) + "\r\n")
		if got := within.reply(); len(got) != 1<<20-100+2 {
			t.Errorf("a command below the limit got %.100s", got)
		}
		go io.WriteString(beyond, fmt.Sprintf("*2\r\n$4\r\nECHO\r\n$%d\r\n", 1<<20)+strings.Repeat("x", 1<<20))
		if _, err := beyond.in.ReadByte(); err == nil {
			t.Error("a command past the limit was answered")
		}
		if got := other.run("PING"); got != "PONG" {
			t.Error(got)
		}
		if got := other.run("INFO stats"); !strings.Contains(got, `client_query_buffer_limit_disconnections:1`) {
			t.Error("not counted:", got)
		}
	})
}

// TestNeverReads: a client that sends and never reads stops being read at its share of unsent output; the others are served.
func TestNeverReads(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		before := heapBytes()
		deaf := dial(t, s)
		request := []byte(strings.Repeat(encode("ECHO", strings.Repeat("x", 1000)), 100))
		sent := 0
		for stopped := false; !stopped; {
			_ = deaf.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
			n, err := deaf.Write(request)
			sent += n
			stopped = err != nil
			if sent > 1<<30 {
				t.Fatal("the server reads on")
			}
		}
		other := dial(t, s)
		if got := other.run("CL.THROTTLE k 15 30 60"); got != "[0 16 15 -1 2]" {
			t.Error(got)
		}
		if grown := heapBytes() - before; grown > maxUnsentBytes/(unsentShare+1)+16<<20 {
			t.Errorf("the heap grew by %d bytes", grown)
		}
		// It is served again once it reads.
		_ = deaf.SetDeadline(time.Now().Add(patience))
		for range sent / 1100 {
			if got := deaf.reply(); len(got) != 1002 {
				t.Fatalf("got %.50s", got)
			}
		}
	})
}

// TestOutputLimit closes a connection that does not read once the output for it passes the limit.
func TestOutputLimit(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.OutputLimits.Normal.HardBytes = 8 << 20
		})
		c := dial(t, s)
		const keys = 40_000
		go func() {
			for i := range keys {
				io.WriteString(c, encode("SET", fmt.Sprintf("%0400d", i), far))
			}
		}()
		for range keys {
			if got := c.reply(); got != "OK" {
				t.Fatal(got)
			}
		}
		deaf := dial(t, s)
		for range 4 { // the sockets' own buffers take some of the output
			io.WriteString(deaf, encode("KEYS", "*"))
		}
		eventually(t, "the deaf client is closed", func() bool {
			return strings.Contains(c.run("INFO clients"), "connected_clients:1\\r") || strings.Contains(c.run("INFO stats"), "output_buffer_limit_disconnections:1")
		})
	})
}

// TestLongPipeline reads the replies to a million calls while it sends them.
func TestLongPipeline(t *testing.T) {
	calls := 50_000
	if heavy {
		calls = 1_000_000
	}
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		c := dial(t, s)
		_ = c.SetDeadline(time.Now().Add(10 * patience))
		other := dial(t, s)
		before := heapBytes()
		go func() {
			const part = 1000
			for i := 0; i < calls; i += part {
				var b strings.Builder
				for j := range part {
					b.WriteString(encode("CL.THROTTLE", fmt.Sprint("k", (i+j)%5), "2000000", "1", "60"))
				}
				if _, err := io.WriteString(c, b.String()); err != nil {
					return
				}
			}
		}()
		worst := time.Duration(0)
		for i := range calls {
			if got, want := c.reply(), fmt.Sprintf("[0 2000001 %d -1 *]", 2000000-i/5); !fits(want, got) {
				t.Fatalf("call %d: got %s, want %s", i, got, want)
			}
			if i%(calls/10) == 0 {
				asked := time.Now()
				if got := other.run("PING"); got != "PONG" {
					t.Fatal(got)
				}
				worst = max(worst, time.Since(asked))
			}
		}
		if worst > time.Second {
			t.Errorf("another client waited %v", worst)
		}
		if grown := heapBytes() - before; grown > 16<<20 {
			t.Errorf("the heap grew by %d bytes", grown)
		}
	})
}

// TestCloseInTheMiddle closes connections within commands, and before replies, all the time.
func TestCloseInTheMiddle(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		other := dial(t, s)
		command := encode("CL.THROTTLE", "k", "15", "30", "60")
		for i := range 300 {
			c := dial(t, s)
			c.send(strings.Repeat(command, i%50) + command[:i%len(command)])
			if i%3 == 0 {
				_ = c.Conn.(*net.TCPConn).SetLinger(0) // a reset instead of an orderly end
			}
			c.Close()
			if got := other.run("PING"); got != "PONG" {
				t.Fatal(got)
			}
		}
		eventually(t, "the closed connections are gone", func() bool { return s.clients() == 1 })
	})
}

func TestMaxClients(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.MaxClients = 3
		})
		admitted := []*client{dial(t, s), dial(t, s), dial(t, s)}
		for _, c := range admitted {
			if got := c.run("PING"); got != "PONG" {
				t.Fatal(got)
			}
		}
		refused := dial(t, s)
		if got := refused.reply(); got != "-ERR max number of clients reached" {
			t.Error(got)
		}
		refused.closed()
		admitted[0].Close()
		eventually(t, "there is room again", func() bool { return s.clients() == 2 })
		if got := dial(t, s).run("PING"); got != "PONG" {
			t.Error(got)
		}
	})
}

func TestQuit(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, configure))
		c.send(encode("CL.THROTTLE", "k", "15", "30", "60") + encode("QUIT") + encode("PING"))
		for _, want := range []string{"[0 16 15 -1 2]", "OK"} {
			if got := c.reply(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		c.closed()
	})
}

func TestUnixSocket(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		path := t.TempDir() + "/s"
		startServer(t, func(c *Config) {
			configure(c)
			c.Port, c.UnixSocket = 0, path
		})
		c := dialTo(t, "unix", path)
		if got := c.run("CL.THROTTLE k 15 30 60"); got != "[0 16 15 -1 2]" {
			t.Error(got)
		}
		if got := c.run("CLIENT LIST"); !strings.Contains(got, "flags=U") {
			t.Error(got)
		}
	})
}
