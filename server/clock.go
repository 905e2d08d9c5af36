package server

import (
	"sync/atomic"
	"time"
)

// clock is the store's clock: the wall time when the server started plus the monotonic time since. A step of the
// machine's wall clock, forward or back, changes no decision while the server runs.
type clock struct {
	start time.Time
	ahead atomic.Int64 // nanoseconds that the store is ahead of the wall clock since its start
}

// notBefore sets the clock ahead where it is behind a time that the store has seen, before it was started again.
func (c *clock) notBefore(nanos int64) { c.ahead.Add(max(0, nanos-c.now())) }

// now returns the store's time in Unix nanoseconds.
func (c *clock) now() int64 { return c.start.UnixNano() + c.ahead.Load() + int64(time.Since(c.start)) }

// uptime returns how long the clock has run.
func (c *clock) uptime() time.Duration { return time.Since(c.start) }
