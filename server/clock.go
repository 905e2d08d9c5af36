package server

import "time"

// clock is the store's clock: the wall time when the server started plus the monotonic time since. A step of the
// machine's wall clock, forward or back, changes no decision while the server runs.
type clock struct{ start time.Time }

func newClock() clock { return clock{start: time.Now()} }

// now returns the store's time in Unix nanoseconds.
func (c clock) now() int64 { return c.start.UnixNano() + int64(time.Since(c.start)) }

// uptime returns how long the clock has run.
func (c clock) uptime() time.Duration { return time.Since(c.start) }
