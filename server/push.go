package server

import (
	"time"

	"github.com/cellserver/cellserver/config"
)

// This file writes to connections what they have not asked for: messages and the feed of MONITOR. It bounds what may
// wait for a client that reads too slowly.

// push appends to a connection's output. It is called between batches, as the inbox is drained; loop.flushPushed writes, once a pass.
func (c *conn) push(data []byte) {
	if c.closed || c.closing {
		return
	}
	l := c.loop
	if c.out == nil {
		c.out = l.outputs.takeFor(len(data))
	}
	c.out = append(c.out, data...)
	if !c.pushed {
		c.pushed = true
		l.pushed.push(c)
	}
	if len(c.out) > pauseOutputBytes {
		c.flushPushed()
	}
	if !c.closed && c.exceedsOutput() {
		c.closeBehind()
	}
}

// closeBehind closes a connection for what it has not read.
func (c *conn) closeBehind() {
	c.loop.stats.outputLimitCloses++
	c.loop.server.log.warning("Client %d closed for overcoming of output buffer limits: %d bytes are unsent.", c.id, c.unsentBytes())
	c.loop.close(c)
}

// flushPushed writes what was pushed, or leaves it to who does anyway: after the connection's batch, or when the peer has
// read what it was sent before.
func (c *conn) flushPushed() {
	switch {
	case c.batch != nil:
	case c.stalled():
		c.setAside(0)
	default:
		c.flush()
	}
}

// flushedAtOnce is how many connections that something was pushed to are written to at once: 0.3 ms of system calls, about.
const flushedAtOnce = 64

// flushPushed writes to the connections that something was pushed to longest ago.
func (l *loop) flushPushed() {
	for range min(l.pushed.len(), flushedAtOnce) {
		c := l.pushed.pop()
		c.pushed = false
		c.flushPushed()
	}
}

// outputLimit returns the connection's limit. Those of MONITOR have that of subscribers: in Redis they count as normal
// clients, which have none, and one that does not read fills the memory.
func (c *conn) outputLimit() *config.OutputLimit {
	switch {
	case c.subs != nil || c.monitoring:
		return &c.loop.server.config().OutputLimits.PubSub
	case c.mustAuthenticate():
		return &strangersOutputLimit
	}
	return &c.loop.server.config().OutputLimits.Normal
}

// exceedsOutput says whether the connection is to be closed for what it has not read, and keeps the time since when it
// is past its soft limit.
func (c *conn) exceedsOutput() bool {
	l, unsent, limit := c.loop, int64(c.unsentBytes()), c.outputLimit()
	if limit.HardBytes > 0 && unsent >= limit.HardBytes {
		return true
	}
	switch {
	case limit.SoftBytes == 0 || unsent < limit.SoftBytes:
		c.behindSinceNs = 0
	case c.behindSinceNs == 0:
		c.behindSinceNs = l.now
		l.behind[c] = struct{}{}
	default:
		return l.now-c.behindSinceNs > limit.SoftSeconds*int64(time.Second)
	}
	return false
}

// lookAfterEvery is how often a loop looks for clients that were silent, or behind, for too long.
const lookAfterEvery = time.Second

// lookAfterClients closes the connections past their soft limit, and those that have been idle for longer than the
// configuration allows. Subscribers, monitors and those that wait may be silent for ever.
func (l *loop) lookAfterClients() {
	if l.now-l.lookedAfterNs < int64(lookAfterEvery) {
		return
	}
	l.lookedAfterNs = l.now
	for c := range l.behind {
		if !c.closed && c.exceedsOutput() {
			c.closeBehind()
		}
		if c.closed || c.behindSinceNs == 0 {
			delete(l.behind, c)
		}
	}
	timeout := int64(l.server.config().TimeoutSeconds) * int64(time.Second)
	if timeout == 0 {
		return
	}
	for _, c := range l.conns {
		if l.now-c.lastUseNs > timeout && c.subs == nil && !c.monitoring && !c.waiting && c.batch == nil {
			l.server.log.verbose("Closing idle client %d", c.id)
			l.close(c)
		}
	}
}
