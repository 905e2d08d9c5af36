package server

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPipelineBeforeReading: a client that sends a whole pipeline before it reads the first reply gets all of them in order.
func TestPipelineBeforeReading(t *testing.T) {
	calls := 400_000
	if heavy {
		calls = 1_000_000
	}
	var pipeline strings.Builder
	for i := range calls {
		pipeline.WriteString(encode("CL.THROTTLE", fmt.Sprint("k", i%5), "2000000", "1", "60"))
	}
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		c, other := dial(t, s), dial(t, s)
		_ = c.SetDeadline(time.Now().Add(5 * patience))
		c.send(pipeline.String())
		other.expect("PING", "PONG")
		for i := range calls {
			if got, want := c.reply(), fmt.Sprintf("[0 2000001 %d -1 *]", 2000000-i/5); !fits(want, got) {
				t.Fatalf("call %d: got %s, want %s", i, got, want)
			}
		}
		c.expect("PING", "PONG")
		if left := s.unsentMemory.Load(); left != 0 {
			t.Errorf("%d bytes count as unsent", left)
		}
	})
}

// TestDeafClients: fifty clients that send without end and never read take bounded memory together, whatever the length of
// their replies, and others are answered meanwhile, with a pipeline of some length too.
func TestDeafClients(t *testing.T) {
	rows := []struct {
		name, request string
		reply         int // the longest, bytes
	}{
		{"echo", encode("ECHO", strings.Repeat("x", 10_000)), 10_100},
		{"large replies", encode("ECHO", strings.Repeat("x", 500_000)), 500_100},
		{"calls", strings.Repeat(encode("CL.THROTTLE", "deaf", "15", "30", "60"), 1000), 100},
	}
	if !heavy { // ten million calls
		rows = rows[:2]
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			everySetting(t, func(t *testing.T, configure func(*Config)) { testDeafClients(t, configure, row.request, row.reply) })
		})
	}
}

func testDeafClients(t *testing.T, configure func(*Config), request string, longestReply int) {
	const deaf = 50
	s := startServer(t, configure)
	other := dial(t, s)
	_ = other.SetDeadline(time.Now().Add(5 * patience))
	before := heapBytes()
	for range deaf {
		c := dial(t, s)
		_ = c.SetDeadline(time.Time{})
		go func() {
			for err := error(nil); err == nil; { // until the test is over
				_, err = io.WriteString(c, request)
			}
		}()
	}
	worst := time.Duration(0)
	for strings.Count(other.run("CLIENT LIST"), " events=w ") < deaf { // they are read
		asked := time.Now()
		other.expect("PING", "PONG")
		worst = max(worst, time.Since(asked))
		time.Sleep(10 * time.Millisecond)
	}
	// A turn may end beyond the share, and buffers grow by doubling, of output and of input.
	bound := maxUnsentBytes + deaf*2*(pauseOutputBytes+longestReply)
	heapBound := bound + deaf*2*len(request) + 16<<20
	grown, held := heapBytes()-before, int(s.unsentMemory.Load())
	t.Logf("%d MiB are held, the heap grew by %d MiB; a PING took up to %v", held>>20, grown>>20, worst)
	if held < maxUnsentBytes*9/10 || held > bound || grown > heapBound {
		t.Errorf("the bounds are %d and %d MiB", bound>>20, heapBound>>20)
	}
	if worst > time.Second {
		t.Errorf("a PING took %v", worst)
	}
	const calls = 10_000
	other.send(strings.Repeat(encode("CL.THROTTLE", "other", "15", "30", "60", "0"), calls))
	for range calls {
		if got := other.reply(); got != "[0 16 16 -1 0]" {
			t.Fatal(got)
		}
	}
}

