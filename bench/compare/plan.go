package main

import (
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

// plan is one run of the tool, as the command line asks for it.
type plan struct {
	rounds      int
	seconds     float64 // of one measurement, about
	loads       []load
	keys        int // key range that calls draw from
	shards      int
	references  []string
	cellserver  string // path of the binary; empty: build it
	serverCores string // as taskset -c takes them
	clientCores string
	out         string // file for the report; empty: standard output only
}

// parsePlan reads the command line. cellModule is the path of redis-cell's shared object, or empty.
func parsePlan(args []string, cellModule string) (plan, error) {
	references := []string{redisLua, null}
	if cellModule != "" {
		references = append(references, redisCell)
	}
	p := plan{keys: 1_000_000}
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	flags.IntVar(&p.rounds, "rounds", 5, "rounds; each measures every load on every server once")
	flags.Float64Var(&p.seconds, "seconds", 2.5, "length of one measurement, about")
	depths := flags.String("depths", "1,16,128", "pipeline depths, each with -clients; one client at depth 1 is always added")
	clients := flags.Int("clients", 50, "clients of redis-benchmark")
	flags.IntVar(&p.shards, "shards", 1, "shards of cellserver; the bars hold for 1")
	names := flags.String("references", strings.Join(references, ","), "what to compare with; redis-cell needs REDIS_CELL_SO")
	flags.StringVar(&p.cellserver, "cellserver", "", "cellserver binary (default: build ./cmd/cellserver)")
	flags.StringVar(&p.serverCores, "server-cores", "0", "cores of the servers, as taskset -c takes them")
	flags.StringVar(&p.clientCores, "client-cores", "1", "cores of redis-benchmark")
	flags.StringVar(&p.out, "out", "", "file for the report, in markdown, beside standard output")
	if err := flags.Parse(args); err != nil {
		return plan{}, err
	}
	if flags.NArg() > 0 {
		return plan{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	if p.loads, err = parseLoads(*depths, *clients); err != nil {
		return plan{}, err
	}
	p.references = strings.Split(*names, ",")
	return p, p.validate(cellModule)
}

// parseLoads returns a load per depth, and last the one of a single client at depth 1.
func parseLoads(depths string, clients int) ([]load, error) {
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
	if alone := (load{depth: 1, clients: 1}); !slices.Contains(loads, alone) {
		loads = append(loads, alone)
	}
	return loads, nil
}

// validate reports everything that is wrong with the plan, joined.
func (p plan) validate(cellModule string) error {
	var errs []error
	if p.rounds < 1 {
		errs = append(errs, errors.New("-rounds must be at least 1"))
	}
	if !(p.seconds > 0) {
		errs = append(errs, errors.New("-seconds must be above 0"))
	}
	if p.shards < 1 {
		errs = append(errs, errors.New("-shards must be at least 1"))
	}
	if p.loads[0].clients < 1 {
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
