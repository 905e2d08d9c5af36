package server

import (
	"strings"
	"testing"
	"time"
)

// TestLatencyMonitor: an event has at most one sample for a second, the longest, and the last 160 of them.
func TestLatencyMonitor(t *testing.T) {
	var m latencyMonitor
	for i := range int64(latencySamples + 1) {
		m.add(eventCommand, 1000+i, 5)
		m.add(eventCommand, 1000+i, 7)
		m.add(eventCommand, 1000+i, 6)
	}
	m.add(eventExpireCycle, 1000, 99)
	e := m.event(eventCommand)
	if len(e.samples) != latencySamples || e.samples[0] != (latencySample{1001, 7}) || e.worst != 7 {
		t.Errorf("%d samples from %v, worst %d", len(e.samples), e.samples[0], e.worst)
	}
	if all := m.all(); len(all) != 2 || all[0].name != eventCommand || all[1].worst != 99 {
		t.Errorf("%v", all)
	}
	if !m.reset(eventCommand) || m.reset(eventCommand) || len(m.event(eventCommand).samples) != 0 {
		t.Error("reset")
	}
}

// TestLatencyEvents: a slow command is an event, from the threshold on.
func TestLatencyEvents(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.LatencyMonitorThresholdMillis, c.EnableDebugCommand = 1000, debugForAll
		})
		c := dial(t, s)
		dialogue{{"DEBUG SLEEP 0.02", "OK"}, {"LATENCY LATEST", "[]"}, {"LATENCY DOCTOR", `"Nothing has taken 1000 ms*"`}}.run(t, c)
		dialogue{
			{"CONFIG SET latency-monitor-threshold 20", "OK"},
			{"DEBUG SLEEP 0.02", "OK"},
			{"LATENCY LATEST", `[*["command" * * *]*]`},
			{"LATENCY HISTORY command", "[[* *]*]"},
			{"LATENCY GRAPH command", `"command - high * ms, low * ms (all time high * ms)\n----*#*s*\n"`},
			{"LATENCY DOCTOR", `"*. command: 1 latency spikes *"`},
			{"LATENCY RESET command", "1"},
			{"LATENCY HISTORY command", "[]"},
		}.run(t, c)
	})
}

func TestLatencyGraph(t *testing.T) {
	e := latencyEvent{eventCommand, []latencySample{{0, 1}, {86400 * 2, 4}, {86400*3 - 3600, 2}, {86400*3 - 60, 3}, {86400*3 - 1, 1}}, 9}
	want := "command - high 4 ms, low 1 ms (all time high 9 ms)\n" + strings.Repeat("-", 80) + `
 #   
 | # 
 ||| 
#|||#

31111
ddhms
`
	want = strings.Replace(want, " | # \n ||| \n#|||#", " | # \n |#| \n#|||#", 1)
	if got := e.graph(86400 * 3); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for seconds, want := range map[int64]string{0: "0s", 59: "59s", 60: "1m", 3599: "59m", 3600: "1h", 86399: "23h", 86400: "1d"} {
		if got := shortAge(seconds); got != want {
			t.Errorf("%d s is %s, want %s", seconds, got, want)
		}
	}
}

// TestStopOfAllLoops: DEBUG SLEEP stops every connection's loop.
func TestStopOfAllLoops(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.EnableDebugCommand = debugForLocal
		})
		sleeper, others := dial(t, s), []*client{dial(t, s), dial(t, s), dial(t, s), dial(t, s)}
		sleeper.run("PING")
		started := time.Now()
		sleeper.send(encode("DEBUG", "SLEEP", "0.3"))
		time.Sleep(100 * time.Millisecond)
		for _, other := range others {
			other.run("CL.THROTTLE k 5 1 1")
		}
		if waited := time.Since(started); waited < 300*time.Millisecond {
			t.Errorf("answered after %v", waited)
		}
		sleeper.reply()
	})
}
