package server

import "time"

// This file has the order in which a loop serves its connections.
//
// A connection waits for its turn in one of two queues, both first come, first served. Most wait in turns, and each has
// one turn in a pass. Those that take much time at once wait in heavy: they share heavyTime of a pass, in which at least
// one of them is served. So others wait for one long command and not for one of each client that sends such, and a
// connection's work, not the number of its commands, decides how often it is served.
//
// A connection is heavy when its turn was used up, by time, by the number of commands or by a batch of its own with more to
// come; when it has sent, or is sending, a very long command; as long as it has a task, and while it has output that the peer
// did not take at once. It is light again after a turn that was short.

const (
	// turnTime is how long a connection's commands may take, those of a batch aside, before its turn ends. Most commands take
	// a microsecond; one that takes longer than this ends the turn as well.
	turnTime = 100 * time.Microsecond
	// turnCommands is how many commands, those of a batch aside, are carried out in a turn.
	turnCommands = batchCalls
	// heavyTime is how long heavy connections are served in a pass, and stepTime how long a step of a task may take.
	heavyTime = 500 * time.Microsecond
	stepTime  = heavyTime / 2
	// wideWords is the size of the largest command that is carried out in a light turn: 0.1 ms of work, about.
	wideWords = 1 << 10
	// wideBytes is the same of a command that has not come whole yet.
	wideBytes = 64 << 10
)

// A connQueue is a queue of connections that wait for their turn.
type connQueue struct {
	conns []*conn
	first int
}

func (q *connQueue) len() int { return len(q.conns) - q.first }

func (q *connQueue) push(c *conn) { q.conns = append(q.conns, c) }

// pop returns the first; there must be one.
func (q *connQueue) pop() *conn {
	c := q.conns[q.first]
	q.conns[q.first] = nil
	q.first++
	switch {
	case q.first == len(q.conns):
		q.conns, q.first = q.conns[:0], 0
	case q.first > len(q.conns)/2 && len(q.conns) == cap(q.conns): // it would grow at the next push
		n := copy(q.conns, q.conns[q.first:])
		clear(q.conns[n:])
		q.conns, q.first = q.conns[:n], 0
	}
	return c
}

// enqueue has a connection wait for a turn, unless it does already.
func (l *loop) enqueue(c *conn) {
	switch {
	case c.queued || c.closed:
		return
	case c.heavy:
		l.heavy.push(c)
	default:
		l.turns.push(c)
	}
	c.queued = true
}

// rouse notes that a connection is ready for anything: to be read, or to be written what waits.
func (l *loop) rouse(c *conn) {
	c.readable, c.roused = true, true
	l.enqueue(c)
}

// requeue has a connection served again if there is something to do for it.
func (l *loop) requeue(c *conn) {
	if !c.full && !c.waiting && (c.pending || c.readable || c.task != nil) {
		l.enqueue(c)
	}
}

// hasTurns says whether connections wait for their turn.
func (l *loop) hasTurns() bool { return l.turns.len()+l.heavy.len() > 0 }

// pass gives every connection that waits one turn, and heavy ones as far as there is time for them. In a turn it is read at
// most once, and one batch of its commands is carried out. What is left has its turn in the next pass, so that those who come
// meanwhile, at connections and in the inbox, wait for one turn of each of the others and not for all that they have sent.
func (l *loop) pass() {
	heavy := l.heavy.len()                                      // not those who become so in this pass: they have their turn now
	for left := l.turns.len(); left > 0 && l.turns.len() > 0; { // a busyPass in between takes them all
		b := l.beginBatch()
		for ; left > 0 && l.turns.len() > 0 && !b.full(); left-- {
			l.serve(b, l.turns.pop())
		}
		l.endBatch(b)
	}
	if heavy == 0 {
		return
	}
	l.heavyTurn = true
	for began := l.server.clock.uptime(); heavy > 0 && l.heavy.len() > 0 && l.server.clock.uptime()-began < heavyTime; heavy-- {
		b := l.beginBatch()
		l.serve(b, l.heavy.pop())
		l.endBatch(b)
	}
	l.heavyTurn = false
}

func (l *loop) beginBatch() *batch {
	l.stepAside()
	l.drain()
	l.lookAround()
	l.quietNs = l.now
	return l.takeBatch()
}

func (l *loop) endBatch(b *batch) {
	l.execute(b)
	if len(l.feed) > 0 {
		l.shareFeed()
	}
}

// serve gives a connection its turn: what waits to be written is written, and then it has its place in the batch with what it
// has left to carry out, or else what can be read. A connection with a task has a step of it done instead.
//
// That nothing is read before the rest is carried out bounds the input that is held, and means that the end of the
// input, which a client may send right after its last command, is met after all commands.
func (l *loop) serve(b *batch, c *conn) {
	c.queued = false
	wasFull := c.full
	if c.roused && c.batch == nil && c.stalled() {
		c.flush()
		c.heavy = c.stalled() || c.task != nil
	}
	c.roused = false
	switch {
	case wasFull || c.full:
		return // it is queued again when it is full no longer
	case c.closed || c.closing || c.killed || c.waiting || c.batch != nil:
		return // it is queued again when the pause is over or its batch answered
	case c.task != nil:
		l.goOn(c)
		return
	}
	data, alive := c.in, true
	if !c.pending {
		c.readable = false
		data, alive = l.read(b, c)
	}
	if !alive {
		return
	}
	c.batch = b
	if c.out == nil {
		c.out = l.outputs.take()
	}
	if !c.authenticated {
		c.limitInput()
	}
	calls, keys := len(b.calls), b.furtherKeys
	l.turnSpent = 0
	rest, pending, others := l.parse(b, c, data)
	b.entries = append(b.entries, entry{c, rest, pending})
	if others > 0 || len(b.calls) > calls {
		c.heavy = l.turnSpent > turnTime || others >= turnCommands || b.furtherKeys-keys > wideWords || c.task != nil ||
			pending && len(b.calls)-calls == cap(b.calls)
	}
	c.heavy = c.heavy || c.held != nil && len(c.held.words) > wideWords || !pending && len(rest) > wideBytes
}
