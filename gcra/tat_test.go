package gcra

import (
	"math"
	"testing"
)

func TestIsTAT(t *testing.T) {
	for value, want := range map[int64]bool{
		math.MinInt64:          false,
		-1:                     false,
		0:                      false,
		42:                     false, // a counter
		1_800_000_000:          false, // seconds
		1_800_000_000_000:      false, // milliseconds
		1_800_000_000_000_000:  false, // microseconds
		EarliestTAT - 1:        false,
		EarliestTAT:            true,
		start:                  true,
		math.MaxInt64:          true,
		-EarliestTAT:           false,
		-start:                 false,
		math.MinInt64 + 1:      false,
		EarliestTAT/10 + start: true,
	} {
		if got := IsTAT(value); got != want {
			t.Errorf("IsTAT(%d) = %v", value, got)
		}
	}
}

func TestAgreesWithExpiry(t *testing.T) {
	for _, c := range []struct {
		tat, expiry int64
		want        bool
	}{
		{start, start, true},
		{start, start + ExpiryTolerance, true},
		{start, start + ExpiryTolerance + 1, false},
		{start, start - ExpiryTolerance, true},
		{start, start - ExpiryTolerance - 1, false},
		{start, 0, false},
		{0, 0, true},
		{-ExpiryTolerance / 2, ExpiryTolerance / 2, true},
		{-ExpiryTolerance / 2, ExpiryTolerance/2 + 1, false},
		{math.MaxInt64, math.MaxInt64, true},
		{math.MaxInt64, math.MaxInt64 - ExpiryTolerance, true},
		{math.MaxInt64, math.MaxInt64 - ExpiryTolerance - 1, false},
		{math.MinInt64, math.MinInt64 + ExpiryTolerance, true},
		{math.MinInt64, math.MinInt64 + ExpiryTolerance + 1, false},
		{math.MaxInt64, math.MinInt64, false}, // the difference is 2^64-1, as int64 -1
		{math.MinInt64, math.MaxInt64, false},
		{math.MaxInt64, -1, false}, // as int64 the difference is negative
		{math.MinInt64, 0, false},
	} {
		if got := AgreesWithExpiry(c.tat, c.expiry); got != c.want {
			t.Errorf("AgreesWithExpiry(%d, %d) = %v", c.tat, c.expiry, got)
		}
	}
}
