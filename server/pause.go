package server

import (
	"slices"
	"time"
)

// This file makes commands wait for the end of a CLIENT PAUSE. No loop is blocked: a connection whose next command must
// wait is left alone, as one whose calls are with other loops is, until its loop sees that the pause is over.

// A clientPause is a pause that CLIENT PAUSE has set.
type clientPause struct {
	endNs int64 // the store's clock
	all   bool  // all commands wait, not only those that write
}

// pauseClients sets a pause, or extends the one that there is: the later end and the stricter kind count.
func (s *Server) pauseClients(now int64, length time.Duration, all bool) {
	end := now + int64(length)
	for {
		old := s.pause.Load()
		next := &clientPause{endNs: end, all: all}
		if old != nil && old.endNs > now {
			next.endNs, next.all = max(next.endNs, old.endNs), next.all || old.all
		}
		if s.pause.CompareAndSwap(old, next) {
			return
		}
	}
}

// unpauseClients ends the pause and has all loops see it.
func (s *Server) unpauseClients() {
	s.pause.Store(nil)
	s.tell((*loop).lookAround)
}

// lookAround notes what applies to all commands of the next batch: whether anybody monitors, and whether clients are
// paused. After a pause those who waited go on.
func (l *loop) lookAround() {
	l.monitored = l.server.monitors.Load() > 0
	l.paused = l.server.pause.Load()
	if l.paused != nil && l.paused.endNs <= l.now {
		l.paused = nil
	}
	if l.paused == nil && len(l.waiting) > 0 {
		l.resumeWaiting()
	}
}

// holdsBack says whether the pause makes a command wait. Monitors are exempt: to Redis they are a kind of replica.
func (l *loop) holdsBack(c *conn, cmd *command) bool {
	return l.paused != nil && !c.monitoring && (l.paused.all || c.mayWrite(cmd))
}

// mayWrite says whether the command may change the keyspace or reach other clients: whether a pause of writing concerns it.
func (c *conn) mayWrite(cmd *command) bool {
	if cmd.name == "exec" && c.multi != nil {
		return slices.ContainsFunc(c.multi.commands, func(queued queuedCommand) bool { return c.mayWrite(queued.command) })
	}
	runsScript := cmd.countedAt > 0 && !cmd.has("readonly")
	return cmd.has("write") || cmd.publishes || runsScript
}

// awaitUnpause leaves a connection alone until the pause is over.
func (l *loop) awaitUnpause(c *conn) {
	c.waiting = true
	c.updateInterest()
	l.waiting = append(l.waiting, c)
}

func (l *loop) resumeWaiting() {
	for _, c := range l.waiting {
		if c.closed {
			continue
		}
		c.waiting = false
		c.updateInterest()
		if c.batch == nil {
			l.requeue(c)
		}
	}
	clear(l.waiting)
	l.waiting = l.waiting[:0]
}

// pauseLeft returns how long the loop may sleep without keeping those waiting who need not.
func (l *loop) pauseLeft() time.Duration {
	if l.paused == nil || len(l.waiting) == 0 {
		return tick
	}
	return max(0, time.Duration(l.paused.endNs-l.now)) + time.Millisecond // the poller counts whole ones
}
