package server

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cellserver/cellserver/netio"
	"github.com/cellserver/cellserver/resp"
)

const noAuth = "-NOAUTH Authentication required."

// flood sends a request without end and without reading, until the server closes the connection.
func flood(nc net.Conn, request string) {
	_ = nc.SetDeadline(time.Time{})
	for err := error(nil); err == nil; {
		_, err = io.WriteString(nc, request)
	}
}

// startForStrangers starts a server with a password and a Unix socket, whose buffers in the kernel are soon full.
func startForStrangers(t *testing.T, configure func(*Config)) (s *Server, socket string) {
	socket = filepath.Join(t.TempDir(), "socket")
	return startServer(t, func(c *Config) {
		configure(c)
		c.RequirePass, c.UnixSocket = "secret", socket
	}), socket
}

// TestDeafStrangers: clients without the password that send without end and never read have next to nothing kept for them, are
// closed, and take nothing from the pool of a client that has it.
func TestDeafStrangers(t *testing.T) {
	requests := map[string]string{
		"NOAUTH":         encode("SET", "x", "5"),
		"AUTH":           encode("AUTH", strings.Repeat("x", 1000)),
		"unknown":        encode(strings.Repeat("x", 10_000), strings.Repeat("y", 10_000)),
		"HELLO":          encode("HELLO", "3", strings.Repeat("x", 10_000)),
		"EXEC and RESET": "EXEC\r\nRESET\r\n",
	}
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s, socket := startForStrangers(t, configure)
		const each = 20
		deaf := int64(each * len(requests))
		for _, request := range requests {
			for range each {
				go flood(dialTo(t, "unix", socket), strings.Repeat(request, 50))
			}
		}
		// While they are there a client sends all its calls before it reads.
		c, admin := dial(t, s), dial(t, s)
		c.expect("AUTH secret", "OK")
		admin.expect("AUTH secret", "OK")
		const calls = 100_000
		c.send(strings.Repeat(encode("CL.THROTTLE", "k", "15", "30", "60", "0"), calls))
		for range calls {
			if got := c.reply(); got != "[0 16 16 -1 0]" {
				t.Fatal(got)
			}
		}
		eventually(t, "the strangers are closed", func() bool {
			if held, bound := s.unsentMemory.Load(), deaf*strangersOutputLimit.HardBytes; held > bound {
				t.Fatalf("%d bytes are held for %d strangers, bound %d", held, deaf, bound)
			}
			return strings.Contains(admin.run("INFO stats"), fmt.Sprintf("client_output_buffer_limit_disconnections:%d", deaf))
		})
		if held := s.unsentMemory.Load(); held != 0 {
			t.Errorf("%d bytes are held still", held)
		}
	})
}

// TestStrangersThatRead: a client without the password that reads gets all replies, however many commands it sends first, and
// may authenticate then.
func TestStrangersThatRead(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s, socket := startForStrangers(t, configure)
		c := dialTo(t, "unix", socket)
		const commands = 30_000
		var sending sync.WaitGroup
		sending.Go(func() {
			c.send(strings.Repeat(encode("SET", "x", "5"), commands) + encode("AUTH", "secret") + encode("PING"))
		})
		time.Sleep(time.Duration(strangersOutputLimit.SoftSeconds) * time.Second / 4) // less than is too long
		for i := range commands {
			if got := c.reply(); got != noAuth {
				t.Fatal(i, got)
			}
		}
		c.expectReplies("AUTH and PING", "OK PONG")
		sending.Wait()
		if left := s.unsentMemory.Load(); left != 0 {
			t.Errorf("%d bytes count as unsent", left)
		}
	})
}

// TestStrangersTurn has the bounds: a stranger's turn ends after so many commands, and what is kept for it is not more than the
// limit. A client that has authenticated is no stranger, nor is anybody where no password is needed.
func TestStrangersTurn(t *testing.T) {
	s := newServer(t, func(c *Config) { c.Shards, c.IO, c.RequirePass = 1, netio.Goroutines, "secret" })
	t.Cleanup(s.closeListeners)
	l := s.loops[0]
	l.loading = false
	c := s.newConn(&scripted{})
	l.conns[c.id] = c
	turn := func(commands int) (carriedOut int, pending bool) {
		b := l.takeBatch()
		rest, pending, _ := l.parse(b, c, []byte(strings.Repeat("GET k\r\n", commands)))
		b.reset()
		return commands - len(rest)/len("GET k\r\n"), pending
	}
	want := func(what string, commands, carriedOut int, pending bool) {
		t.Helper()
		if got, isPending := turn(commands); got != carriedOut || isPending != pending {
			t.Errorf("%s: %d of %d commands, pending: %v", what, got, commands, isPending)
		}
	}
	want("at the bound", strangerCommands, strangerCommands, false)
	want("past the bound", strangerCommands+1, strangerCommands, true)
	c.setAuthenticated(true)
	want("with the password", strangerCommands+1, strangerCommands+1, false)
	c.setAuthenticated(false)
	s.acl.SetDefaultPassword("")
	want("where none is needed", strangerCommands+1, strangerCommands+1, false)
	s.acl.SetDefaultPassword("secret")
	c.out = make([]byte, strangersOutputLimit.HardBytes-1)
	c.setAside(0)
	if held := s.unsentMemory.Load(); c.closed || !c.full || held > strangersOutputLimit.HardBytes {
		t.Errorf("below the limit: closed: %v, read: %v, %d bytes are held", c.closed, !c.full, held)
	}
	c.out = make([]byte, 1)
	c.setAside(0)
	if held := s.unsentMemory.Load(); !c.closed || held != 0 {
		t.Errorf("at the limit: closed: %v, %d bytes are held", c.closed, held)
	}
}

// TestStrangersInput: what a client without the password has sent of a command takes as much memory as the largest that it may
// send, with the room that a buffer grows by.
func TestStrangersInput(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s, _ := startForStrangers(t, configure)
		const strangers = 40
		largest := resp.UnauthenticatedMaxArgs * (resp.UnauthenticatedMaxBulkBytes + len("$16384\r\n\r\n"))
		argument := strings.Repeat("x", resp.UnauthenticatedMaxBulkBytes)
		command := fmt.Sprintf("*%d\r\n", resp.UnauthenticatedMaxArgs)
		for range resp.UnauthenticatedMaxArgs {
			command += fmt.Sprintf("$%d\r\n%s\r\n", len(argument), argument)
		}
		before := heapBytes()
		var clients []*client
		for i := range strangers {
			c := dial(t, s)
			if i%2 == 0 {
				c.send(command[:len(command)-1])
			} else {
				c.send(strings.Repeat("x", resp.MaxInlineBytes-1))
			}
			clients = append(clients, c)
		}
		admin := dial(t, s)
		admin.expect("AUTH secret", "OK")
		eventually(t, "all input has come", func() bool {
			return strings.Count(admin.run("CLIENT LIST"), fmt.Sprintf(" qbuf=%d ", len(command)-1)) == strangers/2
		})
		if grown := heapBytes() - before; grown > strangers*3*largest {
			t.Errorf("%d KiB for each", grown/strangers>>10)
		}
		for i, c := range clients {
			if i%2 == 0 {
				c.send("\n")
				c.expectReplies("the command", "-ERR unknown command '"+argument[:128]+"', with args beginning with: '"+argument[:128]+"' ")
			} else {
				c.send("xx")
				c.expectReplies("the line", "-ERR Protocol error: too big inline request")
				c.closed()
			}
		}
	})
}
