package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

// lastingLimit lets every call on a key of a fill pass, and so change its TAT: a second for each, a million at once.
var lastingLimit = limit{maxBurst: 1_000_000, count: 1, periodSeconds: 1, quantity: 1}

// throttleReplyLines is how many lines a throttle reply has: its head and five integers.
const throttleReplyLines = 6

const (
	// awayLimit is how long the client may take from one look at its connection to the next before it counts as away: something
	// else had its core.
	awayLimit = 50 * time.Microsecond
	// fewInFlight is a number of calls that fit into the connection's buffers, so that no write waits for the server.
	fewInFlight = 500
)

// steadyCalls are calls that come at a fixed rate on one connection, each when it is due, whether or not those before it are answered:
// what waits while the server is away is counted with all of its waiting. While the client itself is away its clock stands still.
type steadyCalls struct {
	server *server
	keys   int
	rate   int // per second
	cores  string
	stop   atomic.Bool // no more are due

	latencies []time.Duration // by call; from when it was due, not from when it was sent
	away      time.Duration   // of the time that the calls took
	took      time.Duration
}

// run sends calls on random keys until it is told to stop, and returns when all are answered. It spins on a core of its own: a
// timer would be late by more than most calls take.
func (s *steadyCalls) run(ctx context.Context) error {
	if err := pinThread(s.cores); err != nil {
		return err
	}
	c, err := dial(ctx, s.server.port)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	return s.exchange(c.Conn.(*net.TCPConn))
}

func (s *steadyCalls) exchange(c *net.TCPConn) error {
	interval := time.Second / time.Duration(s.rate)
	var out []byte
	in := make([]byte, 64<<10)
	sent, lines := 0, 0
	began, before := time.Now(), time.Duration(0)
	for stopped := false; !stopped || len(s.latencies) < sent; stopped = stopped || s.stop.Load() {
		now := time.Since(began) - s.away
		if gap := now - before; gap > awayLimit && sent-len(s.latencies) < fewInFlight {
			s.away += gap
			now = before
		}
		before = now
		if !stopped && now >= time.Duration(sent)*interval {
			key := keyName(rand.IntN(s.keys))
			out = appendCommand(out[:0], s.server.request(s.server.scriptSHA, key, lastingLimit)...)
			if _, err := c.Write(out); err != nil {
				return err
			}
			sent++
		}
		n, err := readNow(c, in)
		if err != nil {
			return err
		}
		if n > 0 && lines == 0 && in[0] != '*' {
			return fmt.Errorf("%s: not a throttle reply: %q", s.server.name, in[:n])
		}
		for lines += bytes.Count(in[:n], []byte("\n")); lines >= throttleReplyLines; lines -= throttleReplyLines {
			s.latencies = append(s.latencies, time.Since(began)-s.away-time.Duration(len(s.latencies))*interval)
		}
	}
	s.took = time.Since(began)
	return nil
}

// latencies is how long calls took in one measurement.
type latencies struct {
	p50, p99, p999, max float64 // microseconds
	seconds             float64
	away                float64 // share of the time in which the client was away
}

// summary returns the percentiles, of at least one call.
func (s *steadyCalls) summary() latencies {
	slices.Sort(s.latencies)
	at := func(share float64) float64 { return micros(percentile(s.latencies, share)) }
	return latencies{at(0.5), at(0.99), at(0.999), at(1), s.took.Seconds(), s.away.Seconds() / s.took.Seconds()}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// percentile returns the least of the sorted values that so large a share of them does not exceed.
func percentile(sorted []time.Duration, share float64) time.Duration {
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}
