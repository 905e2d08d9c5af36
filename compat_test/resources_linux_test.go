package compat_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// abuseMemoryBound is how much memory hostile connections may cost, in bytes: the 256 MiB of replies that the server keeps
// for clients that do not read, and half as much again that is not collected yet.
const abuseMemoryBound = 256<<20 + 128<<20

// TestAbuseIsBounded: hundreds of hostile connections cost little memory and delay nobody.
func TestAbuseIsBounded(t *testing.T) {
	for _, frontEnd := range frontEnds {
		t.Run(strings.Join(frontEnd, ""), func(t *testing.T) {
			p := start(t, frontEnd...)
			before := residentBytes(t, p.command.Process.Pid)
			for i := range 200 {
				nc := p.dial()
				switch i % 3 {
				case 0:
					_, _ = io.WriteString(nc, "*3\r\n$3\r\nSET\r\n$500000000\r\n"+strings.Repeat("x", 1000))
				case 1: // never reads
					go io.WriteString(nc, strings.Repeat(encode("ECHO", strings.Repeat("x", 1000)), 5000))
				case 2:
					go trickle(nc, encode("CL.THROTTLE", "slow", "5", "100", "1"))
				}
			}
			honest := p.dial()
			in := bufio.NewReader(honest)
			var took []time.Duration
			for range 200 {
				asked := time.Now()
				_, _ = io.WriteString(honest, encode("PING"))
				if reply, err := readReply(in); reply != "PONG" {
					t.Fatal(reply, err)
				}
				took = append(took, time.Since(asked))
				time.Sleep(5 * time.Millisecond)
			}
			slices.Sort(took)
			slow := took[len(took)*9/10]
			grown := peakResidentBytes(t, p.command.Process.Pid) - before
			t.Logf("one PING in ten takes over %v; memory grew by up to %d MiB", slow, grown>>20)
			if slow > 100*time.Millisecond {
				t.Errorf("one PING in ten takes over %v", slow)
			}
			if grown > abuseMemoryBound {
				t.Errorf("memory grew by %d MiB", grown>>20)
			}
		})
	}
}

// trickle sends a command over and over, a byte at a time, until the connection is closed.
func trickle(nc net.Conn, command string) {
	for i := 0; ; i++ {
		if _, err := io.WriteString(nc, command[i%len(command):][:1]); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestIdleCostsNothing: a server that nobody asks uses next to no processor time, with keys and connections.
func TestIdleCostsNothing(t *testing.T) {
	for _, frontEnd := range frontEnds {
		t.Run(strings.Join(frontEnd, ""), func(t *testing.T) {
			p := start(t, append(frontEnd, "--shards", "2")...)
			client := goRedis(t, p, nil)
			for i := range 1000 {
				throttle(t, client, fmt.Sprint("key", i), 100, 1, 3600)
			}
			time.Sleep(200 * time.Millisecond)
			const span = 2 * time.Second
			before := processTime(t, p.command.Process.Pid)
			time.Sleep(span)
			if used := processTime(t, p.command.Process.Pid) - before; used > span/50 {
				t.Errorf("used %v of processor time in %v", used, span)
			}
		})
	}
}

// processTime returns the processor time of a process.
func processTime(t *testing.T, pid int) (total time.Duration) {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		schedstat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, thread.Name()))
		if err != nil {
			continue // it has ended
		}
		var nanos int64
		if _, err := fmt.Sscan(string(schedstat), &nanos); err != nil {
			t.Fatal(err)
		}
		total += time.Duration(nanos)
	}
	return total
}

// TestMemoryPerKey fills the server as a client would and looks at what the kernel says that it holds.
func TestMemoryPerKey(t *testing.T) {
	keys, most := 500_000, 64 // bytes; few keys carry the server's own growth
	if heavy {
		keys, most = 10_000_000, 48
	}
	p := start(t, "--shards", "1")
	before := residentBytes(t, p.command.Process.Pid)
	nc := p.dial()
	go func() {
		out := bufio.NewWriterSize(nc, 1<<16)
		defer out.Flush()
		for i := range uint64(keys) {
			fmt.Fprintf(out, "*3\r\n$3\r\nSET\r\n$16\r\n%016x\r\n$19\r\n4102444800000000000\r\n", i*2654435761)
		}
	}()
	in := bufio.NewReaderSize(nc, 1<<16)
	for range keys {
		if reply, err := readReply(in); reply != "OK" {
			t.Fatal(reply, err)
		}
	}
	perKey := float64(residentBytes(t, p.command.Process.Pid)-before) / float64(keys)
	t.Logf("%.1f bytes for each of %d keys", perKey, keys)
	if perKey > float64(most) {
		t.Errorf("%.1f bytes a key", perKey)
	}
}

// residentBytes returns the memory of a process, by Linux's account.
func residentBytes(t *testing.T, pid int) int {
	t.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize()
}

// peakResidentBytes returns the most that residentBytes has ever been.
func peakResidentBytes(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var kibibytes int
	if _, err := fmt.Sscan(peak, &kibibytes); err != nil {
		t.Fatal(err)
	}
	return kibibytes << 10
}
