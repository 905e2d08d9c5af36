package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"time"
)

// sample is one measurement of one load on one server.
type sample struct {
	requestsPerSecond   float64
	p50Micros           float64
	p99Micros           float64
	cpuMicrosPerRequest float64
	coreBusy            float64 // cores the server kept busy while the load ran
}

// client is redis-benchmark, pinned to cores and drawing from so many keys.
type client struct {
	cores string
	keys  int
}

// measure puts the load on the server once and waits until that has no consequences any more.
func (c client) measure(ctx context.Context, s *server, l load, requests int) (sample, error) {
	before, err := s.cpu()
	if err != nil {
		return sample{}, err
	}
	seen, err := c.run(ctx, s, l, requests)
	if err != nil {
		return sample{}, err
	}
	if err := s.settle(ctx); err != nil {
		return sample{}, err
	}
	after, err := s.cpu()
	if err != nil {
		return sample{}, err
	}
	spent, err := after.since(before)
	if err != nil {
		return sample{}, fmt.Errorf("%s: %w", s.name, err)
	}
	seen.cpuMicrosPerRequest = float64(spent) / float64(time.Microsecond) / float64(requests)
	seen.coreBusy = seen.cpuMicrosPerRequest * seen.requestsPerSecond / 1e6
	return seen, nil
}

// calibrate returns the number of requests that keep the server busy for about the given seconds. A first guess leads
// to a quarter of a second at most, and that to the whole.
func (c client) calibrate(ctx context.Context, s *server, l load, seconds float64) (int, error) {
	const firstGuess = 5_000
	requests := l.wholePasses(firstGuess)
	for _, target := range []float64{min(0.25, seconds), seconds} {
		seen, err := c.run(ctx, s, l, requests)
		if err != nil {
			return 0, err
		}
		requests = l.wholePasses(seen.requestsPerSecond * target)
	}
	return requests, nil
}

// wholePasses rounds a number of requests up so that every client sends nothing but full pipelines.
func (l load) wholePasses(requests float64) int {
	pass := l.depth * l.clients
	return pass * max(1, int(math.Ceil(requests/float64(pass))))
}

// run is one run of redis-benchmark, which fails on the first error reply.
func (c client) run(ctx context.Context, s *server, l load, requests int) (sample, error) {
	argv := []string{"-c", c.cores, "redis-benchmark", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "--csv",
		"-r", strconv.Itoa(c.keys), "-c", strconv.Itoa(l.clients), "-P", strconv.Itoa(l.depth), "-n", strconv.Itoa(requests)}
	argv = append(argv, s.request(s.scriptSHA, "key:__rand_int__", usualLimit)...)
	var stdout, stderr bytes.Buffer
	benchmark := exec.CommandContext(ctx, "taskset", argv...)
	benchmark.Stdout, benchmark.Stderr = &stdout, &stderr
	if err := benchmark.Run(); err != nil {
		return sample{}, fmt.Errorf("redis-benchmark on %s: %w: %s", s.name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	seen, err := parseBenchmark(stdout.Bytes())
	if err != nil {
		return sample{}, fmt.Errorf("redis-benchmark on %s: %w", s.name, err)
	}
	return seen, nil
}

// parseBenchmark reads what redis-benchmark --csv prints: a line of column names and a line of values, latencies in
// milliseconds.
func parseBenchmark(output []byte) (sample, error) {
	rows, err := csv.NewReader(bytes.NewReader(output)).ReadAll()
	if err != nil {
		return sample{}, err
	}
	if len(rows) != 2 {
		return sample{}, fmt.Errorf("want a line of names and a line of values: %q", output)
	}
	values := make(map[string]float64)
	for _, name := range []string{"rps", "p50_latency_ms", "p99_latency_ms"} {
		column := slices.Index(rows[0], name)
		if column < 0 {
			return sample{}, fmt.Errorf("no column %s: %q", name, output)
		}
		value, err := strconv.ParseFloat(rows[1][column], 64)
		if err != nil || !(value >= 0) || math.IsInf(value, 0) {
			return sample{}, fmt.Errorf("%s is not a number: %q", name, rows[1][column])
		}
		values[name] = value
	}
	return sample{
		requestsPerSecond: values["rps"],
		p50Micros:         1000 * values["p50_latency_ms"],
		p99Micros:         1000 * values["p99_latency_ms"],
	}, nil
}
