//go:build linux

package compat_test

import (
	"bufio"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// pingBound is how long a PING may take while others send rubbish, beyond what the machine itself delays. One in
	// latePingShare may take up to pingPatience: a machine with more to do than processors delays one process now and then
	// and not the other, by which its delay is measured.
	pingBound     = 100 * time.Millisecond
	latePingShare = 1000
	pingPatience  = 5 * time.Second
	// fuzzMemoryBound is how much memory the rubbish of all connections may cost at a time, in bytes: some 40 MB, and what a
	// script may add.
	fuzzMemoryBound = 256 << 20
	// fuzzers is how many connections send rubbish at a time.
	fuzzers = 12
)

// notFuzzed are the commands that do, when they are told to, what the test calls a failure: end the server, stop it for a
// time, close connections, lock the test out, or write files.
var notFuzzed = []string{"shutdown", "debug", "client|kill", "client|pause", "config|set", "config|rewrite", "acl|setuser", "acl|deluser",
	"acl|save", "acl|load", "save", "bgsave", "bgrewriteaof", "replicaof", "slaveof", "failover"}

// TestFuzzedConnections sends random bytes, random commands, torn ones and spoiled ones from several connections at once. The
// server may neither end nor hang nor grow, and a connection that behaves gets its answers in time.
func TestFuzzedConnections(t *testing.T) {
	lasting := 1500 * time.Millisecond
	if heavy {
		lasting = 20 * time.Second
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, frontEnd := range frontEnds {
		t.Run("io"+strings.Join(frontEnd, ""), func(t *testing.T) {
			p := start(t, append(slices.Clone(frontEnd), "--shards", "2")...)
			before := residentBytes(t, p.command.Process.Pid)
			names := commandNames(t, p)
			until := time.Now().Add(lasting)
			var all sync.WaitGroup
			for number := range fuzzers {
				f := fuzzer{grammar{rand.New(rand.NewPCG(seed, uint64(number)))}, names}
				all.Go(func() {
					for time.Now().Before(until) && !t.Failed() {
						f.converse(t, p.address)
					}
				})
			}
			var pings []time.Duration
			var slowestEcho time.Duration
			all.Go(func() { pings, slowestEcho = pingUntil(t, p.address, until) })
			all.Wait()
			select {
			case <-p.ended:
				t.Fatalf("the server ended: %v\n%.3000s", p.err, p.stderr)
			default:
			}
			grown := peakResidentBytes(t, p.command.Process.Pid) - before
			late, slowestPing := 0, time.Duration(0)
			for _, took := range pings {
				slowestPing = max(slowestPing, took)
				if took > pingBound+slowestEcho {
					late++
				}
			}
			t.Logf("slowest PING %v, slowest echo of the machine %v; memory grew by up to %d MiB", slowestPing, slowestEcho, grown>>20)
			if late > len(pings)/latePingShare || slowestPing > pingPatience {
				t.Errorf("%d of %d PINGs took long, up to %v, where the machine's own echo takes up to %v", late, len(pings), slowestPing, slowestEcho)
			}
			if grown > fuzzMemoryBound {
				t.Errorf("memory grew by %d MiB", grown>>20)
			}
			p.stop(syscall.SIGTERM) // what it wrote on stderr would show
		})
	}
}

// commandNames asks the server for its commands, so that one that is added is fuzzed too.
func commandNames(t *testing.T, p *process) (names []string) {
	t.Helper()
	all, err := goRedis(t, p, nil).Do(context.Background(), "COMMAND", "LIST").StringSlice()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		container, _, _ := strings.Cut(name, "|")
		if !slices.Contains(notFuzzed, name) && !slices.Contains(notFuzzed, container) {
			names = append(names, name)
		}
	}
	return names
}

