package server

import (
	"math"
	"time"
)

// This file keeps the server answering while a script runs for long. A script has all shards, so no command on keys can
// be carried out meanwhile. Once it has run for busy-reply-threshold, the loops go on with their connections, and answer
// BUSY to all but the few commands that end the script or concern the connection alone: Redis's rule. WATCH is not among
// them as it is in Redis, for it needs the shard of its key.

const errBusy = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."

// busyWait is how long a loop waits for input at a time, and so about how late it notices that the script has ended.
const busyWait = 5 * time.Millisecond

// runGuarded runs a job that may take long, such as a script, on the runner, while the loop has all shards.
// The job must not touch what is the loop's.
func (l *loop) runGuarded(job func()) {
	ended := l.server.scripting.runner.start(job)
	threshold := time.NewTimer(l.busyThreshold())
	defer threshold.Stop()
	select {
	case <-ended:
		return
	case <-threshold.C:
	}
	l.server.busy.Store(true)
	defer l.server.busy.Store(false)
	for {
		select {
		case <-ended:
			return
		default:
			l.busyPass()
		}
	}
}

// busyThreshold is how long a script may run before others are answered BUSY.
func (l *loop) busyThreshold() time.Duration {
	millis := l.server.config().BusyReplyThresholdMillis
	if millis == 0 {
		return math.MaxInt64 // for ever
	}
	return time.Duration(millis) * time.Millisecond
}

// busyPass gives every connection that has something to say one turn, as pass does, but uses no shard. The loop may be in
// the middle of a pass, even of a command: what that needs later is set aside.
func (l *loop) busyPass() {
	answering, spent := l.answering, l.turnSpent
	l.refusing = true
	defer func() { l.answering, l.turnSpent, l.refusing = answering, spent, false }()
	l.words = nil // the command under way has its words there
	l.now = l.server.clock.now()
	l.woken.Store(false)
	l.drain()
	l.flushPushed()
	timeout := busyWait
	if l.turns.len()+l.pushed.len() > 0 {
		timeout = 0
	}
	l.look(timeout, true)
	for left := l.turns.len() + l.heavy.len(); left > 0; {
		b := l.takeBatch()
		for ; left > 0 && !b.full(); left-- {
			l.serveBusy(b)
		}
		l.finish(b)
	}
}

// serveBusy serves the next connection. One with a task, which may need a shard, waits on.
func (l *loop) serveBusy(b *batch) {
	queue := &l.turns
	if queue.len() == 0 {
		queue = &l.heavy
	}
	c := queue.pop()
	if c.task != nil && !c.closed {
		queue.push(c)
		return
	}
	l.serve(b, c)
}

// refuseWhileBusy returns the error for a command that can't be carried out while no shard may be used. In a transaction it
// is only queued, or, as WATCH and SHUTDOWN are there, refused for another reason.
//
// It comes after the questions of who the client is and what it may do: the commands that it lets pass end scripts, and the
// server.
func (l *loop) refuseWhileBusy(c *conn, cmd *command, words [][]byte) error {
	switch {
	case c.subs != nil && c.version == 2 && !cmd.whileSubscribed():
		return nil // screen refuses it: what a subscriber may not do comes first
	case !cmd.has("allow_busy"):
		return replyError(errBusy)
	case c.multi != nil:
		return nil
	case cmd.keys.step > 0:
		return replyError(errBusy)
	case cmd.name == "shutdown":
		if options, ok := parseShutdown(words[1:]); ok && !options.noSave && !options.abort {
			return replyError(errBusy)
		}
	}
	return nil
}
