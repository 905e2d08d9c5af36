package gcra

import (
	"errors"
	"math"
	"math/bits"
)

// The errors of Decide. Error() is the text of the error reply, without the leading '-'. The text of ErrZeroRate is
// redis-cell's own.
var (
	ErrMaxBurst = errors.New("ERR max_burst is out of range, must be between -1 and 9223372036854775806")
	ErrCount    = errors.New("ERR count is out of range, must not be negative")
	ErrPeriod   = errors.New("ERR period is out of range, must not be negative")
	ErrZeroRate = errors.New("Cell error: Store error: Zero rates are not supported")
	ErrQuantity = errors.New("ERR quantity is out of range, at this count and period it reaches past the year 2262")
	// ErrLongPeriod is for a period with which even one token reaches too far.
	ErrLongPeriod = errors.New("ERR period is out of range, at this count a single token reaches past the year 2262")
)

const (
	// minMaxBurst makes a bucket without capacity, which refuses every positive quantity.
	minMaxBurst = -1
	// maxMaxBurst is the last one whose limit, max_burst+1, fits the reply's integer.
	maxMaxBurst = math.MaxInt64 - 1

	nanosPerSecond = 1_000_000_000
)

// Limit is the three limit arguments of a call, as the client sent them.
type Limit struct {
	MaxBurst int64 // tokens beyond the first, -1 to MaxInt64-1
	Count    int64 // tokens per Period, above 0
	Period   int64 // seconds, above 0
}

// Write is what a call does to the stored TAT.
type Write uint8

const (
	Keep   Write = iota // leave the store as it is
	Store               // store Decision.TAT
	Remove              // remove the key: its bucket is full
)

// Decision is everything the caller needs to answer a call and to store its outcome. The first five fields are the reply,
// in its order.
type Decision struct {
	Limited    bool
	Limit      int64 // the bucket's capacity, max_burst+1
	Remaining  int64 // tokens that can be taken now, 0 to Limit
	RetryAfter int64 // whole seconds, rounded up, so 1 or more; -1 where not limited or where waiting cannot help
	ResetAfter int64 // whole seconds until the bucket is full, rounded up

	TAT   int64 // Unix ns after the call; now if the bucket is full
	Write Write
}

// Decide applies one call, made at now, to a key, and puts the outcome into decision. All times are Unix nanoseconds; stored
// is the key's TAT, or any value up to now where there is no key. A negative quantity gives tokens back, 0 only reads.
//
// The arguments are checked in this order: ErrMaxBurst, ErrCount and ErrPeriod for a value out of range, then ErrZeroRate for
// a count or period of 0 or more than one token a nanosecond, last ErrLongPeriod or ErrQuantity, for a call that would
// be allowed but whose TAT does not fit an int64. With an error decision is not written and the key stays as it is.
//
// The decision is the caller's memory, and filled field by field: Go copies a struct of this size at every return, and
// also builds a literal aside to copy it then, each of which costs a tenth of the call.
func Decide(stored, now int64, limit *Limit, quantity int64, decision *Decision) error {
	if err := limit.checkRange(); err != nil {
		return err
	}
	interval := limit.emissionInterval()
	if interval == (span{}) {
		return ErrZeroRate
	}
	var debt uint64
	if stored > now {
		debt = distance(now, stored)
	}
	capacity := limit.MaxBurst + 1

	limited, retryAfter, ttl := false, int64(-1), debt
	if quantity > capacity {
		limited = true
	} else if room := interval.times(distance(quantity, capacity)); room.shorterThan(debt) {
		limited, retryAfter = true, int64(ceilDiv(debt-room.nanos, nanosPerSecond))
	} else if quantity > 0 {
		cost := interval.times(uint64(quantity))
		sum, carry := bits.Add64(debt, cost.nanos, 0)
		if cost.beyond || carry != 0 || sum > distance(now, math.MaxInt64) {
			return limit.errTooFar(now)
		}
		ttl = sum
	} else if quantity < 0 {
		ttl = interval.times(distance(quantity, 0)).shorten(debt)
	}

	write := Keep
	if ttl != debt {
		write = Store
		if ttl == 0 {
			write = Remove
		}
	}
	decision.Limited = limited
	decision.Limit = capacity
	decision.Remaining = remaining(capacity, interval, ttl)
	decision.RetryAfter = retryAfter
	decision.ResetAfter = int64(ceilDiv(ttl, nanosPerSecond))
	decision.TAT = int64(uint64(now) + ttl)
	decision.Write = write
	return nil
}

func (l *Limit) checkRange() error {
	switch {
	case l.MaxBurst < minMaxBurst || l.MaxBurst > maxMaxBurst:
		return ErrMaxBurst
	case l.Count < 0:
		return ErrCount
	case l.Period < 0:
		return ErrPeriod
	}
	return nil
}

// errTooFar names the argument for which a TAT does not fit an int64.
func (l *Limit) errTooFar(now int64) error {
	if interval := l.emissionInterval(); interval.beyond || interval.nanos > distance(now, math.MaxInt64) {
		return ErrLongPeriod
	}
	return ErrQuantity
}

// emissionInterval is the time in which a bucket gains one token; zero if the limit is not a rate.
func (l *Limit) emissionInterval() span {
	if l.Count == 0 {
		return span{}
	}
	count := uint64(l.Count)
	hi, lo := bits.Mul64(uint64(l.Period), nanosPerSecond)
	if hi == 0 {
		return span{nanos: lo / count}
	}
	if hi >= count {
		return span{beyond: true}
	}
	nanos, _ := bits.Div64(hi, lo, count)
	return span{nanos: nanos}
}

// remaining is how many whole tokens a bucket holds that will be full after ttl nanoseconds. Rounding the missing tokens up is
// rounding those left down, and never leaves the integers.
func remaining(capacity int64, interval span, ttl uint64) int64 {
	missing := min(ttl, 1)
	if !interval.beyond {
		missing = ceilDiv(ttl, interval.nanos)
	}
	if missing >= uint64(capacity) {
		return 0
	}
	return capacity - int64(missing)
}

// span is a length of time. Two int64 instants are at most 2⁶⁴-1 ns apart; a span is exact up to there, and one that is
// longer is only known to be beyond, which is all that matters where it meets such a distance.
type span struct {
	nanos  uint64 // means nothing if beyond
	beyond bool   // 2⁶⁴ ns or more
}

// times is n such spans in a row.
func (s span) times(n uint64) span {
	hi, lo := bits.Mul64(s.nanos, n)
	return span{nanos: lo, beyond: hi != 0 || s.beyond && n != 0}
}

// shorterThan tells whether the span is shorter than the given distance in nanoseconds.
func (s span) shorterThan(nanos uint64) bool {
	return !s.beyond && s.nanos < nanos
}

// shorten takes the span off a distance in nanoseconds, down to 0.
func (s span) shorten(nanos uint64) uint64 {
	if s.shorterThan(nanos) {
		return nanos - s.nanos
	}
	return 0
}

// distance is to - from, for from <= to: it always fits, also where an int64 would overflow.
func distance(from, to int64) uint64 {
	return uint64(to) - uint64(from)
}

func ceilDiv(dividend, divisor uint64) uint64 {
	quotient := dividend / divisor
	if dividend%divisor != 0 {
		quotient++
	}
	return quotient
}
