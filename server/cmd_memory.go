package server

import (
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/cellserver/cellserver/resp"
)

// This file has MEMORY's subcommands on the whole server. MEMORY USAGE, on a key, is with the commands on keys.

// memoryStats answers MEMORY STATS with Redis's fields.
func memoryStats(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	t, m, watch := l.collect(), readMemory(), &l.server.memory
	watch.look(m.allocated)
	peak, data := watch.peak.Load(), min(uint64(t.bytes), m.allocated)
	keys := 0
	for _, n := range t.keys {
		keys += n
	}
	quotient := func(part, whole uint64) float64 { return float64(part) / float64(max(whole, 1)) }
	fields := []struct {
		name  string
		value any // int64 or float64
	}{
		{"peak.allocated", int64(peak)},
		{"total.allocated", int64(m.allocated)},
		{"startup.allocated", int64(watch.startup)},
		{"replication.backlog", int64(0)},
		{"clients.slaves", int64(0)},
		{"clients.normal", int64(t.clientBytes)},
		{"cluster.links", int64(0)},
		{"aof.buffer", int64(0)},
		{"lua.caches", int64(t.scriptBytes)},
		{"functions.caches", int64(0)},
		{"overhead.total", int64(m.allocated - data)},
		{"keys.count", int64(keys)},
		{"keys.bytes-per-key", int64(t.bytes / max(keys, 1))},
		{"dataset.bytes", int64(data)},
		{"dataset.percentage", 100 * quotient(data, m.allocated)},
		{"peak.percentage", 100 * quotient(m.allocated, peak)},
		{"allocator.allocated", int64(m.allocated)},
		{"allocator.active", int64(m.active)},
		{"allocator.resident", int64(m.mapped)},
		{"allocator-fragmentation.ratio", quotient(m.active, m.allocated)},
		{"allocator-fragmentation.bytes", excess(m.active, m.allocated)},
		{"allocator-rss.ratio", quotient(m.mapped, m.active)},
		{"allocator-rss.bytes", excess(m.mapped, m.active)},
		{"rss-overhead.ratio", quotient(m.resident, m.mapped)},
		{"rss-overhead.bytes", excess(m.resident, m.mapped)},
		{"fragmentation", quotient(m.resident, m.allocated)},
		{"fragmentation.bytes", excess(m.resident, m.allocated)},
	}
	w.Map(len(fields))
	for _, field := range fields {
		w.BulkString(field.name)
		switch value := field.value.(type) {
		case int64:
			w.Int(value)
		case float64:
			w.Double(value)
		}
	}
}

// What MEMORY DOCTOR finds worth telling.
const (
	doctorLeastBytes = 64 << 20 // below that much in use, proportions say nothing
	doctorRatio      = 2.0      // resident memory to what is used; the collector's own room is within it
)

func memoryDoctor(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	t, m := l.collect(), readMemory()
	w.Verbatim("txt", diagnose(m, uint64(t.bytes), l.server.memory.peak.Load()))
}

func diagnose(m memoryUse, data, peak uint64) string {
	if m.allocated < doctorLeastBytes {
		return fmt.Sprintf("%s are in use, too little to find anything wrong with.\n", human(m.allocated))
	}
	var findings []string
	if float64(m.resident) > doctorRatio*float64(m.allocated) {
		findings = append(findings, fmt.Sprintf("The process holds %s of main memory and uses %s. After many keys have gone that is what "+
			"was not given back yet: MEMORY PURGE does it now.", human(m.resident), human(m.allocated)))
	}
	if float64(peak) > doctorRatio*float64(m.allocated) {
		findings = append(findings, fmt.Sprintf("At some time %s were in use, now it is %s.", human(peak), human(m.allocated)))
	}
	if float64(m.allocated) > doctorRatio*float64(data) {
		findings = append(findings, fmt.Sprintf("The keys take %s of the %s in use. The rest is buffers of connections (CLIENT LIST tells "+
			"of each) and garbage to be collected.", human(data), human(m.allocated)))
	}
	if len(findings) == 0 {
		return "Nothing is wrong with the memory.\n"
	}
	return strings.Join(findings, "\n") + "\n"
}

// memoryPurge collects garbage and gives unused memory back to the system. The connection waits for it, and nobody else.
func memoryPurge(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	l.inSteps(c, args, w, &purging{})
}

type purging struct{ begun, done bool }

// step has a goroutine do it, which may take some 100 ms, and leaves the connection alone until then.
func (t *purging) step(l *loop, c *conn, _ [][]byte, _ *resp.Writer, until time.Duration) (done bool) {
	switch {
	case until == atOnce:
		debug.FreeOSMemory()
		return true
	case !t.begun:
		t.begun, c.waiting = true, true
		c.updateInterest()
		go func() {
			debug.FreeOSMemory()
			l.post(&envelope{deliver: func(l *loop) { t.end(l, c) }})
		}()
	}
	return t.done
}

// end has the connection go on.
func (t *purging) end(l *loop, c *conn) {
	if !c.closed {
		t.done, c.waiting = true, false
		c.updateInterest()
		l.requeue(c)
	}
}

func (t *purging) reply(w *resp.Writer) { w.OK() }

func (t *purging) gathered() *gathering { return nil }

// memoryMallocStats answers with all that the Go runtime tells about its memory.
func memoryMallocStats(_ *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	var samples []metrics.Sample
	for _, description := range metrics.All() {
		isMemory := strings.HasPrefix(description.Name, "/memory/") || strings.HasPrefix(description.Name, "/gc/")
		if isMemory && description.Kind == metrics.KindUint64 {
			samples = append(samples, metrics.Sample{Name: description.Name})
		}
	}
	metrics.Read(samples)
	var b strings.Builder
	for _, sample := range samples {
		fmt.Fprintf(&b, "%-52s %d\n", sample.Name, sample.Value.Uint64())
	}
	w.Verbatim("txt", b.String())
}
