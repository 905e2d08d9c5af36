package persistence

import (
	"errors"
	"fmt"
	"time"
)

const (
	nanosPerSecond = int64(time.Second)
	// latestClock is the latest time, Unix ns, that a store's clock can have: in the year 2223. A later one leaves so little before the
	// end of int64 that the TATs of long limits have no room.
	latestClock = 8_000_000_000_000_000_000
)

// errClock is for a clock that cannot be. A store that took it over would live in another century.
var errClock = errors.New("which no clock can show")

// clockNanos converts a clock that a file holds to Unix nanoseconds. The error wraps errClock.
func clockNanos(clock, unitNanos int64) (int64, error) {
	nanos := times(clock, unitNanos)
	if nanos < 0 || nanos > latestClock {
		return 0, fmt.Errorf("the clock %d, %w", clock, errClock)
	}
	return nanos, nil
}
