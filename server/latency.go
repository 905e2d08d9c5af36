package server

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// The events that LATENCY tells of, by Redis's names.
const (
	eventCommand     = "command"      // a command, or a batch with one, that is not flagged as fast
	eventFastCommand = "fast-command" // one that is, or a batch of such
	eventExpireCycle = "expire-cycle" // a sweep for dead keys
)

// latencySamples is how many samples of an event are kept, at most one for a second, as in Redis.
const latencySamples = 160

// A latencySample is the longest time that an event took within one second.
type latencySample struct {
	unix   int64 // s
	millis int64
}

// A latencyEvent is what is known of the events of one name.
type latencyEvent struct {
	name    string
	samples []latencySample // oldest first, at least one
	worst   int64           // ms, since the last reset
}

// latencyMonitor keeps what took latency-monitor-threshold or longer. It is the server's and has a lock: such events are
// rare.
type latencyMonitor struct {
	mu     sync.Mutex
	events map[string]*latencyEvent
}

// noteLatency tells LATENCY of a command, or a batch of them.
func (l *loop) noteLatency(slow bool, spent time.Duration) {
	event := eventFastCommand
	if slow {
		event = eventCommand
	}
	l.server.noteEvent(event, spent)
}

// noteEvent tells LATENCY of an event. Any goroutine may call it.
func (s *Server) noteEvent(event string, spent time.Duration) {
	threshold := s.config().LatencyMonitorThresholdMillis
	if threshold > 0 && spent.Milliseconds() >= threshold {
		s.latency.add(event, s.clock.now()/nanosPerSecond, spent.Milliseconds())
	}
}

func (m *latencyMonitor) add(event string, unix, millis int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.events == nil {
		m.events = make(map[string]*latencyEvent)
	}
	e := m.events[event]
	if e == nil {
		e = &latencyEvent{name: event}
		m.events[event] = e
	}
	e.worst = max(e.worst, millis)
	if n := len(e.samples); n > 0 && e.samples[n-1].unix == unix {
		e.samples[n-1].millis = max(e.samples[n-1].millis, millis)
		return
	}
	if len(e.samples) == latencySamples {
		e.samples = append(e.samples[:0], e.samples[1:]...)
	}
	e.samples = append(e.samples, latencySample{unix, millis})
}

// all returns copies of the events known, in alphabetical order.
func (m *latencyMonitor) all() []latencyEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	var events []latencyEvent
	for _, e := range m.events {
		events = append(events, e.copy())
	}
	slices.SortFunc(events, func(a, b latencyEvent) int { return strings.Compare(a.name, b.name) })
	return events
}

func (e *latencyEvent) copy() latencyEvent {
	return latencyEvent{e.name, slices.Clone(e.samples), e.worst}
}

// event returns a copy of what is known of an event, empty where there is none.
func (m *latencyMonitor) event(name string) latencyEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.events[name]; e != nil {
		return e.copy()
	}
	return latencyEvent{name: name}
}

// reset forgets an event and says whether there was one.
func (m *latencyMonitor) reset(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, found := m.events[name]
	delete(m.events, name)
	return found
}

// The picture that LATENCY GRAPH draws.
const (
	graphColumns = 80
	graphRows    = 4
)

// graph draws an event's samples as columns, each as high as it is long between the lowest and the highest, above its age.
func (e *latencyEvent) graph(nowUnix int64) string {
	samples := e.samples[max(0, len(e.samples)-graphColumns):]
	low, high := samples[0].millis, samples[0].millis
	for _, s := range samples {
		low, high = min(low, s.millis), max(high, s.millis)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s - high %d ms, low %d ms (all time high %d ms)\n", e.name, high, low, e.worst)
	b.WriteString(strings.Repeat("-", graphColumns) + "\n")
	for row := graphRows; row > 0; row-- {
		for _, s := range samples {
			height := int64(1)
			if high > low {
				height += (s.millis - low) * (graphRows - 1) / (high - low)
			}
			switch {
			case height > int64(row):
				b.WriteByte('|')
			case height == int64(row):
				b.WriteByte('#')
			default:
				b.WriteByte(' ')
			}
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	writeColumns(&b, samples, nowUnix)
	return b.String()
}

// writeColumns writes the samples' ages downwards, one character a row.
func writeColumns(b *strings.Builder, samples []latencySample, nowUnix int64) {
	ages, longest := make([]string, len(samples)), 0
	for i, s := range samples {
		ages[i] = shortAge(nowUnix - s.unix)
		longest = max(longest, len(ages[i]))
	}
	for row := range longest {
		for _, age := range ages {
			if row < len(age) {
				b.WriteByte(age[row])
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteByte('\n')
	}
}

// shortAge writes seconds in the largest unit that fits: 59s, 2m, 3h, 4d.
func shortAge(seconds int64) string {
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm", seconds/60)
	case seconds < 24*3600:
		return fmt.Sprintf("%dh", seconds/3600)
	}
	return fmt.Sprintf("%dd", seconds/(24*3600))
}

// latencyAdvice is what LATENCY DOCTOR has to say of each event.
var latencyAdvice = map[string]string{
	eventCommand: "Commands on very many keys (MGET and DEL, EXEC of many commands, scripts) stop their shards while they run: SLOWLOG GET names them.",
	eventFastCommand: "CL.THROTTLE and the other fast commands take well below a microsecond. Where a batch of them takes milliseconds the " +
		"process was not running: look for other programs on its cores, a CPU quota, swapping, or a stop of the virtual machine.",
	eventExpireCycle: "A sweep looks at a bounded number of keys. Where it takes milliseconds the process was not running: look for other " +
		"programs on its cores, a CPU quota, swapping, or a stop of the virtual machine.",
}

// report is what LATENCY DOCTOR answers.
func (m *latencyMonitor) report(thresholdMillis int64) string {
	if thresholdMillis == 0 {
		return "Latency is not monitored. CONFIG SET latency-monitor-threshold <milliseconds> begins it.\n"
	}
	events := m.all()
	if len(events) == 0 {
		return fmt.Sprintf("Nothing has taken %d ms or longer since latency is monitored.\n", thresholdMillis)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Events that took %d ms or longer:\n\n", thresholdMillis)
	for i, e := range events {
		n := len(e.samples)
		mean, deviation := e.spread()
		period := float64(e.samples[n-1].unix-e.samples[0].unix) / float64(n)
		fmt.Fprintf(&b, "%d. %s: %d latency spikes (average %.0fms, mean deviation %.0fms, period %.2f sec). Worst all time event %dms.\n",
			i+1, e.name, n, mean, deviation, period, e.worst)
		if advice := latencyAdvice[e.name]; advice != "" {
			fmt.Fprintf(&b, "   %s\n", advice)
		}
	}
	return b.String()
}

// spread returns the samples' mean and their mean deviation from it, in milliseconds.
func (e *latencyEvent) spread() (mean, deviation float64) {
	for _, s := range e.samples {
		mean += float64(s.millis) / float64(len(e.samples))
	}
	for _, s := range e.samples {
		deviation += math.Abs(float64(s.millis)-mean) / float64(len(e.samples))
	}
	return mean, deviation
}