// TestReadsAfterTheBound: a client that has sent until it was not read any more gets all replies once it reads.
func TestReadsAfterTheBound(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		c, other := dial(t, s), dial(t, s)
		_ = c.SetDeadline(time.Now().Add(5 * patience))
		const calls = 12_000
		padding := strings.Repeat("x", 10_000)
		go func() {
			for i := range calls {
				if _, err := io.WriteString(c, encode("ECHO", fmt.Sprint(i, padding))); err != nil {
					t.Error(err)
					return
				}
			}
			_ = c.Conn.(*net.TCPConn).CloseWrite()
		}()
		eventually(t, "the client is not read", func() bool { return strings.Contains(other.run("CLIENT LIST"), " events=w ") })
		if held := s.unsentMemory.Load(); held < maxUnsentBytes/(unsentShare+1) {
			t.Errorf("%d bytes are held", held)
		}
		for i := range calls {
			if got, want := c.reply(), strconv.Quote(fmt.Sprint(i, padding)); got != want {
				t.Fatalf("reply %d is %.20s", i, got)
			}
		}
		c.closed()
		eventually(t, "nothing is held", func() bool { return s.unsentMemory.Load() == 0 })
	})
}

// TestShareOfUnsent has the bounds: a connection is read at its share, and not one byte past it.
func TestShareOfUnsent(t *testing.T) {
	const alone = maxUnsentBytes / (unsentShare + 1)
	for _, row := range []struct {
		held, others int64
		exceeds      bool
	}{
		{alone, 0, false},
		{alone + 1, 0, true},
		{alone * 3 / 4, alone, false},
		{alone*3/4 + 1, alone, true},
		{1, maxUnsentBytes - 4, false},
		{1, maxUnsentBytes - 3, true},
		{1, 2 * maxUnsentBytes, true},
	} {
		if got := exceedsShare(row.held, row.held+row.others); got != row.exceeds {
			t.Errorf("%d beside %d: %v", row.held, row.others, got)
		}
	}
}

// TestOthersHaveRead: a connection that is not read for what others have unsent is read again when they have less.
func TestOthersHaveRead(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		c, other := dial(t, s), dial(t, s)
		s.unsentMemory.Add(maxUnsentBytes)
		sent := make(chan struct{})
		const calls = 3000
		go func() {
			defer close(sent)
			io.WriteString(c, strings.Repeat(encode("ECHO", strings.Repeat("x", 10_000)), calls))
		}()
		eventually(t, "the client is not read", func() bool { return strings.Contains(other.run("CLIENT LIST"), " events=w ") })
		s.unsentMemory.Add(-maxUnsentBytes)
		select {
		case <-sent:
		case <-time.After(patience):
			t.Fatal("it is not read again")
		}
		for range calls {
			c.reply()
		}
	})
}

// TestUnsentShows: what is unsent shows in CLIENT LIST as Redis's list of replies does, and in INFO.
func TestUnsentShows(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		c, other := dial(t, s), dial(t, s)
		number := func(text, field string) int {
			_, after, found := strings.Cut(text, field)
			n, err := strconv.Atoi(regexp.MustCompile(`^\d+`).FindString(after))
			if !found || err != nil {
				t.Fatalf("no %s in %s", field, text)
			}
			return n
		}
		const calls = 3000
		c.send(strings.Repeat(encode("ECHO", strings.Repeat("x", 10_000)), calls))
		waiting := ""
		eventually(t, "output waits", func() bool {
			_, waiting, _ = strings.Cut(other.run("CLIENT LIST ID 1 2"), "events=rw")
			return waiting != ""
		})
		eventually(t, "all is carried out", func() bool {
			return strings.Contains(other.run("INFO commandstats"), fmt.Sprintf("cmdstat_echo:calls=%d,", calls))
		})
		list, stats := other.run("CLIENT LIST TYPE normal"), other.run("INFO")
		line, _, _ := strings.Cut(list, "events=rw")
		held := int(s.unsentMemory.Load())
		if buffers, memory := number(line, " oll="), number(line, " omem="); buffers == 0 || memory != held {
			t.Errorf("%d bytes are held: %s", held, line)
		}
		if got := number(line, " tot-mem="); got < held {
			t.Error(line)
		}
		if got := number(stats, "client_recent_max_output_buffer:"); got == 0 || got > held {
			t.Errorf("%d of %d bytes", got, held)
		}
		if got := number(stats, "mem_clients_normal:"); got < held {
			t.Errorf("%d of %d bytes", got, held)
		}
		for range calls {
			c.reply()
		}
	})
}
