// Package netio accepts connections, moves their bytes and waits for them. It knows neither what the bytes mean nor what a
// connection is to the program: a loop gives it a handle for each, and gets the handles back whose connections are ready.
//
// # What a loop may assume
//
// A loop is a goroutine that has a [Poller] and takes connections on, which reach it as a [Transport] each. It works in
// passes: Wait, then serve what is ready.
//
// The methods of a transport never block, and only the loop that has it calls them. Read and Write do as much as they can
// now; where that is not all, they say [ErrWouldBlock], and the loop turns to others until it is told that there is more.
// What it wants to be told of, input or room for output, it says by Await; that stays so until it says otherwise.
//
// A loop may be told for nothing, or of what it does not wait for, and then meets ErrWouldBlock. It may be told once only of
// what has arrived, so it must remember that until it reads. A Read that leaves something has it told again: one Read per
// pass is enough, and gives others their turn. The end of a connection, too, is found by reading.
//
// Readiness reaches a loop in two ways. Sockets that the poller watches are told of by Wait. A transport that goroutines
// serve calls the handle's Announce, which must bring the news to the loop's goroutine and wake it.
//
// Wait, Read and Write allocate nothing.
//
// # Two front ends
//
// On Linux a loop polls its connections' sockets: with epoll, in raw system calls, without another goroutine. Elsewhere two
// goroutines serve each connection: one reads ahead, by one buffer, and one writes what the loop leaves.
// That costs a hand-over per read and write, and is portable: it needs nothing but package net. Loops can't tell the two
// apart. TLS is served by goroutines on every system, because Go's implementation can't be driven by readiness.
//
// # Raw system calls
//
// An ordinary system call tells Go's scheduler before and after that the thread may block. On sockets that are ready this
// costs more than the call, and the scheduler gives the processor of a loop that waits to others and has to find it one
// afterwards. So reads, writes and the waits of a busy loop are raw calls, of which the scheduler knows nothing.
//
// What makes that safe for reads and writes: the sockets never block. What makes it safe for the wait: the collector and the
// scheduler stop a goroutine with a signal to its thread, the signal ends epoll_wait with EINTR, and the loop meets a safe
// point at its next function call. They repeat the signal until it works, so one that comes just before the wait is not
// lost. A loop that has been idle for [IdleAfter] waits by the ordinary call: its few microseconds don't matter then, and the
// processor is free for other goroutines. docs/decisions/0004-raw-system-calls.md has what was rejected.
//
// # Accepting
//
// [Poller.Accept] has connections accepted; each goes to the program as a transport, which places it with a loop. An error
// such as too many open files would only come again, and trying at once would keep a processor busy; so accepting rests for
// [AcceptPause] and then goes on. [Handshakes] do what comes before a connection of TLS can be served.
//
// The package writes no log and reads no configuration. It asks the clock where it has to: for those rests, and for how long
// a handshake or the last words to a client may take.
package netio
