package netio

import (
	"errors"
	"net"
	"time"
)

// An Acceptor says what becomes of the connections that are accepted. Its functions are called by any goroutine, a loop's own
// included, and by several at a time.
type Acceptor struct {
	// KeepAliveSeconds returns after how long without a sign of life the peers of new connections are probed; 0: never.
	KeepAliveSeconds func() int
	// Take gets each new connection. It should be quick: others wait to be accepted.
	Take func(t Transport)
	// Rests learns of errors that have accepting rest for AcceptPause.
	Rests func(err error)
}

// AcceptPause is how long accepting rests after an error such as too many open files, which trying again at once would
// only repeat.
const AcceptPause = 100 * time.Millisecond

// keepAliveProbes is how many probes of a silent peer may stay unanswered. probeInterval returns the seconds between them.
// Both are Redis's.
const keepAliveProbes = 3

func probeInterval(keepAliveSeconds int) int { return max(1, keepAliveSeconds/3) }

// acceptOn accepts until the listener is closed.
func (a *Acceptor) acceptOn(listener net.Listener, take func(nc net.Conn)) {
	for {
		nc, err := listener.Accept()
		switch {
		case err == nil:
			take(nc)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			a.Rests(err)
			time.Sleep(AcceptPause)
		}
	}
}

// takeStream passes on a connection that goroutines are to serve.
func (a *Acceptor) takeStream(nc net.Conn) { a.Take(newStream(nc, a.KeepAliveSeconds())) }