// pingUntil sends PING after PING, and as often the same bytes to a server of the test's own, whose delay is the machine's.
func pingUntil(t *testing.T, address string, until time.Time) (pings []time.Duration, slowestEcho time.Duration) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Error(err)
		return nil, 0
	}
	defer echo.Close()
	go func() {
		if nc, err := echo.Accept(); err == nil {
			_, _ = io.Copy(nc, nc) // until the other side closes
		}
	}()
	measure := func(address string) func() time.Duration {
		nc, err := net.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			return func() time.Duration { return 0 }
		}
		t.Cleanup(func() { nc.Close() })
		in := bufio.NewReader(nc)
		return func() time.Duration {
			asked := time.Now()
			_ = nc.SetDeadline(asked.Add(patience))
			_, _ = io.WriteString(nc, "PING\r\n")
			if reply, err := in.ReadString('\n'); err != nil || !strings.HasSuffix(reply, "PONG\r\n") && reply != "PING\r\n" {
				t.Errorf("a PING gets %q, %v", reply, err)
			}
			return time.Since(asked)
		}
	}
	ping, own := measure(address), measure(echo.Addr().String())
	for time.Now().Before(until) && !t.Failed() {
		pings = append(pings, ping())
		slowestEcho = max(slowestEcho, own())
		time.Sleep(time.Millisecond)
	}
	return pings, slowestEcho
}

// A fuzzer makes up what a broken or hostile client sends.
type fuzzer struct {
	grammar
	names []string // of commands, "client|id" too
}

// converse opens a connection and sends rubbish, with or without reading what is answered, until it has enough or is cut.
func (f fuzzer) converse(t *testing.T, address string) {
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(time.Duration(1+f.IntN(300)) * time.Millisecond)) // ends the conversation if nothing else does
	if f.IntN(5) > 0 {
		go io.Copy(io.Discard, nc)
	}
	for range 1 + f.IntN(20) {
		if _, err := io.WriteString(nc, f.rubbish()); err != nil {
			return
		}
	}
}

func (f fuzzer) rubbish() string {
	switch f.IntN(6) {
	case 0:
		return f.bytes(1 + f.IntN(2000))
	case 1: // of the protocol's own bytes
		var b strings.Builder
		for range 1 + f.IntN(40) {
			b.WriteString(f.pick("*", "$", "\r\n", "\n", "1", "3", "-", "0", "9", "\"", "'", "\x00", "PING", "GET", " ", "+", "4294967296", "$5\r\nhello\r\n"))
		}
		return b.String()
	case 2: // torn
		pipeline := f.pipeline()
		return pipeline[:f.IntN(len(pipeline))]
	case 3: // damaged
		pipeline := []byte(f.pipeline())
		for range 1 + f.IntN(4) {
			pipeline[f.IntN(len(pipeline))] = byte(f.Uint32())
		}
		return string(pipeline)
	}
	return f.pipeline()
}

func (f fuzzer) bytes(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(f.Uint32())
	}
	return string(b)
}

// pipeline is some commands: of the grammar, and any others with arguments of all kinds.
func (f fuzzer) pipeline() string {
	var b strings.Builder
	for range 1 + f.IntN(30) {
		var words []string
		if f.oneIn(2) {
			for _, word := range f.command() {
				words = append(words, fill(word, nil)...)
			}
		} else {
			words = strings.Split(f.names[f.IntN(len(f.names))], "|")
			for range f.IntN(6) {
				words = append(words, f.argument())
			}
		}
		b.WriteString(encode(words...))
	}
	return b.String()
}

func (f fuzzer) argument() string {
	switch f.IntN(8) {
	case 0:
		return f.key()
	case 1:
		return f.pick("0", "1", "-1", "10", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e9", "+5", "007")
	case 2:
		return f.bytes(f.IntN(40))
	case 3:
		return strings.Repeat("x", 1<<f.IntN(17))
	case 4:
		return strings.ToUpper(f.pick("nx", "get", "match", "count", "type", "on", "off", "id", "keys", "async", "db", "replace", "prefix", "bcast"))
	case 5:
		return f.pick("*", "[", "k*", strings.Repeat("*a", 50), strings.Repeat("?", 100))
	}
	return f.pick("k1", "k2", "15", "30", "60")
}
