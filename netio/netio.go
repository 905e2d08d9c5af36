package netio

import (
	"errors"
	"net"
	"time"
)

// A Transport moves a connection's bytes. Its methods never block.
type Transport interface {
	// Read returns ErrWouldBlock where nothing has arrived, and io.EOF where nothing will.
	Read(p []byte) (int, error)
	// Write takes as much as it can: n < len(p) comes with ErrWouldBlock or the connection's failure.
	Write(p []byte) (n int, err error)
	// Await says what the connection wants to be told of from now on. At first that is input.
	Await(what Interest)
	// Refuse sends a last word, if the peer takes it at once, and closes. It serves a connection that no poller has yet.
	Refuse(reply string)
	// Close ends the connection. One that a poller has is removed from it first. What Write took is still sent, as far as the peer takes it.
	Close()
	// Describe returns the peer's address, the own address and the descriptor (-1 where there is none).
	Describe() (peer, local string, fd int)
	// IsUnix says whether it is a Unix socket.
	IsUnix() bool
}

// An Interest is what makes a connection ready: any of its bits.
type Interest int

// What a connection may wait for.
const (
	ForInput   Interest = 1 << iota
	ForRoom             // the peer has read, so that more can be written
	ForNothing Interest = 0
)

// ErrWouldBlock says that a transport can do no more now.
var ErrWouldBlock = errors.New("netio: operation would block")

// A Handle is what a loop calls one of its connections: a pointer, which a Poller keeps and gives back.
type Handle interface {
	// Announce tells the loop that the connection is ready, where Wait can't. Any goroutine may call it, any number of times,
	// from within Read and Await too.
	Announce()
}

// A Poller is where a loop waits. But for Wake, only the loop calls it.
type Poller interface {
	// Wait blocks until a connection is ready, Wake is called or the timeout has passed, and appends the ready ones. It counts
	// whole milliseconds. A loop that has been idle for long says so: it need not come back within microseconds. One that has
	// not may come back before the timeout.
	Wait(ready []Handle, timeout time.Duration, idle bool) []Handle
	// Wake ends a wait, the next one if there is none now. Any goroutine may call it.
	Wake()
	// Add takes a new connection on.
	Add(t Transport, handle Handle) error
	// Remove forgets a connection that is about to be closed.
	Remove(t Transport)
	// Accept has the connections that come to the listeners accepted until StopAccepting, or until the listeners are closed.
	// It is called once at most, and the listeners are of no use to the caller afterwards but to be closed.
	Accept(listeners []net.Listener, by *Acceptor) error
	// StopAccepting accepts no more from what Accept has got, except from listeners that are for the caller to close.
	StopAccepting()
	// Close frees what the poller itself takes. The loop must have ended, and so must all calls of Wake.
	Close()
}

// Names of front ends.
const (
	Epoll      = "epoll"      // one epoll instance per loop, Linux only
	Goroutines = "goroutines" // two goroutines per connection, everywhere
)

// newPollers has the front ends of this system by their names. The best one for the system adds itself.
var newPollers = map[string]func() (Poller, error){Goroutines: newSignalPoller}

// FrontEnds returns the names of those that this system has, the best one first.
func FrontEnds() []string {
	if newPollers[Epoll] == nil {
		return []string{Goroutines}
	}
	return []string{Epoll, Goroutines}
}

// NewPoller makes a loop's poller, with a front end that this system has.
func NewPoller(frontEnd string) (Poller, error) { return newPollers[frontEnd]() }

// IdleAfter is how long a loop must have had nothing to do to count as idle.
const IdleAfter = 20 * time.Millisecond
