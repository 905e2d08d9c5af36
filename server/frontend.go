package server

import (
	"sync"
	"time"
)

// A front end brings connections and their bytes to the loops. All front ends feed the same loops with the same batches:
// they differ in how a loop learns that a connection is ready, and in the transport.
type frontEnd struct {
	newPoller func() (poller, error)
	accept    func(s *Server) error // starts accepting
}

// frontEnds are those that this system has, by the names of Config.IO. The best one for the system adds itself.
var frontEnds = map[string]frontEnd{
	ioGoroutines: {newPoller: newSignalPoller, accept: acceptWithGoroutines},
}

// A poller is where a loop waits.
type poller interface {
	// wait blocks until a connection is ready, wake is called or the timeout has passed, and appends the ready ones.
	// A loop that has been idle for long says so: it need not come back within microseconds.
	wait(ready []*conn, timeout time.Duration, idle bool) []*conn
	// wake ends a wait, the next one if there is none now. Any goroutine may call it.
	wake()
	add(c *conn) error
	remove(c *conn)
	stopAccepting()
	close()
}

// idleAfter is how long a loop must have had nothing to do to count as idle.
const idleAfter = 20 * time.Millisecond

// keepAliveProbes is how many probes of tcp-keepalive may stay unanswered. probeInterval returns the seconds between them.
// Both are Redis's.
const keepAliveProbes = 3

func probeInterval(keepAliveSeconds int) int { return max(1, keepAliveSeconds/3) }

// acceptPause is how long accepting rests after an error such as too many open files, which trying again at once would
// only repeat.
const acceptPause = 100 * time.Millisecond

// restLogEvery is how often the log tells that accepting rests: the error may stay for long.
const restLogEvery = 10 * time.Second

// restLog tells of errors of accepting, now and then.
type restLog struct {
	log  *logger
	mu   sync.Mutex
	last time.Time
}

func (r *restLog) tell(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.last) >= restLogEvery {
		r.last = now
		r.log.warning("accept: %v; trying again every %v", err, acceptPause)
	}
}
