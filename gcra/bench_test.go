package gcra

import (
	"math"
	"testing"
)

// benchmarkCalls are one call for each way through the arithmetic. The baseline to compare with is case=allowed.
var benchmarkCalls = []struct {
	name      string
	debtNanos int64 // of the stored TAT
	limit     Limit
	quantity  int64
}{
	{"case=allowed", 20e9, Limit{MaxBurst: 15, Count: 30, Period: 60}, 1},
	{"case=limited", 32e9, Limit{MaxBurst: 15, Count: 30, Period: 60}, 1},
	{"case=refund", 20e9, Limit{MaxBurst: 15, Count: 30, Period: 60}, -1},
	{"case=fast-rate", 1000, Limit{MaxBurst: 1000, Count: 360000, Period: 60}, 1},
	{"case=wide-tolerance", 20e9, Limit{MaxBurst: maxMaxBurst, Count: 1, Period: 86400}, 1},
	{"case=wide-interval", 20e9, Limit{MaxBurst: 4, Count: math.MaxInt64, Period: math.MaxInt64}, 1},
	{"case=error", 0, Limit{MaxBurst: 4, Count: 0, Period: 10}, 1},
	{"case=beyond", 20e9, Limit{MaxBurst: maxMaxBurst, Count: 1, Period: math.MaxInt64}, math.MinInt64},
}

// BenchmarkDecide uses the decision, as every caller does: taking seven fields over costs about as much as working them out.
func BenchmarkDecide(b *testing.B) {
	for _, call := range benchmarkCalls {
		b.Run(call.name, func(b *testing.B) {
			var sum int64
			for b.Loop() {
				decision, _ := decide(start+call.debtNanos, start, call.limit, call.quantity)
				sum += decision.TAT
			}
		})
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	for _, call := range benchmarkCalls {
		allocs := testing.AllocsPerRun(100, func() {
			decide(start+call.debtNanos, start, call.limit, call.quantity)
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations per call, want none", call.name, allocs)
		}
	}
}
