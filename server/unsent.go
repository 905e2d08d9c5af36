package server

import (
	"bytes"

	"github.com/cellserver/cellserver/config"
	"github.com/cellserver/cellserver/netio"
)

// This file keeps the output that a connection's peer has not read.
//
// Many clients send a whole pipeline before they read the first reply. Were their connection not read while its output
// waits, both sides would wait for ever. So it is read on and its replies are kept, up to a share of what all connections
// together may keep: a peer that never reads costs that much and is then not read either, until it reads. What lies in a
// queue of buffers is written as it is and never moved, however much it is.

const (
	// maxUnsentBytes is how much memory the unsent output of all connections together may take while they are still read.
	// It is what a server for rate limits can spare for clients that may never read.
	maxUnsentBytes = 256 << 20
	// unsentShare is the part of what is left of maxUnsentBytes that one connection may take: a third. One alone has 64 MiB
	// so, which is some 2.5 million replies to CL.THROTTLE. Each that takes all it can leaves three quarters of what it
	// found, so that those who come later find something too.
	unsentShare = 3
	// sendBytes is the most unsent output that a connection is sent in its turn: a peer that reads as fast as it is sent to
	// must not keep the others waiting. It is what a stream takes at a time.
	sendBytes = netio.StreamBytes
)

// strangersOutputLimit takes the place of the configuration's for a connection that has to authenticate first. Its peer may be
// anybody, so next to nothing is kept for it: while any output waits the connection is not read, and soon it is closed. Redis
// closes it as soon as it would keep 1 KiB (CVE-2025-21605); the seconds here are for a peer that reads, but late.
var strangersOutputLimit = config.OutputLimit{
	HardBytes:   8 << 10, // more than the replies to one turn's commands, but for those that repeat long words
	SoftBytes:   1,
	SoftSeconds: 2,
}

// exceedsShare says whether a connection's unsent output is more than its share, with total that of all connections, both
// in bytes of memory.
func exceedsShare(held, total int64) bool { return held > (maxUnsentBytes-total)/unsentShare }

// unsent is output that has to wait for the peer to read: a queue of output buffers.
type unsent struct {
	buffers [][]byte // oldest first; none is empty
	written int      // bytes of buffers[0]
	bytes   int      // that are not written
	held    int      // bytes of memory: the capacity of the buffers
	most    int      // that was held since there was nothing unsent
}

// add queues a buffer.
func (u *unsent) add(buffer []byte) {
	u.buffers = append(u.buffers, buffer)
	u.bytes += len(buffer)
}

// stalled says that output waits for the peer to read.
func (c *conn) stalled() bool { return len(c.unsent.buffers) > 0 }

// unsentBytes is the length of the output that is not written, that of the connection's turn included.
func (c *conn) unsentBytes() int { return c.unsent.bytes + len(c.out) }

// setAside adds the output, but for what of it is written, to what is unsent. It costs the connection its life where that
// passes the client's limit.
func (c *conn) setAside(written int) {
	u, out := &c.unsent, c.out
	c.out = nil
	u.bytes += len(out) - written
	if last := len(u.buffers) - 1; last >= 0 && len(out) <= cap(u.buffers[last])-len(u.buffers[last]) {
		u.buffers[last] = append(u.buffers[last], out...)
		c.loop.outputs.give(out)
	} else {
		if c.mustAuthenticate() { // it is not read from now on: there will be no more for the buffer
			c.loop.outputs.give(out)
			out, written = bytes.Clone(out[written:]), 0
		}
		u.buffers = append(u.buffers, out)
		c.holdUnsent(cap(out))
		u.written += written // nothing of out is written while there are others before it
	}
	if c.exceedsOutput() {
		c.closeBehind()
		return
	}
	c.judge()
}

// holdUnsent notes that unsent output takes so many bytes of memory more.
func (c *conn) holdUnsent(more int) {
	c.unsent.held += more
	c.unsent.most = max(c.unsent.most, c.unsent.held)
	c.loop.server.unsentMemory.Add(int64(more))
}

// sendUnsent writes what is unsent, as much as the peer takes and its turn allows.
func (c *conn) sendUnsent() error {
	u := &c.unsent
	for allowed := sendBytes; c.stalled(); {
		if allowed == 0 {
			return netio.ErrWouldBlock // as far as this turn goes; the transport tells of room again
		}
		first := u.buffers[0]
		n, err := c.put(first[u.written:min(len(first), u.written+allowed)])
		u.written += n
		u.bytes -= n
		allowed -= n
		if u.written == len(first) {
			u.buffers[0] = nil // the queue's memory outlives it
			u.buffers, u.written = u.buffers[1:], 0
			c.holdUnsent(-cap(first))
			c.loop.outputs.give(first)
		}
		if err != nil {
			return err
		}
	}
	u.buffers = nil
	c.loop.server.memory.letGo(u.most)
	u.most = 0
	return nil
}

// dropUnsent forgets what is unsent, at the connection's end.
func (c *conn) dropUnsent() {
	c.holdUnsent(-c.unsent.held)
	c.loop.server.memory.letGo(c.unsent.most)
	c.unsent = unsent{}
	delete(c.loop.full, c)
}

// judge decides whether the connection is read, by what is unsent.
func (c *conn) judge() {
	l, wasFull := c.loop, c.full
	c.full = c.stalled() && (c.mustAuthenticate() || exceedsShare(int64(c.unsent.held), l.server.unsentMemory.Load()))
	c.updateInterest()
	if c.full {
		l.full[c] = struct{}{}
	} else if wasFull {
		delete(l.full, c)
		l.requeue(c)
	}
}

// judgeFull has connections read again that now may be, because others have less unsent.
func (l *loop) judgeFull() {
	for c := range l.full {
		c.judge()
	}
}
