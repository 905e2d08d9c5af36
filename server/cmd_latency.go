package server

import (
	"slices"

	"github.com/cellserver/cellserver/resp"
)

// This file has LATENCY's subcommands; what they tell is kept by latencyMonitor and in every loop's statistics.

func latencyLatest(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	events := l.server.latency.all()
	w.Array(len(events))
	for _, e := range events {
		latest := e.samples[len(e.samples)-1]
		w.Array(4)
		w.BulkString(e.name)
		w.Int(latest.unix)
		w.Int(latest.millis)
		w.Int(e.worst)
	}
}

func latencyHistory(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	e := l.server.latency.event(string(args[2]))
	w.Array(len(e.samples))
	for _, s := range e.samples {
		w.Array(2)
		w.Int(s.unix)
		w.Int(s.millis)
	}
}

func latencyGraph(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	name := string(args[2])
	e := l.server.latency.event(name)
	if len(e.samples) == 0 {
		w.Error("ERR No samples available for event '" + name + "'")
		return
	}
	w.Verbatim("txt", e.graph(l.server.clock.now()/nanosPerSecond))
}

// latencyReset answers LATENCY RESET [event...] with how many events there were.
func latencyReset(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	m := &l.server.latency
	var names []string
	for _, name := range args[2:] {
		names = append(names, string(name))
	}
	if len(args) == 2 {
		for _, e := range m.all() {
			names = append(names, e.name)
		}
	}
	found := int64(0)
	for _, name := range names {
		if m.reset(name) {
			found++
		}
	}
	w.Int(found)
}

func latencyDoctor(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	w.Verbatim("txt", l.server.latency.report(l.server.config().LatencyMonitorThresholdMillis))
}

// latencyHistogram answers LATENCY HISTOGRAM [command...]: for each command called how often, and how many calls took up
// to so many microseconds. The name of a container stands for its subcommands.
func latencyHistogram(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	table := l.server.commands
	wanted := table.all
	if len(args) > 2 {
		wanted = nil
		for _, name := range args[2:] {
			if found := table.named(name); found != nil {
				wanted = append(append(wanted, found), found.subcommands...)
			}
		}
	}
	stats := l.collect().byCommand
	wanted = slices.DeleteFunc(slices.Clone(wanted), func(c *command) bool { return stats[c.index].latency == nil })
	w.Map(len(wanted))
	for _, c := range wanted {
		h := stats[c.index].latency
		var steps []int64
		h.cumulative(func(upToNanos int64, count uint64) { steps = append(steps, upToNanos/1000, int64(count)) })
		w.BulkString(c.fullName())
		w.Map(2)
		w.BulkString("calls")
		w.Int(int64(h.total))
		w.BulkString("histogram_usec")
		w.Map(len(steps) / 2)
		for _, n := range steps {
			w.Int(n)
		}
	}
}
