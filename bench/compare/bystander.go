package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// prepareLimit is how long an attack may take to be prepared.
	prepareLimit = time.Minute
	// beforeCalls is how long an attack goes on before the bystanders' calls count.
	beforeCalls = 500 * time.Millisecond
)

// measureBystander measures, for each attack and server, how long the calls of others take meanwhile.
func measureBystander(ctx context.Context, b bench) (string, error) {
	if err := pinProcess(b.clientCores); err != nil {
		return "", err
	}
	r := bystanderResults{samples: make(map[string]map[string][]latencies)}
	all := contenders(b.plan, b.binary, b.cellModule)
	for _, c := range all {
		r.servers = append(r.servers, c.name)
		r.samples[c.name] = make(map[string][]latencies)
	}
	for round := range b.rounds {
		for _, a := range b.attacks {
			for i := range all {
				c := all[(round+i)%len(all)]
				fmt.Fprintf(b.progress, "round %d of %d: %s, %s\n", round+1, b.rounds, a.name, c.name)
				measured, err := b.attackOne(ctx, c, a)
				if err != nil {
					return "", fmt.Errorf("%s, %s: %w", a.name, c.name, err)
				}
				r.samples[c.name][a.name] = append(r.samples[c.name][a.name], measured)
			}
		}
	}
	return formatBystander(b, r), nil
}

// attackOne measures one attack on a server of its own: what an attack leaves behind must not meet the next.
func (b bench) attackOne(ctx context.Context, c contender, a attack) (latencies, error) {
	s, err := startServer(ctx, c, b.serverCores, b.folder)
	if err != nil {
		return latencies{}, err
	}
	defer s.kill()
	if err := s.fill(ctx, b.keys); err != nil {
		return latencies{}, err
	}
	return b.callBeside(ctx, s, a)
}

// pinProcess confines the tool, and what it starts, to the cores.
func pinProcess(cores string) error {
	if output, err := exec.Command("taskset", "-a", "-c", "-p", cores, strconv.Itoa(os.Getpid())).CombinedOutput(); err != nil {
		return fmt.Errorf("taskset: %w: %s", err, output)
	}
	return nil
}

// callBeside measures calls while a server is attacked.
func (b bench) callBeside(ctx context.Context, s *server, a attack) (latencies, error) {
	attacking, stop := context.WithCancel(ctx)
	defer stop()
	attackers, err := startAttack(attacking, a, s.port)
	if err != nil {
		return latencies{}, err
	}
	measured, err := b.callAsBystanders(ctx, s)
	stop()
	_ = attackers.Wait() // it was killed
	return measured, err
}

// startAttack starts the attackers, in a process of their own that gives way to this one, and returns when they are ready.
func startAttack(ctx context.Context, a attack, port int) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// Of SCHED_IDLE, so that on the clients' core a bystander whose answer has come never waits for an attacker.
	command := exec.CommandContext(ctx, "chrt", "--idle", "0", self, attackName, a.name, strconv.Itoa(port))
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	ready := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(output).ReadString('\n') // nothing where it fails
		ready <- strings.TrimSpace(line)
	}()
	select {
	case line := <-ready:
		if line == attackReady {
			return command, sleep(ctx, beforeCalls)
		}
	case <-time.After(prepareLimit):
	}
	_ = command.Process.Kill()
	_ = command.Wait()
	return nil, fmt.Errorf("the attack %s could not be prepared", a.name)
}

// callAsBystanders has connections make calls at the plan's rate, each connection one at a time.
func (b bench) callAsBystanders(ctx context.Context, s *server) (latencies, error) {
	interval := time.Second * bystanders / time.Duration(b.rate)
	ends := time.Now().Add(time.Duration(b.seconds * float64(time.Second)))
	var waiting sync.WaitGroup
	var took [bystanders][]time.Duration
	var failed [bystanders]error
	for i := range bystanders {
		waiting.Go(func() {
			took[i], failed[i] = b.callSteadily(ctx, s, interval, ends)
		})
	}
	began := time.Now()
	waiting.Wait()
	all := steadyCalls{took: time.Since(began)}
	for i := range bystanders {
		if failed[i] != nil {
			return latencies{}, failed[i]
		}
		all.latencies = append(all.latencies, took[i]...)
	}
	return all.summary(), nil
}

// bystanders is how many connections make calls beside the attackers.
const bystanders = 50

// callSteadily makes calls on one connection, each at least an interval after the one before. One that is due before the one
// before it is answered counts from when it was due: its waiting is the server's doing. Where the client is late, that is not.
func (b bench) callSteadily(ctx context.Context, s *server, interval time.Duration, ends time.Time) (took []time.Duration, err error) {
	c, err := dial(ctx, s.port)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	due := time.Now().Add(time.Duration(rand.Int64N(int64(interval))))
	for due.Before(ends) {
		from := due
		if wait := time.Until(due); wait > 0 {
			if err := sleep(ctx, wait); err != nil {
				return nil, err
			}
			from = time.Now()
		}
		if _, err := c.do(s.request(s.scriptSHA, keyName(rand.IntN(b.keys)), lastingLimit)...); err != nil {
			return nil, err
		}
		took = append(took, time.Since(from))
		due = due.Add(interval)
	}
	return took, nil
}

// bystanderResults holds the latencies of each round, by server and attack.
type bystanderResults struct {
	servers []string // ours first
	samples map[string]map[string][]latencies
}

// formatBystander returns the report as markdown.
func formatBystander(b bench, r bystanderResults) string {
	var text strings.Builder
	writeHead(&text, b.setting, "A bystander's latency while others attack")
	fmt.Fprintf(&text, "\n## %d connections with %d calls a second together, %d keys; median of %d rounds, ms\n\n", bystanders, b.rate, b.keys, b.rounds)
	text.WriteString("| attack | server | p50 | p99 | p99.9 | longest | bar on p99 | verdict |\n")
	text.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n")
	for _, a := range b.attacks {
		for _, server := range r.servers {
			samples := r.samples[server][a.name]
			fmt.Fprintf(&text, "| %s | %s |", a.name, server)
			for _, metric := range latencyMetrics {
				fmt.Fprintf(&text, " %.2f |", medianOf(samples, metric)/1000)
			}
			limit, verdict := "", ""
			if a.bar > 0 && server == r.servers[0] {
				limit, verdict = strconv.FormatInt(a.bar.Milliseconds(), 10), "FAIL"
				if medianOf(samples, latencyMetrics[1]) <= micros(a.bar) {
					verdict = "pass"
				}
			}
			fmt.Fprintf(&text, " %s | %s |\n", limit, verdict)
		}
	}
	text.WriteString("\n## The attacks\n\n")
	for _, a := range b.attacks {
		fmt.Fprintf(&text, "- %s: %d clients, %s\n", a.name, a.clients, a.what)
	}
	return text.String()
}

// parseAttacks reads a list of names; an empty one means all attacks.
func parseAttacks(names string) (chosen []attack, err error) {
	if names == "" {
		return slices.Clone(attacks), nil
	}
	for name := range strings.SplitSeq(names, ",") {
		a, err := attackNamed(name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, a)
	}
	return chosen, nil
}
