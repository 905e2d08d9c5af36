package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cellserver/cellserver/internal/realredis"
)

// requireTools ends a test that needs Redis's programs where they are missing.
func requireTools(t *testing.T) {
	t.Helper()
	if err := checkTools(); err != nil {
		realredis.Missing(t, err)
	}
}

// luaServer starts a plain Redis with gcra.lua loaded, on core 0.
func luaServer(t *testing.T) *server {
	t.Helper()
	requireTools(t)
	lua := contenders(plan{references: []string{redisLua}}, "", "")[1]
	s, err := startServer(t.Context(), lua, "0", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

func (s *server) mustCall(t *testing.T, arguments ...string) string {
	t.Helper()
	reply, err := s.call(t.Context(), arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// The emission interval of this story is an hour, so that the seconds it takes to tell are lost in the rounding.
func TestScriptReplies(t *testing.T) {
	s := luaServer(t)
	for i, step := range []struct {
		arguments string // key, max_burst, count, period, quantity
		want      [5]int64
	}{
		{"a 2 1 3600 0", [5]int64{0, 3, 3, -1, 0}}, // a look at a full bucket
		{"a 2 1 3600 1", [5]int64{0, 3, 2, -1, 3600}},
		{"a 2 1 3600 1", [5]int64{0, 3, 1, -1, 7200}},
		{"a 2 1 3600 2", [5]int64{1, 3, 1, 3600, 7200}}, // one too many for now
		{"a 2 1 3600 1", [5]int64{0, 3, 0, -1, 10800}},  // and it took nothing
		{"a 2 1 3600 1", [5]int64{1, 3, 0, 3600, 10800}},
		{"a 2 1 3600 3", [5]int64{1, 3, 0, 10800, 10800}},
		{"a 2 1 3600 4", [5]int64{1, 3, 0, -1, 10800}}, // more than the bucket ever holds
		{"a 2 1 3600 0", [5]int64{0, 3, 0, -1, 10800}},
		{"b 2 1 3600 3", [5]int64{0, 3, 0, -1, 10800}}, // another key, the whole bucket at once
		{"b 5 1 3600 1", [5]int64{0, 6, 2, -1, 14400}}, // a wider limit goes on from the same TAT
		{"c -1 1 3600 1", [5]int64{1, 0, 0, -1, 0}},    // a limit of 0 refuses everything
		{"d 0 7 25200 1", [5]int64{0, 1, 0, -1, 3600}}, // count and period share out to the same interval
		{"d 0 7 25200 1", [5]int64{1, 1, 0, 3600, 3600}},
		{"e 100 1000 60 1", [5]int64{0, 101, 100, -1, 1}}, // the load's own limit
	} {
		arguments := strings.Fields(step.arguments)
		call := append([]string{"evalsha", s.scriptSHA, "1"}, arguments...)
		got, err := parseThrottleReply(s.mustCall(t, call...))
		if err != nil || got != step.want {
			t.Errorf("step %d, %s: got %v, %v, want %v", i, step.arguments, got, err, step.want)
		}
	}
	if reply := s.mustCall(t, "EXISTS", "c"); reply != "0" {
		t.Error("a denied call created its key")
	}
}

// What is stored is the TAT in microseconds, with all of its digits, under a TTL that ends with it.
func TestScriptStoresTAT(t *testing.T) {
	s := luaServer(t)
	before := time.Now().UnixMicro()
	s.mustCall(t, "evalsha", s.scriptSHA, "1", "a", "0", "1", "3600", "1")
	after := time.Now().UnixMicro()

	const hourMicros = 3600 * 1_000_000
	tat, err := strconv.ParseInt(s.mustCall(t, "GET", "a"), 10, 64)
	if err != nil || tat < before+hourMicros || tat > after+hourMicros {
		t.Errorf("stored TAT %d, %v, want %d to %d", tat, err, before+hourMicros, after+hourMicros)
	}
	expiry, err := strconv.ParseInt(s.mustCall(t, "PEXPIRETIME", "a"), 10, 64)
	if early, late := tat/1000-2, tat/1000+2; err != nil || expiry < early || expiry > late {
		t.Errorf("expiry at %d ms, %v, want %d to %d", expiry, err, early, late)
	}
}

func TestScriptRecovers(t *testing.T) {
	s := luaServer(t)
	// 2 a second, no burst: an emission interval of 500 ms.
	call := []string{"evalsha", s.scriptSHA, "1", "a", "0", "2", "1", "1"}
	if got := s.mustCall(t, call...); got != "0\n1\n0\n-1\n1" {
		t.Fatalf("first call: %q", got)
	}
	if got := s.mustCall(t, call...); got != "1\n1\n0\n1\n1" {
		t.Fatalf("call within the interval: %q", got)
	}
	time.Sleep(510 * time.Millisecond)
	if got := s.mustCall(t, call...); got != "0\n1\n0\n-1\n1" {
		t.Fatalf("call after the interval: %q", got)
	}
}

// A run in miniature: redis-lua against itself, so that the true ratio is 1.
func TestCompareMiniature(t *testing.T) {
	requireTools(t)
	one := contenders(plan{references: []string{redisLua}}, "", "")[1]
	two := one
	one.name, two.name = "one", "two"
	l := load{depth: 16, clients: 10}
	p := plan{mode: mode{rounds: 1, seconds: 0.1, keys: 10_000}, loads: []load{l}, serverCores: "0", clientCores: "0"}
	r, err := compare(t.Context(), p, []contender{one, two}, t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range r.servers {
		if n := len(r.samples[l][name]); n != 1 {
			t.Fatalf("%s: %d samples of one round", name, n)
		}
		s := r.samples[l][name][0]
		if s.cpuMicrosPerRequest < 0.5 || s.cpuMicrosPerRequest > 500 {
			t.Errorf("%s: %.3f µs of CPU per request", name, s.cpuMicrosPerRequest)
		}
		if s.coreBusy <= 0 || s.coreBusy > 1.2 {
			t.Errorf("%s: %.2f of one core busy", name, s.coreBusy)
		}
		if s.p50Micros <= 0 || s.p99Micros < s.p50Micros {
			t.Errorf("%s: p50 %.0f µs, p99 %.0f µs", name, s.p50Micros, s.p99Micros)
		}
	}
	if cpu := r.ratio(l, "one", "two", cpuMicrosPerRequest).median; cpu < 0.4 || cpu > 2.5 {
		t.Errorf("a server takes %.2f times the CPU of its twin", cpu)
	}
	t.Log("\n" + formatReport(nil, r, nil))
}

func TestServerStops(t *testing.T) {
	s := luaServer(t)
	s.stop()
	select {
	case <-s.exited:
	default:
		t.Error("stop returned before the process was gone")
	}
	if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port)); err == nil {
		conn.Close()
		t.Error("a stopped server accepts")
	}
	s.stop() // the second time does nothing
}

// What does not come up is an error with the server's own words.
func TestStartServerRefuses(t *testing.T) {
	requireTools(t)
	redis := contenders(plan{references: []string{redisLua}}, "", "")[1].argv
	for _, test := range []struct {
		contender contender
		want      string
	}{
		{contender{name: "bad option", argv: append(redis[:len(redis):len(redis)], "--nonsense", "1")}, "nonsense"},
		{contender{name: "bad script", argv: redis, script: "return ("}, "Error compiling script"},
		{contender{name: "wrong reply", argv: redis, script: "return 'OK'"}, "not the five integers"},
		{contender{name: "no such command", argv: redis}, "unknown command"},
		{contender{name: "no log", argv: redis, script: "return {0,0,0,0,0}", log: always}, "not in the log"},
	} {
		s, err := startServer(t.Context(), test.contender, "0", t.TempDir())
		if err == nil {
			s.stop()
			t.Errorf("%s: started", test.contender.name)
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %q does not say %q", test.contender.name, err, test.want)
		}
	}
}

// Ctrl-C in mid-measurement ends it at once.
func TestCompareCancelled(t *testing.T) {
	requireTools(t)
	lua := contenders(plan{references: []string{redisLua}}, "", "")[1]
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	p := plan{mode: mode{rounds: 100, seconds: 10, keys: 10_000}, loads: []load{{1, 1}}, serverCores: "0", clientCores: "0"}
	if _, err := compare(ctx, p, []contender{lua}, t.TempDir(), t.Output()); err == nil {
		t.Error("a cancelled run returned results")
	}
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("it took %v to stop", took)
	}
}
