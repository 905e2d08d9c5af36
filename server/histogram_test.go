package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHistogramBuckets: buckets are gapless, in order, and as narrow as promised.
func TestHistogramBuckets(t *testing.T) {
	for bucket := 1; bucket < histogramBuckets; bucket++ {
		shortest, longest := longestIn(bucket-1)+1, longestIn(bucket)
		if bucketOf(shortest) != bucket || bucketOf(longest) != bucket {
			t.Fatalf("bucket %d is from %d to %d, which are in %d and %d", bucket, shortest, longest, bucketOf(shortest), bucketOf(longest))
		}
		if width := longest - shortest + 1; width > 1 && width*subBuckets > shortest {
			t.Errorf("bucket %d is %d wide at %d", bucket, width, shortest)
		}
	}
	if bucketOf(longestNanos) >= histogramBuckets {
		t.Error("no bucket for the longest")
	}
}

// TestHistogramAsRedis has durations and what redis-server 7.0.15 told of them.
func TestHistogramAsRedis(t *testing.T) {
	for _, test := range []struct {
		micros     int64
		percentile int64 // of INFO latencystats, ns
		limit      int64 // of LATENCY HISTOGRAM, µs
	}{
		{4, 4015, 4}, {6, 6015, 8}, {7, 7007, 8}, {8, 8031, 8}, {19, 19071, 33}, {211, 211967, 264}, {50092, 50331647, 67633},
	} {
		var h histogram
		h.record(test.micros*1000, 3)
		if got := h.percentile(50); got != test.percentile {
			t.Errorf("%d µs: percentile %d, want %d", test.micros, got, test.percentile)
		}
		h.cumulative(func(upTo int64, count uint64) {
			if upTo/1000 != test.limit || count != 3 {
				t.Errorf("%d µs: %d up to %d µs, want 3 up to %d", test.micros, count, upTo/1000, test.limit)
			}
		})
	}
}

// TestHistogramLimits: what is out of range counts as the nearest in range.
func TestHistogramLimits(t *testing.T) {
	for nanos, want := range map[int64]int64{
		-1: 1, 0: 1, 1: 1, longestNanos - 1: 1002438655, longestNanos: 1002438655, longestNanos + 1: 1002438655, 1 << 62: 1002438655,
	} {
		var h histogram
		h.record(nanos, 1)
		if got := h.percentile(100); got != want {
			t.Errorf("%d ns became %d, want %d", nanos, got, want)
		}
		told := uint64(0)
		h.cumulative(func(_ int64, count uint64) { told = count })
		if told != 1 {
			t.Errorf("%d ns: %d told", nanos, told)
		}
	}
}

// TestHistogramTwin compares percentiles with those of a sorted slice.
func TestHistogramTwin(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var h, half histogram
	var all []int64
	for range 10_000 {
		nanos := 1 + random.Int64N(1<<(1+random.IntN(29)))
		all = append(all, nanos)
		if random.IntN(2) == 0 {
			h.record(nanos, 1)
		} else {
			half.record(nanos, 1)
		}
	}
	h.add(&half)
	slices.Sort(all)
	for _, percent := range []float64{0, 1, 50, 99, 99.9, 100} {
		t.Run(fmt.Sprint(percent), func(t *testing.T) {
			exact := all[max(int(percent/100*float64(len(all))+0.5)-1, 0)]
			if got := h.percentile(percent); got < exact || got-exact > exact/subBuckets {
				t.Errorf("%d, exactly %d", got, exact)
			}
		})
	}
}
