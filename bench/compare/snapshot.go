package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	// askEvery is how often a server under calls is asked whether it is still saving: seldom, for that is work for it too.
	askEvery = 100 * time.Millisecond
	// lookEvery is how often memory is looked at.
	lookEvery = 20 * time.Millisecond
	// snapshotBar is how many times its p99 without a snapshot ours may be with one.
	snapshotBar = 2.0
)

// without is the phase in which nothing is saved; the others have the name of the command that begins them.
const without = "nothing"

var phases = []string{without, "BGSAVE", "BGREWRITEAOF"}

// grown is the memory of a server at the beginning of a phase and the most that came on top, in bytes.
type grown struct {
	before, growth int64
}

// snapshotResults holds the latencies of each round, and the memory, by server and phase.
type snapshotResults struct {
	servers []string // ours first
	samples map[string]map[string][]latencies
	memory  map[string]map[string]grown
}

// measureSnapshot measures the latency of calls while the server saves its keys, and without. Memory is looked at in a
// pass of its own before the rounds, since that costs time which calls would have to wait.
func measureSnapshot(ctx context.Context, b bench) (string, error) {
	r := snapshotResults{samples: make(map[string]map[string][]latencies), memory: make(map[string]map[string]grown)}
	var servers []*server
	for _, c := range contenders(b.plan, b.binary, b.cellModule) {
		fmt.Fprintf(b.progress, "starting and filling %s\n", c.name)
		s, err := b.startFilled(ctx, c)
		if err != nil {
			return "", err
		}
		defer s.stop()
		servers, r.servers = append(servers, s), append(r.servers, s.name)
		r.samples[s.name], r.memory[s.name] = make(map[string][]latencies), make(map[string]grown)
		for _, phase := range phases {
			if r.memory[s.name][phase], err = b.watchMemory(ctx, s, phase); err != nil {
				return "", err
			}
		}
	}
	for round := range b.rounds {
		for i := range servers {
			s := servers[(round+i)%len(servers)]
			for _, phase := range phases {
				fmt.Fprintf(b.progress, "round %d of %d: %s, %s\n", round+1, b.rounds, s.name, phase)
				measured, err := b.callDuring(ctx, s, phase)
				if err != nil {
					return "", err
				}
				r.samples[s.name][phase] = append(r.samples[s.name][phase], measured)
			}
			if err := s.settle(ctx); err != nil {
				return "", err
			}
		}
	}
	return formatSnapshot(b, r), nil
}

// startFilled starts a server with all keys and a log that is synced every second.
func (b bench) startFilled(ctx context.Context, c contender) (*server, error) {
	c.argv = append(c.argv[:len(c.argv):len(c.argv)], "--auto-aof-rewrite-percentage", "0")
	c.log = everySecond
	s, err := startServer(ctx, c, b.serverCores, b.folder)
	if err != nil {
		return nil, err
	}
	if err := b.fillAndLog(ctx, s); err != nil {
		s.stop()
		return nil, fmt.Errorf("%s: %w\n%s", c.name, err, s.logTail())
	}
	return s, nil
}

func (b bench) fillAndLog(ctx context.Context, s *server) error {
	if err := s.fill(ctx, b.keys); err != nil {
		return err
	}
	if err := s.waitKeys(ctx, b.keys); err != nil {
		return err
	}
	if _, err := s.call(ctx, "CONFIG", "SET", "appendonly", "yes"); err != nil {
		return err
	}
	if err := s.waitSaved(ctx, askEvery); err != nil {
		return err
	}
	return s.waitQuiet(ctx)
}

// callDuring makes calls for as long as the phase takes.
func (b bench) callDuring(ctx context.Context, s *server, phase string) (latencies, error) {
	calls := &steadyCalls{server: s, keys: b.keys, rate: b.rate, cores: b.clientCores}
	ended := make(chan error, 1)
	go func() { ended <- calls.run(ctx) }()
	err := b.pass(ctx, s, phase)
	calls.stop.Store(true)
	if callErr := <-ended; err == nil {
		err = callErr
	}
	if err != nil {
		return latencies{}, err
	}
	return calls.summary(), nil
}

// pass returns when the phase is over. One without a snapshot is asked as often whether it saves.
func (b bench) pass(ctx context.Context, s *server, phase string) error {
	if phase != without {
		_, err := s.save(ctx, phase, askEvery)
		return err
	}
	for end := time.Now().Add(time.Duration(b.seconds * float64(time.Second))); time.Now().Before(end); {
		if _, err := s.saving(ctx); err != nil {
			return err
		}
		if err := sleep(ctx, askEvery); err != nil {
			return err
		}
	}
	return nil
}

