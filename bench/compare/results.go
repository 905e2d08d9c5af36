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
	var values []float64
	for _, s := range r.samples[l][server] {
		values = append(values, metric(s))
	}
	return spreadOf(values).median
}

// ratio of cellserver to a reference: taken within each round, then spread over the rounds.
func (r results) ratio(l load, reference string, metric func(sample) float64) spread {
	ours, theirs := r.samples[l][r.servers[0]], r.samples[l][reference]
	var ratios []float64
	for round := range ours {
		ratios = append(ratios, metric(ours[round])/metric(theirs[round]))
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
