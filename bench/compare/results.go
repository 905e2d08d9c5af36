package main

import (
	"fmt"
	"slices"
)

// results holds a sample per load, server and round.
type results struct {
	loads   []load
	servers []string // cellserver first
	rounds  int
	samples map[load]map[string][]sample
}

func newResults(loads []load, servers []string, rounds int) results {
	r := results{loads: loads, servers: servers, rounds: rounds, samples: make(map[load]map[string][]sample)}
	for _, l := range loads {
		r.samples[l] = make(map[string][]sample)
	}
	return r
}

func (r results) add(l load, server string, s sample) {
	r.samples[l][server] = append(r.samples[l][server], s)
}

// median of a metric over the rounds.
func (r results) median(l load, server string, metric func(sample) float64) float64 {
	return medianOf(r.samples[l][server], metric)
}

// ratio of a server to a reference: taken within each round, then spread over the rounds.
func (r results) ratio(l load, server, reference string, metric func(sample) float64) spread {
	return ratioOf(r.samples[l][server], r.samples[l][reference], metric)
}

// medianOf a metric over samples of whatever kind, one a round.
func medianOf[S any](samples []S, metric func(S) float64) float64 {
	var values []float64
	for _, s := range samples {
		values = append(values, metric(s))
	}
	return spreadOf(values).median
}

// ratioOf two servers' samples, one a round.
func ratioOf[S any](samples, references []S, metric func(S) float64) spread {
	var ratios []float64
	for round := range samples {
		ratios = append(ratios, metric(samples[round])/metric(references[round]))
	}
	return spreadOf(ratios)
}

// spread is how a figure came out over the rounds.
type spread struct {
	median, min, max float64
}

// spreadOf panics on no values; of an even number, the median is the mean of the two in the middle.
func spreadOf(values []float64) spread {
	sorted := slices.Sorted(slices.Values(values))
	upper, lower := len(sorted)/2, (len(sorted)-1)/2
	return spread{
		median: (sorted[lower] + sorted[upper]) / 2,
		min:    sorted[0],
		max:    sorted[len(sorted)-1],
	}
}

func (s spread) String() string {
	return fmt.Sprintf("%s [%s..%s]", formatRatio(s.median), formatRatio(s.min), formatRatio(s.max))
}

// formatRatio gives three decimals to what is below one, where the bars are.
func formatRatio(ratio float64) string {
	if ratio < 1 {
		return fmt.Sprintf("%.3f", ratio)
	}
	return fmt.Sprintf("%.2f", ratio)
}
