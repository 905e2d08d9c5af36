package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cellserver/cellserver/netio"
)

// scripted is a transport that reads the same input over and over and counts what is written.
type scripted struct {
	input   string
	written int
}

func (t *scripted) Read(p []byte) (int, error)      { return copy(p, t.input), nil }
func (t *scripted) Write(p []byte) (int, error)     { t.written += len(p); return len(p), nil }
func (t *scripted) Await(netio.Interest)            {}
func (t *scripted) Refuse(string)                   {}
func (t *scripted) Close()                          {}
func (t *scripted) Describe() (string, string, int) { return "", "", -1 }
func (t *scripted) IsUnix() bool                    { return true }

// newScriptedLoop returns a loop that nobody runs, with connections that send the same pipelines in every pass.
func newScriptedLoop(t testing.TB, connections, depth, keys int) (*loop, []*conn) {
	config := DefaultConfig()
	config.Bind, config.Port, config.Shards, config.IO = []string{"127.0.0.1"}, freePort(t), 1, netio.Goroutines
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.closeListeners)
	s.loops[0].loading = false
	var conns []*conn
	key := 0
	for range connections {
		var b strings.Builder
		for range depth {
			b.WriteString(encode("CL.THROTTLE", fmt.Sprintf("key:%012d", key%keys), "1000000000", "1000", "60"))
			key += 7919
		}
		conns = append(conns, s.newConn(&scripted{input: b.String()}))
	}
	return s.loops[0], conns
}

func runPass(l *loop, conns []*conn) {
	l.now = l.server.clock.now()
	for _, c := range conns {
		l.rouse(c)
	}
	for l.pass(); l.hasTurns(); {
		l.pass()
	}
}

// TestPassAllocatesNothing: a call costs no allocation from the read of its bytes to the write of its reply.
func TestPassAllocatesNothing(t *testing.T) {
	for _, depth := range []int{1, 16, 128, 600} { // the deepest takes several batches, and input has to wait
		l, conns := newScriptedLoop(t, 50, depth, 10_000)
		runPass(l, conns)
		if allocated := testing.AllocsPerRun(50, func() { runPass(l, conns) }); allocated != 0 {
			t.Errorf("depth %d: %v allocations in a pass", depth, allocated)
		}
		if written := conns[0].transport.(*scripted).written; written == 0 {
			t.Error("nothing was answered")
		}
	}
}

// BenchmarkPass measures a call on everything but the system calls.
func BenchmarkPass(b *testing.B) {
	for _, depth := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			l, conns := newScriptedLoop(b, 50, depth, 1_000_000)
			runPass(l, conns)
			b.ResetTimer()
			for range b.N {
				runPass(l, conns)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*50*depth), "ns/call")
		})
	}
}
