package persistence

import (
	"fmt"
	"math"

	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/resp"
)

// NoExpiry is the expiry, in Unix milliseconds, of a key that lives until it is deleted.
const NoExpiry = math.MaxInt64

// A verdict says what a string is to a limiter.
type verdict int

const (
	alive      verdict = iota // a limiter's key
	hasExpired                // gone by now, whatever it was
	otherKey                  // somebody else's
)

// judge tells a limiter's key from others: its value is a TAT, and it expires when that is reached. A number that has no expiry, or
// another, is somebody's counter, lock or time stamp.
func judge(value []byte, expiryMillis, nowNanos int64) (tatNanos int64, v verdict) {
	if expiryMillis != NoExpiry && expired(expiryMillis, nowNanos) {
		return 0, hasExpired
	}
	tatNanos, isInteger := resp.ParseRedisInt(value)
	if !isInteger || !gcra.IsTAT(tatNanos) {
		return 0, otherKey
	}
	return tatNanos, judgeTAT(tatNanos, expiryMillis, nowNanos)
}

// judgeTAT is judge for a number that may be a TAT and whose expiry, if it has one, has not passed.
func judgeTAT(tatNanos, expiryMillis, nowNanos int64) verdict {
	switch {
	case expiryMillis == NoExpiry || !gcra.AgreesWithExpiry(tatNanos, times(expiryMillis, nanosPerMilli)):
		return otherKey
	case tatNanos <= nowNanos:
		return hasExpired
	}
	return alive
}

const nanosPerMilli = 1e6

// expired tells whether Redis would have let a key with this expiry go. redis-cell rounds a TAT down where we round up, so that
// the last millisecond is the TAT's to judge.
func expired(expiryMillis, nowNanos int64) bool {
	return expiryMillis < nowNanos/nanosPerMilli
}

// times multiplies, up to the largest integers.
func times(n, factor int64) int64 {
	return max(min(n, math.MaxInt64/factor), math.MinInt64/factor) * factor
}

const (
	// maxExamples is how many of the things that were left out are named: enough to recognize whose they are.
	maxExamples = 5
	// maxExampleBytes is how much of a name is shown.
	maxExampleBytes = 64
)

// examples are names of some things, quoted, for a line of the log.
type examples []string

// add takes a name, if there is room for it.
func (e *examples) add(name []byte) {
	if len(*e) == maxExamples {
		return
	}
	quoted := quoteExample(name)
	for _, known := range *e {
		if known == quoted {
			return
		}
	}
	*e = append(*e, quoted)
}

// quoteExample quotes a name, or as much of it as is shown.
func quoteExample(name []byte) string {
	if len(name) > maxExampleBytes {
		return fmt.Sprintf("%q...", name[:maxExampleBytes])
	}
	return fmt.Sprintf("%q", name)
}
