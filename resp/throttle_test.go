package resp

import (
	"math"
	"slices"
	"testing"
)

// AppendThrottle writes what a Writer would.
func TestAppendThrottle(t *testing.T) {
	integers := []int64{math.MinInt64, -1000, -2, -1, 0, 1, 9, 10, 99, 100, 999, 1000, 1022, 1023, 1024, 1025, 10000, math.MaxInt64 - 1, math.MaxInt64}
	for i, limit := range integers {
		for j, reset := range integers {
			limited := (i+j)%2 == 0
			remaining, retry := integers[(i+1)%len(integers)], integers[(j+1)%len(integers)]
			var w Writer
			w.BulkString("before")
			got := AppendThrottle(slices.Clip(w.Buf), limited, limit, remaining, retry, reset)
			w.Array(5)
			w.Bool(limited)
			for _, n := range []int64{limit, remaining, retry, reset} {
				w.Int(n)
			}
			if string(got) != string(w.Buf) {
				t.Fatalf("got %q, want %q", got, w.Buf)
			}
		}
	}
	want := "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n"
	if got := string(AppendThrottle(nil, false, 16, 15, -1, 2)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
