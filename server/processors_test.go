package server

import (
	"runtime"
	"testing"
)

// TestProcessors: each server has as many as its loops need and one more, and takes none from another.
func TestProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, loops := range []int{before, before + 3, 1} {
		setProcessors(loops)
	}
	if got := runtime.GOMAXPROCS(0); got != before+4 {
		t.Errorf("%d processors, not %d", got, before+4)
	}
}

// TestTooManyShards: one shard is never too many, and a part of a core is none.
func TestTooManyShards(t *testing.T) {
	for _, row := range []struct {
		shards int
		cores  float64
		want   bool
	}{{1, 0.5, false}, {2, 0.5, true}, {1, 1, false}, {2, 1.5, true}, {2, 2, false}, {2, 2.5, false}, {3, 2.5, true}} {
		if got := tooManyShards(row.shards, row.cores); got != row.want {
			t.Errorf("%d shards on %v cores: %v", row.shards, row.cores, got)
		}
	}
}
