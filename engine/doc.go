// Package engine is one shard's state machine: it applies one operation at a given time and says what changed.
//
// An Engine holds the shard's sixteen databases, each a keyspace.Table from key to TAT (theoretical arrival time,
// Unix nanoseconds), and joins them to the arithmetic of package gcra. It does no I/O, starts no goroutine, takes no
// lock and reads no clock: the shard's owner (package server ensures that there is one at a time) tells it the time
// with Advance and then calls it. The server loads files into the same object from which it serves.
//
// # Time
//
// The engine's clock is the latest time given to Advance. Another event loop, whose pass began some microseconds
// earlier, may borrow the shard, so Advance ignores earlier times: within a shard time never steps back.
//
// # Expiry
//
// A key whose TAT has passed has a full bucket, and so has a missing key. So a key expires at its TAT: every operation
// treats it as missing from then on, and Sweep frees its memory. Only Len counts dead keys that are not swept yet, as
// Redis's DBSIZE does.
//
// # Change
//
// State changes only by the effects "key has this TAT", "key is gone", "database is empty" and "two databases have changed
// places". Store, Delete, Flush and Swap are those effects themselves, and Throttle ends in one of the first two or in none;
// refused calls and reads change nothing. Every effect is told to the sinks that are attached (type Effects): the log, the
// counts of watched keys, and whatever else wants to follow the shard. A caller that makes a change has nothing else to
// notify or remember.
package engine
