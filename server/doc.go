// Package server serves the keyspace to clients of Redis: event loops, connections, the command table, the clock, the
// configuration and INFO. Everything that has an order in time is decided here; what is decided lies in the packages
// below, which have no I/O and no clock.
//
// # Loops and shards
//
// The keyspace is cut into shards by the top bits of a key's hash. Each shard has one [loop], which runs on one thread,
// owns the shard's engine and a part of the connections, and works in passes:
//
//	messages -> read every ready connection once -> parse all commands -> execute -> write replies -> sweep -> wait
//
// A pass gives every connection one short turn, first come, first served. Those whose commands are long share a part of each
// pass: see turns.go. Commands that may be much work and need not be one step, such as KEYS, are done in steps of a fraction
// of a millisecond, one in each of their turns: see task.go. What a closed connection leaves behind goes in pieces too: see
// chores.go. So a bystander waits for little, whatever others ask for.
//
// A pass handles a batch of up to 128 calls at a time. Parsing them all before the first is executed lets the memory
// accesses of their keys overlap; writing after the last makes one system call of all replies to a connection.
//
// # One writer
//
// A shard is used by one goroutine at any instant, which its state word (type ownership) says: running, waiting or lent.
// A call on another loop's shard is carried out in place while that loop waits in its poller: one compare-and-swap
// borrows the shard, another store gives it back, and nobody is woken. Where that loop runs, the calls of the batch for
// it travel as one parcel through its inbox and come back the same way. While a batch has parcels out its connections
// are left alone, so a connection's commands are executed and answered in their order.
//
// A command over several shards (DEL of many keys, RENAME, DBSIZE) takes the shards that it needs and runs as one
// step: see exclusively. That is how Redis's atomicity of such commands is kept. Sending parts of a command to each shard
// and adding the answers up would be cheaper, and would let others see half of it.
//
// # Order of effects
//
// loop.finish is the end of a batch. All its calls have been applied; it commits their effects to the log, and only then
// writes the replies (journal.go).
//
// # Time
//
// A loop reads the clock once per pass. The clock is the wall time at the start plus the monotonic time since, so a step
// of the wall clock changes no decision.
//
// # Front ends
//
// Package netio accepts connections, moves their bytes and tells loops which of them are ready: on Linux by epoll and raw
// system calls, elsewhere by goroutines that serve each connection. This package can't tell the two apart: it sees a
// transport and a poller.
//
// # Pushed messages and waiting
//
// Messages to subscribers and the feed of MONITOR are pushed to connections by their own loops, to which they come through
// the inbox: see pubsub.go, monitor.go and push.go. CLIENT PAUSE makes connections wait, never loops: see pause.go. A
// command meets all of this in one function, screen, and only where its connection or the server has such a state.
//
// # Limits
//
// Many clients send a whole pipeline before they read the first reply, so a peer that does not read is served on and its
// replies are kept. Past its share of what all connections together may keep it stops being read, until it reads; next to
// nothing is kept for one that has to authenticate first: see unsent.go. One that messages are pushed to is closed when it
// is too far behind. Input and output held for a connection have limits of the configuration, past which it is closed. A
// protocol error is answered in Redis's words and ends the connection.
package server
