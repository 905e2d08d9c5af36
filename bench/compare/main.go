package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	// Servers are stopped by deferred calls, so an interrupt has to unwind instead of killing.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv("REDIS_CELL_SO"), os.Stdout, os.Stderr)
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	cancel()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// bench is what a measurement has to work with.
type bench struct {
	plan
	binary     string // of cellserver
	cellModule string // redis-cell's shared object, or empty
	folder     string // of this run, on the disk to use
	setting    []fact
	progress   io.Writer // hears what goes on meanwhile
}

// run is the tool, from the arguments to the report on stdout; progress hears what goes on meanwhile.
func run(ctx context.Context, arguments []string, cellModule string, stdout, progress io.Writer) error {
	if len(arguments) > 0 && arguments[0] == attackName {
		return runAttack(ctx, arguments[1:])
	}
	p, err := parsePlan(arguments, cellModule)
	if err != nil {
		return err
	}
	if err := checkTools(); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(p.dir, "cellserver-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)

	binary, err := cellserverBinary(ctx, p.cellserver, folder)
	if err != nil {
		return err
	}
	if cellModule != "" {
		if cellModule, err = filepath.Abs(cellModule); err != nil {
			return err
		}
	}
	setting := describeSetting(p, binary, cellModule, arguments, time.Now())
	report, err := p.measure(ctx, bench{p, binary, cellModule, folder, setting, progress})
	if err != nil {
		return err
	}
	if _, err := io.WriteString(stdout, report); err != nil {
		return err
	}
	if p.out == "" {
		return nil
	}
	return os.WriteFile(p.out, []byte(report), 0o644)
}

// measureThroughput measures every load on every server.
func measureThroughput(ctx context.Context, b bench) (string, error) {
	r, err := compare(ctx, b.plan, contenders(b.plan, b.binary, b.cellModule), b.folder, b.progress)
	if err != nil {
		return "", err
	}
	return formatReport(b.setting, r, barsFor(b.shards, b.references)), nil
}

// checkTools reports the first tool that is missing, before anything is built or started.
func checkTools() error {
	for _, tool := range []string{"taskset", "chrt", "redis-server", "redis-benchmark"} {
		if _, err := exec.LookPath(tool); err != nil {
			return err
		}
	}
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		return fmt.Errorf("CPU time is read from Linux's schedstat: %w", err)
	}
	return nil
}

// cellserverBinary returns the absolute path of the given binary, or of one built into folder.
func cellserverBinary(ctx context.Context, given, folder string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	built := filepath.Join(folder, "cellserver")
	build := exec.CommandContext(ctx, "go", "build", "-o", built, "github.com/cellserver/cellserver/cmd/cellserver")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/cellserver: %w\n%s", err, output)
	}
	return built, nil
}

// compare starts every contender below folder, warms it up, and measures round by round. The servers are gone when it
// returns.
func compare(ctx context.Context, p plan, all []contender, folder string, progress io.Writer) (results, error) {
	benchmark := client{cores: p.clientCores, keys: p.keys}
	var servers []*server
	var names []string
	requests := make(map[*server]map[load]int)
	for _, c := range all {
		fmt.Fprintf(progress, "starting and warming up %s\n", c.name)
		s, err := startServer(ctx, c, p.serverCores, folder)
		if err != nil {
			return results{}, err
		}
		defer s.stop()
		servers, names = append(servers, s), append(names, s.name)
		if requests[s], err = benchmark.warmUp(ctx, s, p); err != nil {
			return results{}, err
		}
	}
	r := newResults(p.loads, names, p.rounds)
	for round := range p.rounds {
		for _, l := range p.loads {
			fmt.Fprintf(progress, "round %d of %d: depth %d, clients %d\n", round+1, p.rounds, l.depth, l.clients)
			for i := range servers {
				s := servers[(round+i)%len(servers)]
				measured, err := benchmark.measure(ctx, s, l, requests[s][l])
				if err != nil {
					return results{}, err
				}
				r.add(l, s.name, measured)
			}
		}
	}
	return r, nil
}

// warmUp sends as many calls as there are keys, and finds the number of requests for each load.
func (c client) warmUp(ctx context.Context, s *server, p plan) (map[load]int, error) {
	deep := load{depth: 16, clients: 50}
	if _, err := c.run(ctx, s, deep, deep.wholePasses(float64(p.keys))); err != nil {
		return nil, err
	}
	requests := make(map[load]int)
	for _, l := range p.loads {
		n, err := c.calibrate(ctx, s, l, p.seconds)
		if err != nil {
			return nil, err
		}
		requests[l] = n
	}
	return requests, s.settle(ctx)
}
