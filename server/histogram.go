package server

import "math/bits"

// A histogram counts durations in buckets whose width is at most 1/128 of what they hold: the resolution of Redis's, two
// significant digits, so that LATENCY HISTOGRAM and the percentiles of INFO come out in the same steps.
//
// Below 256 ns each nanosecond has its own bucket; from there on each doubling has 128.
type histogram struct {
	counts [histogramBuckets]uint64
	total  uint64
}

const (
	// longestNanos is the longest duration told apart from longer ones, as in Redis: one second.
	longestNanos = 1_000_000_000
	// subBuckets is the number of buckets in a doubling, and the reciprocal of the resolution.
	subBuckets = 128
	// histogramBuckets is enough for longestNanos: 22 doublings beyond 256 ns.
	histogramBuckets = (22 + 2) * subBuckets
)

// record counts so many durations of this length.
func (h *histogram) record(nanos int64, times uint64) {
	h.counts[bucketOf(min(max(nanos, 1), longestNanos))] += times
	h.total += times
}

func (h *histogram) add(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
}

func bucketOf(nanos int64) int {
	doublings := max(bits.Len64(uint64(nanos))-8, 0)
	return doublings*subBuckets + int(nanos>>doublings)
}

// longestIn returns the longest duration that a bucket counts, in nanoseconds.
func longestIn(bucket int) int64 {
	doublings := max(bucket/subBuckets-1, 0)
	return int64(bucket-doublings*subBuckets+1)<<doublings - 1
}

// percentile returns the duration that so many per cent of those recorded do not exceed, in nanoseconds, as exactly as
// the buckets tell.
func (h *histogram) percentile(percent float64) int64 {
	wanted := max(uint64(percent/100*float64(h.total)+0.5), 1)
	seen := uint64(0)
	for bucket, n := range h.counts {
		if seen += n; seen >= wanted {
			return longestIn(bucket)
		}
	}
	return 0
}

// cumulative calls visit with a duration in nanoseconds, each about twice the one before, and how many of those recorded
// do not exceed it. Durations that add nothing are left out.
func (h *histogram) cumulative(visit func(upToNanos int64, count uint64)) {
	const first = 1024 // ns; Redis begins here, at about its clock's microsecond
	seen, told, bucket := uint64(0), uint64(0), 0
	for limit := int64(first); told < h.total; limit *= 2 {
		last := bucketOf(limit)
		for ; bucket <= min(last, histogramBuckets-1); bucket++ {
			seen += h.counts[bucket]
		}
		if seen > told {
			told = seen
			visit(longestIn(last), told)
		}
	}
}
