// Package expiry decides how much of a table to sweep for dead entries, and when. It never reads a clock and never looks
// at a table: told the time and the number of entries, it answers with a number of entries to look at.
//
// # Why sweep at all
//
// An entry is dead once its deadline has passed, and every lookup treats it as absent. But a key that no call asks for
// again would keep its memory for ever.
//
// # The policy
//
// A sweep goes round the table, in a [Cycle] while it finds something to remove and in a [SlowCycle] after a round that
// found hardly anything. So a dead entry is gone within about two cycles, a few seconds.
//
// Work is counted in entries and never in time: the same calls at the same times always do the same work, so tests are
// exact. A turn of a busy loop looks at [BusyTurn] entries at most, since requests wait meanwhile; at about
// 20 ns for each entry removed that is 20 µs. An idle loop takes [IdleTurn] and comes back at once for more. A busy loop
// does not make up later for what it could not do in time: the debt is at most one round.
//
// What it costs an idle server: a million live keys in a slow cycle are 125,000 entries a second at 2 ns, which is 0.03% of
// a processor.
package expiry
