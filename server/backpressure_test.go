package server

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cellserver/cellserver/netio"
)

// keepBusy has some clients ask without end, so that loops run while others want their shards. It returns how to stop.
func keepBusy(t *testing.T, s *Server) (stop func()) {
	done := make(chan struct{})
	var clients sync.WaitGroup
	for range 3 {
		c := dial(t, s)
		_ = c.SetDeadline(time.Now().Add(5 * patience))
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					c.run("PING")
				}
			}
		})
	}
	return func() {
		close(done)
		clients.Wait()
	}
}

// TestHalfClosed: a client that sends a pipeline and closes its side gets every reply before the connection ends.
func TestHalfClosed(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		defer keepBusy(t, s)()
		for round := range 60 {
			c := dial(t, s)
			const calls = 1000
			var b strings.Builder
			for i := range calls {
				b.WriteString(encode("CL.THROTTLE", fmt.Sprint("h", i%100), "1000000", "1", "60"))
			}
			go func() {
				io.WriteString(c, b.String())
				_ = c.Conn.(*net.TCPConn).CloseWrite()
			}()
			for i := range calls {
				if reply, err := readReply(c.in); err != nil {
					t.Fatalf("round %d: %v after %d of %d replies", round, err, i, calls)
				} else if !strings.HasPrefix(reply, "[0 1000001 ") {
					t.Fatal(reply)
				}
			}
			c.closed()
		}
	})
}

// TestHalfClosedAndSlow: the same where the replies are more than the sockets hold, and the client reads late.
func TestHalfClosedAndSlow(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, configure))
		const calls = 3000
		payload := strings.Repeat("x", 5000)
		go func() {
			io.WriteString(c, strings.Repeat(encode("ECHO", payload), calls))
			_ = c.Conn.(*net.TCPConn).CloseWrite()
		}()
		time.Sleep(300 * time.Millisecond)
		for i := range calls {
			if _, err := readReply(c.in); err != nil {
				t.Fatalf("%v after %d of %d replies", err, i, calls)
			}
		}
		c.closed()
	})
}

// TestInputIsBounded: nothing is read from a connection while commands of it wait, however fast it sends.
func TestInputIsBounded(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		defer keepBusy(t, s)()
		watcher, most := dial(t, s), 0
		var senders sync.WaitGroup
		for range 4 {
			c := dial(t, s)
			_ = c.SetDeadline(time.Now().Add(5 * patience))
			const calls = 40_000
			var b strings.Builder
			for i := range calls {
				b.WriteString(encode("CL.THROTTLE", fmt.Sprint("h", i%1000), "1000000", "1", "60"))
			}
			go io.WriteString(c, b.String())
			senders.Go(func() {
				for range calls {
					if _, err := readReply(c.in); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		sent := make(chan struct{})
		go func() { senders.Wait(); close(sent) }()
		for sending := true; sending; {
			select {
			case <-sent:
				sending = false
			case <-time.After(2 * time.Millisecond):
				_, after, _ := strings.Cut(watcher.run("INFO clients"), "client_recent_max_input_buffer:")
				var held int
				fmt.Sscan(strings.SplitN(after, `\r`, 2)[0], &held)
				most = max(most, held)
			}
		}
		if most > readBytes+leastReadBytes {
			t.Errorf("%d bytes of input were held for a connection", most)
		}
	})
}

// TestSlowCommandsTakeTurns: a pipeline of slow commands delays others by one of them, not by all.
func TestSlowCommandsTakeTurns(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		fill := dial(t, s)
		const keys, slow = 20_000, 200
		go func() {
			var b strings.Builder
			for i := range keys {
				b.WriteString(encode("SET", fmt.Sprint("key:", i), far))
			}
			io.WriteString(fill, b.String())
		}()
		for range keys {
			fill.reply()
		}
		other, pipelined := dial(t, s), dial(t, s)
		began := time.Now()
		pipelined.send(strings.Repeat(encode("KEYS", "nomatch*"), slow))
		answered := make(chan time.Duration, 1)
		go func() {
			for range slow {
				readReply(pipelined.in)
			}
			answered <- time.Since(began)
		}()
		pings := 0
		for {
			select {
			case took := <-answered:
				// If the pipeline ran in one go, hardly any PING would be answered while it does.
				if pings < slow/10 {
					t.Errorf("%d PINGs were answered beside %d slow commands in %v", pings, slow, took)
				}
				return
			default:
				other.run("PING")
				pings++
			}
		}
	})
}

// TestClosedConnectionsLeaveNothing: clients that go on sending after the server has closed their connections cost no goroutine.
func TestClosedConnectionsLeaveNothing(t *testing.T) {
	s := startServer(t, func(c *Config) { c.IO = netio.Goroutines })
	dial(t, s).run("PING")
	before := runtime.NumGoroutine()
	const clients = 50
	for range clients {
		c := dial(t, s)
		c.send("*bad\r\n")
		for range 100 {
			if _, err := io.WriteString(c, strings.Repeat("x", 1000)); err != nil {
				break // the server's end is closed, as it should be
			}
		}
	}
	eventually(t, "the goroutines of closed connections have ended", func() bool { return runtime.NumGoroutine() < before+clients/5 })
}