// watchMemory looks how the memory of a server grows during a phase, under calls.
func (b bench) watchMemory(ctx context.Context, s *server, phase string) (grown, error) {
	before, err := s.resident()
	if err != nil {
		return grown{}, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	most := make(chan int64, 1)
	go func() {
		top := before
		for sleep(watching, lookEvery) == nil {
			// What cannot be read now may be read next time.
			if bytes, err := s.residentWithChildren(); err == nil {
				top = max(top, bytes)
			}
		}
		most <- top
	}()
	if _, err := b.callDuring(ctx, s, phase); err != nil {
		return grown{}, err
	}
	stop()
	return grown{before: before, growth: <-most - before}, nil
}

var latencyMetrics = []func(latencies) float64{
	func(l latencies) float64 { return l.p50 },
	func(l latencies) float64 { return l.p99 },
	func(l latencies) float64 { return l.p999 },
	func(l latencies) float64 { return l.max },
}

// formatSnapshot returns the report as markdown.
func formatSnapshot(b bench, r snapshotResults) string {
	var text strings.Builder
	writeHead(&text, b.setting, "Latency while the keys are saved")
	fmt.Fprintf(&text, "\n## Latency of calls, %d a second on %d keys, log synced every second; median of %d rounds\n\n", b.rate, b.keys, b.rounds)
	text.WriteString("| server | meanwhile | p50 µs | p99 µs | p99.9 µs | longest µs | seconds | client away |\n")
	text.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, server := range r.servers {
		for _, phase := range phases {
			samples := r.samples[server][phase]
			fmt.Fprintf(&text, "| %s | %s |", server, phase)
			for _, metric := range latencyMetrics {
				fmt.Fprintf(&text, " %.0f |", medianOf(samples, metric))
			}
			fmt.Fprintf(&text, " %.1f | %.1f%% |\n", medianOf(samples, func(l latencies) float64 { return l.seconds }),
				100*medianOf(samples, func(l latencies) float64 { return l.away }))
		}
	}

	fmt.Fprintf(&text, "\n## As a ratio of the same server saving nothing, median [range] of %d rounds\n\n", b.rounds)
	text.WriteString("| server | meanwhile | p50 | p99 | p99.9 | longest | bar on p99 | verdict |\n")
	text.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n")
	for _, server := range r.servers {
		for _, phase := range phases[1:] {
			fmt.Fprintf(&text, "| %s | %s |", server, phase)
			writeLatencyRatios(&text, r.samples[server][phase], r.samples[server][without])
			limit, verdict := "", ""
			if server == r.servers[0] {
				limit, verdict = formatRatio(snapshotBar), "FAIL"
				if ratioOf(r.samples[server][phase], r.samples[server][without], latencyMetrics[1]).median <= snapshotBar {
					verdict = "pass"
				}
			}
			fmt.Fprintf(&text, " %s | %s |\n", limit, verdict)
		}
	}
	writeBesideReferences(&text, r, b.rounds)
	writeMemory(&text, r)
	return text.String()
}

func writeLatencyRatios(text *strings.Builder, samples, references []latencies) {
	for _, metric := range latencyMetrics {
		fmt.Fprintf(text, " %v |", ratioOf(samples, references, metric))
	}
}

func writeBesideReferences(text *strings.Builder, r snapshotResults, rounds int) {
	fmt.Fprintf(text, "\n## %s as a ratio of each reference doing the same, median [range] of %d rounds\n\n", r.servers[0], rounds)
	text.WriteString("| reference | meanwhile | p50 | p99 | p99.9 | longest |\n")
	text.WriteString("| --- | --- | ---: | ---: | ---: | ---: |\n")
	for _, reference := range r.servers[1:] {
		for _, phase := range phases {
			fmt.Fprintf(text, "| %s | %s |", reference, phase)
			writeLatencyRatios(text, r.samples[r.servers[0]][phase], r.samples[reference][phase])
			text.WriteString("\n")
		}
	}
}

func writeMemory(text *strings.Builder, r snapshotResults) {
	text.WriteString("\n## Memory under the same calls, one pass\n\n")
	text.WriteString("| server | meanwhile | resident before, MB | most on top, children included, MB |\n")
	text.WriteString("| --- | --- | ---: | ---: |\n")
	for _, server := range r.servers {
		for _, phase := range phases {
			m := r.memory[server][phase]
			fmt.Fprintf(text, "| %s | %s | %.0f | %.1f |\n", server, phase, float64(m.before)/1e6, float64(m.growth)/1e6)
		}
	}
}
