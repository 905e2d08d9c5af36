// Package gcra is the arithmetic of CL.THROTTLE: one call on one key, decided in whole nanoseconds. It has no clock, no
// state and no I/O; the caller passes the time and the stored state, and gets back what to answer and what to store.
//
// # The algorithm
//
// A bucket holds up to max_burst+1 tokens, its capacity, and gains count tokens per period, so one token per emission interval
//
//	T = period·10⁹ / count        (nanoseconds, rounded down)
//
// The generic cell rate algorithm counts time instead of tokens. All it keeps of a bucket is the TAT, the theoretical
// arrival time: the instant at which the bucket is full again if nothing more is taken. The debt of a bucket is how far its
// TAT lies ahead, and every missing token is T of debt:
//
//	     now                      TAT            now + τ
//	------|------------------------|-----------------|-------> time
//	      |<------- debt --------->|<---- room ----->|
//	      |<--- burst tolerance τ = T·(max_burst+1) ->|
//
// Taking quantity tokens moves the TAT by T·quantity, and is allowed as long as the TAT does not pass now + τ. Time alone
// pays the debt: the bucket refills because now moves, and nothing has to run meanwhile. A TAT that has passed means the
// same as no TAT: the bucket is full. So a key lives exactly until its TAT, and a missing key is a full bucket.
//
//	tat     = max(stored, now)
//	new     = tat + T·quantity
//	limited = new - now > τ
//	limited:  nothing is stored;  ttl = tat - now;  retry_after = new - now - τ, or -1 where quantity > max_burst+1
//	allowed:  new = max(new, now);  ttl = new - now;  retry_after = -1
//	remaining = max(0, floor((τ - ttl) / T))
//
// # What follows from it
//
//   - Quantity 0 reads: it stores nothing and answers what the bucket holds.
//   - A negative quantity gives tokens back, at most up to a full bucket.
//   - A refused call changes nothing, so asking again and again costs a client nothing.
//   - Debt is time, not tokens. Under limits lower than before, a debt beyond the new τ refuses every call that leaves it
//     beyond τ, a read and a refund too, until enough of it has drained.
//   - Under one limit, at most t/T + max_burst+1 tokens pass in any stretch of length t, besides those given back.
//   - Waiting retry_after seconds and repeating the call passes if no other call came meanwhile. A refused call says 1
//     second or more, or -1 if waiting cannot help.
//
// # Numbers without overflow
//
// Any int64 may come in as any argument. T alone may need 93 bits and T·quantity 156, but two instants are never further apart
// than 2⁶⁴-1 ns, so a debt always fits 64 bits, and a product only has to be compared with a debt: type span holds it exactly
// up to 2⁶⁴-1 and knows it as "beyond" from there on. The same few instructions then serve ordinary and extreme calls: a
// 64-bit multiplication on today's processors yields its upper half anyway. Rejected: float64, as in redis-cell (remaining
// above the limit); answering an overflow with an error, as in Dragonfly (limits of more than 292 years are legal, the debts
// under them are short); and a plain int64 path beside a 128-bit one (every formula twice, to save about 2 ns).
//
// The one thing that must fit int64 is a TAT to be stored. It cannot pass the end of Unix nanoseconds in the year 2262.
//
// The rules are those of redis-cell 0.5.0 where it is right; testdata holds 900 traces recorded from it, with the right
// answers where it is not.
package gcra
