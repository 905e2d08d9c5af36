package gcra

// This file tells a TAT from any other integer, for code that gets one from outside: from a command, a file or a transfer.

const (
	// EarliestTAT is the least value that counts as a TAT: 10^18 ns after 1970, in September 2001, which no clock of a limiter
	// has shown. The other numbers that programs keep in strings lie below it: counters, flags, ids, and times in seconds,
	// milliseconds or microseconds, as far ahead as the year 33658.
	EarliestTAT = 1_000_000_000_000_000_000

	// ExpiryTolerance is how far apart, in nanoseconds, a TAT and the expiry of its key may lie: a client that copies a key with
	// its TTL in whole seconds moves the expiry by as much, rounded either way. Redis-cell and cellserver keep them within a
	// millisecond.
	ExpiryTolerance = 1_000_000_000
)

// IsTAT says whether an integer can be a TAT, in Unix nanoseconds, rather than a number of another kind.
func IsTAT(value int64) bool { return value >= EarliestTAT }

// AgreesWithExpiry says whether a key that expires at expiryNanos can have this TAT: a limiter key expires at its TAT, within
// ExpiryTolerance. An expiry beyond int64 nanoseconds may be passed as the nearest int64.
func AgreesWithExpiry(tatNanos, expiryNanos int64) bool {
	earlier, later := min(tatNanos, expiryNanos), max(tatNanos, expiryNanos)
	return uint64(later)-uint64(earlier) <= ExpiryTolerance // two int64 are less than 2^64 apart
}
