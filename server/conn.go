package server

import (
	"time"

	"github.com/cellserver/cellserver/acl"
	"github.com/cellserver/cellserver/netio"
	"github.com/cellserver/cellserver/resp"
)

// How CLIENT REPLY sets a connection.
const (
	replyOn = iota
	replyOff
	replySkipNext // the command after this one gets no reply
	replySkipThis
)

// A conn is one client's connection. All of it belongs to the connection's loop; a loop that executes one of its calls
// reads version.
type conn struct {
	transport netio.Transport
	notice    notice // by goroutines that serve the transport
	loop      *loop
	id        int64

	parser resp.Parser
	held   *heldCommand
	in     []byte // input that could not be used up when it arrived; begins at a command's first byte
	buffer []byte // the memory that in is a part of
	out    []byte // the output since the last flush
	unsent unsent // that before it, as far as it could not be written

	batch    *batch // holds an entry of this connection
	task     *task  // that it is at; nil: none
	pending  bool   // c.in or c.held has commands to carry out; nothing is read before they are
	readable bool   // became readable when it could not be read
	queued   bool   // waits for a turn: in loop.turns or loop.heavy
	roused   bool   // something has happened to the transport since the last turn
	heavy    bool   // its turns are long: see turns.go
	full     bool   // so much output waits for the peer to read that nothing is read meanwhile; in loop.full
	awaits   netio.Interest
	waiting  bool // the next command waits for the end of a pause, or of the server; nothing is read meanwhile
	closing  bool // to be closed once the output is written
	killed   bool // its loop is to close it, and may not know yet
	closed   bool

	subs          *subscriptions // nil: none
	monitoring    bool           // is fed by MONITOR
	special       bool           // has a state that commands depend on: see loop.screen
	pushed        bool           // in loop.pushed
	answersAnyway bool           // the reply to the current command is one that CLIENT REPLY doesn't silence
	behindSinceNs int64          // the unsent output is past the soft limit since then (the store's clock); 0: it is not
	peer, local   string         // see addresses
	fd            int

	version       int // of RESP
	db            int
	reply         int
	name          string
	libName       string
	libVer        string
	noEvict       bool
	noTouch       bool
	tracking      tracking
	authenticated bool // it has shown who it is, or need not
	last          *command
	user          *acl.User
	multi         *transaction  // since MULTI; nil: none
	watched       []watchedKeys // by shard; nil: none
	executing     bool          // EXEC
	created       time.Duration // since the server's start
	lastUseNs     int64         // the store's clock
}

// beginCommand and endCommand stand around every command and keep count of CLIENT REPLY SKIP. endCommand says whether the
// command gets no reply; CLIENT REPLY ON, in between, gets one.
func (c *conn) beginCommand() {
	if c.reply == replySkipNext {
		c.reply = replySkipThis
	}
}

func (c *conn) endCommand() (mute bool) {
	mute = (c.reply == replyOff || c.reply == replySkipThis) && !c.answersAnyway
	c.answersAnyway = false
	if c.reply == replySkipThis {
		c.reply = replyOn
	}
	return mute
}

// keptInputBytes is the largest input buffer that a connection keeps while it is empty.
const keptInputBytes = 1 << 10

// keep stores input that has to wait. Bytes that lie in c.in already stay where they are.
func (c *conn) keep(rest []byte) {
	switch {
	case len(rest) == 0:
		c.dropInput()
	case len(c.in) > 0 && &rest[len(rest)-1] == &c.in[len(c.in)-1]:
		c.in = rest
	default:
		if len(rest) > cap(c.buffer) {
			c.dropInput()
			c.buffer = c.loop.inputBuffer(len(rest))
		}
		c.in = append(c.buffer[:0], rest...)
	}
}

// growInput moves c.in to a buffer with room for at least as much again, or for the end of the argument that is arriving.
func (c *conn) growInput() {
	size := 2 * len(c.in)
	if need := c.parser.Need(); need > len(c.in) {
		size = min(size, need)
	}
	c.buffer = make([]byte, 0, size+leastReadBytes)
	c.in = append(c.buffer, c.in...)
}

// dropInput empties c.in, and gives its buffer back unless it is a small one.
func (c *conn) dropInput() {
	c.in = nil
	if cap(c.buffer) > keptInputBytes {
		c.loop.server.memory.letGo(cap(c.buffer))
		c.loop.inputs.give(c.buffer)
		c.buffer = nil
	}
}

// flush writes what it can of the output and closes the connection where that is due.
func (c *conn) flush() {
	if c.closed {
		return
	}
	if (c.stalled() || len(c.out) > 0) && !c.send() {
		return
	}
	c.loop.server.memory.letGo(cap(c.out))
	c.loop.outputs.give(c.out)
	c.out, c.behindSinceNs = nil, 0
	if c.closing {
		c.loop.close(c)
		return
	}
	if c.awaits&netio.ForRoom != 0 {
		c.judge()
	}
}

// send writes output and returns whether all of it is gone. What a peer that does not read leaves is set aside.
func (c *conn) send() bool {
	written, err := 0, error(nil)
	if c.stalled() {
		err = c.sendUnsent()
	}
	if err == nil && len(c.out) > 0 {
		written, err = c.put(c.out)
	}
	switch err {
	case nil:
		return true
	case netio.ErrWouldBlock:
		c.setAside(written)
	default:
		c.loop.close(c)
	}
	return false
}

// put writes and counts that.
func (c *conn) put(p []byte) (n int, err error) {
	n, err = c.transport.Write(p)
	if n > 0 {
		c.lastUseNs = c.loop.now
	}
	c.loop.stats.writes++
	c.loop.stats.outputBytes += uint64(n)
	return n, err
}

// updateInterest tells the transport what the connection wants to be told of now, unless it knows.
func (c *conn) updateInterest() {
	what := netio.ForNothing
	if c.stalled() {
		what |= netio.ForRoom
	}
	if !c.full && !c.waiting && !c.closing {
		what |= netio.ForInput
	}
	if what != c.awaits {
		c.awaits = what
		c.transport.Await(what)
	}
}

// addresses returns the peer's address, the own address and the descriptor (-1 where there is none). They are asked for
// once: who lists thousands of connections does so while their loops stand still.
func (c *conn) addresses() (peer, local string, fd int) {
	if c.local == "" {
		c.peer, c.local, c.fd = c.transport.Describe()
	}
	return c.peer, c.local, c.fd
}

// A connSet is a set of connections.
type connSet map[*conn]struct{}
