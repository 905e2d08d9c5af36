package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// load is what redis-benchmark does in one measurement: so many clients, each with depth calls in flight.
type load struct {
	depth   int
	clients int
}

// mode is one of the things that the tool measures. Its figures are defaults, with which it takes a few minutes.
type mode struct {
	name    string // the first argument
	rounds  int
	seconds float64 // of one measurement, about; 0: it ends by itself
	depths  string  // empty: redis-benchmark is not used
	alone   bool    // a single client at depth 1 is a load too
	keys    int
	rate    int // calls per second, where redis-benchmark is not used
	measure func(context.Context, bench) (string, error)
}

// modes returns all of them; the first is meant where the command line names none.
func modes() []mode {
	return []mode{
		{name: "throughput", rounds: 5, seconds: 2.5, depths: "1,16,128", alone: true, keys: 1_000_000, measure: measureThroughput},
		{name: "persistence", rounds: 5, seconds: 1, depths: "1,16", keys: 1_000_000, measure: measurePersistence},
		{name: "load", rounds: 3, keys: 1_000_000, measure: measureLoad},
		{name: "snapshot", rounds: 5, seconds: 3, keys: 10_000_000, rate: 20_000, measure: measureSnapshot},
		{name: "bystander", rounds: 3, seconds: 3, keys: 1_000_000, rate: 1000, measure: measureBystander},
	}
}

// plan is one run of the tool, as the command line asks for it.
type plan struct {
	mode
	loads       []load
	shards      int
	attacks     []attack // of mode bystander
	references  []string
	cellserver  string // path of the binary; empty: build it
	serverCores string // as taskset -c takes them
	clientCores string
	dir         string // where the servers have their folders
	out         string // file for the report; empty: standard output only
}

// parsePlan reads the command line. cellModule is the path of redis-cell's shared object, or empty.
func parsePlan(args []string, cellModule string) (plan, error) {
	p := plan{mode: modes()[0]}
	for _, m := range modes() {
		if len(args) > 0 && args[0] == m.name {
			p.mode, args = m, args[1:]
			break
		}
	}
	flags := flag.NewFlagSet("compare "+p.name, flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	p.define(flags)
	names := flags.String("references", strings.Join(p.defaultReferences(cellModule), ","), "what to compare with; redis-cell needs REDIS_CELL_SO")
	attackNames := ""
	if p.name == "bystander" {
		flags.StringVar(&attackNames, "attacks", "", "which attacks, by name (default: all)")
	}
	clients, benchmarked := 0, p.depths != ""
	if benchmarked {
		flags.StringVar(&p.depths, "depths", p.depths, "pipeline depths, each with -clients")
		flags.IntVar(&clients, "clients", 50, "clients of redis-benchmark")
	}
	if err := flags.Parse(args); err != nil {
		return plan{}, err
	}
	if flags.NArg() > 0 {
		return plan{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if benchmarked {
		var err error
		if p.loads, err = parseLoads(p.depths, clients, p.alone); err != nil {
			return plan{}, err
		}
	}
	var err error
	if p.attacks, err = parseAttacks(attackNames); err != nil {
		return plan{}, err
	}
	p.references = strings.Split(*names, ",")
	return p, p.validate(cellModule)
}

// define defines the flags that stand for one field of the plan.
func (p *plan) define(flags *flag.FlagSet) {
	flags.IntVar(&p.rounds, "rounds", p.rounds, "rounds; each measures everything on every server once")
	flags.IntVar(&p.keys, "keys", p.keys, "keys that calls draw from")
	flags.IntVar(&p.shards, "shards", 1, "shards of cellserver; the bars hold for 1")
	flags.StringVar(&p.cellserver, "cellserver", "", "cellserver binary (default: build ./cmd/cellserver)")
	flags.StringVar(&p.serverCores, "server-cores", "0", "cores of the servers, as taskset -c takes them")
	flags.StringVar(&p.clientCores, "client-cores", "1", "cores of the clients")
	flags.StringVar(&p.dir, "dir", os.TempDir(), "folder on the disk to use; the servers have temporary ones in it")
	flags.StringVar(&p.out, "out", "", "file for the report, in markdown, beside standard output")
	if p.seconds > 0 {
		flags.Float64Var(&p.seconds, "seconds", p.seconds, "length of one measurement, about")
	}
	if p.rate > 0 {
		flags.IntVar(&p.rate, "rate", p.rate, "calls per second")
	}
}

// defaultReferences returns redis-cell where the module is at hand, or else the script that stands in for it.
func (m mode) defaultReferences(cellModule string) []string {
	switch {
	case m.name == "throughput" && cellModule != "":
		return []string{redisLua, null, redisCell}
	case m.name == "throughput":
		return []string{redisLua, null}
	case cellModule != "":
		return []string{redisCell}
	}
	return []string{redisLua}
}

// parseLoads returns a load per depth, and last, if it is asked for, the one of a single client at depth 1.
func parseLoads(depths string, clients int, alone bool) ([]load, error) {
	var loads []load
	for field := range strings.SplitSeq(depths, ",") {
		depth, err := strconv.Atoi(field)
		if err != nil || depth < 1 {
			return nil, fmt.Errorf("-depths: %q is not a positive number", field)
		}
		if slices.Contains(loads, load{depth, clients}) {
			return nil, fmt.Errorf("-depths: %d is named twice", depth)
		}
		loads = append(loads, load{depth, clients})
	}
	if single := (load{depth: 1, clients: 1}); alone && !slices.Contains(loads, single) {
		loads = append(loads, single)
	}
	return loads, nil
}

// validate reports everything that is wrong with the plan, joined.
func (p plan) validate(cellModule string) error {
	var errs []error
	if p.rounds < 1 {
		errs = append(errs, errors.New("-rounds must be at least 1"))
	}
	if p.name != "load" && !(p.seconds > 0) {
		errs = append(errs, errors.New("-seconds must be above 0"))
	}
	if (p.name == "snapshot" || p.name == "bystander") && p.rate < 1 {
		errs = append(errs, errors.New("-rate must be at least 1"))
	}
	if p.keys < 1 {
		errs = append(errs, errors.New("-keys must be at least 1"))
	}
	if p.shards < 1 {
		errs = append(errs, errors.New("-shards must be at least 1"))
	}
	if len(p.loads) > 0 && p.loads[0].clients < 1 {
		errs = append(errs, errors.New("-clients must be at least 1"))
	}
	for i, name := range p.references {
		switch {
		case !slices.Contains([]string{redisLua, redisCell, null}, name):
			errs = append(errs, fmt.Errorf("-references: %q is none of redis-lua, redis-cell, null", name))
		case slices.Contains(p.references[:i], name):
			errs = append(errs, fmt.Errorf("-references: %s is named twice", name))
		case name == redisCell && cellModule == "":
			errs = append(errs, errors.New("-references: redis-cell needs REDIS_CELL_SO, the path of the module's shared object"))
		}
	}
	return errors.Join(errs...)
}
