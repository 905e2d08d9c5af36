package server

import (
	"slices"
	"time"

	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/keyspace"
	"github.com/cellserver/cellserver/resp"
)

const (
	// batchCalls is how many calls are parsed before any is executed. Enough for the keys' memory accesses to overlap
	// and for every ready connection at pipeline depth 1; few enough for the calls to stay in the processor's cache.
	batchCalls = 128
	// inputBytes is the room for the input of a batch, which its calls point into.
	inputBytes = 128 << 10
	// readBytes is the most that is read from a connection in a pass, so that one that sends without end takes turns.
	readBytes = 64 << 10
	// leastReadBytes is the least room worth a read; a batch with less left is full. Redis reads this much at a time.
	leastReadBytes = 16 << 10
	// keptBatchWords is for how many words of commands a batch keeps memory.
	keptBatchWords = 16 << 10
	// keptReplyBytes is the longest reply buffer that a call keeps for the next batch.
	keptReplyBytes = 1 << 10
)

// A call is one command on keys of one shard, from when it is parsed until its reply is in the connection's output.
type call struct {
	conn    *conn
	command *command   // nil where the command is turned down, with err for a reply
	key     engine.Key // the first key
	args    [][]byte   // all words of the command; not kept for CL.THROTTLE and CL.PROBE
	shard   int
	mute    bool // CLIENT REPLY OFF or SKIP: nobody wants the reply

	limit    gcra.Limit // of CL.THROTTLE and CL.PROBE
	quantity int64
	err      error // what was wrong with the arguments: the reply

	reply []byte // the reply, where it could not go to the connection's output at once
}

// An entry is what a batch notes of a connection that has its turn: the input that is left for later.
type entry struct {
	conn    *conn
	rest    []byte
	pending bool // there are commands left that had to wait for the batch
}

// A batch is the unit of a loop's work: the commands of many connections, parsed together, then executed, then
// answered. While some of its calls are with other loops it is in flight, and its connections are left alone.
type batch struct {
	calls       []call
	entries     []entry
	input       []byte
	used        int // input[:used] is taken
	words       [][]byte
	parcels     []*parcel     // by shard; the calls for it
	staged      bool          // replies are gathered in the calls, since they come out of order
	outstanding int           // parcels sent and not returned
	furtherKeys int           // of calls with several
	spent       time.Duration // on executing the calls
	position    uint64        // of the log, up to which it must be safe before the replies leave
}

func newBatch(shards int) *batch {
	return &batch{
		calls:   make([]call, 0, batchCalls),
		input:   make([]byte, inputBytes),
		parcels: make([]*parcel, shards),
	}
}

// full says that the batch should be executed before more is read.
func (b *batch) full() bool {
	return len(b.calls) == cap(b.calls) || len(b.input)-b.used < leastReadBytes
}

// add returns a call for loop.add and its callers to fill in: it has the fields of its earlier use, of which those that
// its kind of command does not use mean nothing. Clearing them all first took as long as parsing an argument.
func (b *batch) add() *call {
	b.calls = b.calls[:len(b.calls)+1]
	return &b.calls[len(b.calls)-1]
}

// freshReply returns an empty buffer for a reply that can't go to the connection's output at once: that of the call's
// last use, unless it was for a long one.
func (c *call) freshReply() []byte {
	if cap(c.reply) > keptReplyBytes {
		return nil
	}
	return c.reply[:0]
}

// keep copies the words of a command into the batch; the parser's slice is good for one command only.
func (b *batch) keep(args [][]byte) [][]byte {
	first := len(b.words)
	b.words = append(b.words, args...)
	return b.words[first:len(b.words):len(b.words)]
}

// reset empties the batch for its next use.
func (b *batch) reset() {
	if cap(b.words) > keptBatchWords {
		b.words = nil
	}
	clear(b.words)
	clear(b.entries)
	b.calls, b.entries, b.words = b.calls[:0], b.entries[:0], b.words[:0]
	b.used, b.furtherKeys, b.spent, b.position = 0, 0, 0, 0
	b.staged = false
}

// A parcel holds the calls of one batch for one other shard, on the way there and back.
type parcel struct {
	envelope
	origin   *loop
	batch    *batch
	calls    []*call
	spent    time.Duration // on executing the calls
	position uint64        // of the log after them
}

// parcelFor returns the batch's parcel for a shard.
func (l *loop) parcelFor(b *batch, shard int) *parcel {
	if b.parcels[shard] == nil {
		p := &parcel{origin: l, batch: b}
		p.onShard = true
		p.deliver = p.arrive
		b.parcels[shard] = p
	}
	return b.parcels[shard]
}

// arrive is the parcel's delivery: at the shard's loop its calls are executed and it is sent back; back home its batch
// is finished if it was the last one missing.
func (p *parcel) arrive(l *loop) {
	if l != p.origin {
		started := l.server.clock.uptime()
		l.executeParcel(p, l)
		p.spent = l.server.clock.uptime() - started
		p.origin.post(&p.envelope)
		return
	}
	p.calls = p.calls[:0]
	p.batch.spent += p.spent
	p.batch.position = max(p.batch.position, p.position)
	p.batch.outstanding--
	if p.batch.outstanding == 0 {
		l.finish(p.batch)
	}
}

func (l *loop) executeParcel(p *parcel, of *loop) {
	e := of.engine
	e.Advance(l.now)
	for calls := range slices.Chunk(p.calls, keyspace.PreloadKeys) {
		for _, c := range calls {
			e.Announce(&c.key)
		}
		e.Preload()
		for _, c := range calls {
			c.reply = l.apply(c, e, c.freshReply())
		}
	}
	p.position = of.handOver(l.now)
}

// execute runs the calls of a batch: those of other shards first, so that they are on their way while the loop's own
// are decided.
func (l *loop) execute(b *batch) {
	b.position, l.stepped = l.stepped, 0
	if len(b.calls) == 0 {
		l.finish(b)
		return
	}
	started := l.server.clock.uptime()
	if len(b.parcels) > 1 {
		l.dispatch(b)
	}
	l.engine.Advance(l.now)
	for calls := range slices.Chunk(b.calls, keyspace.PreloadKeys) {
		l.executeOwn(b, calls)
	}
	b.position = max(b.position, l.handOver(l.now))
	b.spent += l.server.clock.uptime() - started
	if b.outstanding == 0 {
		l.finish(b)
	}
}

// executeOwn executes those of some of a batch's calls that are on the loop's own shard.
func (l *loop) executeOwn(b *batch, calls []call) {
	for i := range calls {
		if c := &calls[i]; c.shard == l.index {
			l.engine.Announce(&c.key)
		}
	}
	l.engine.Preload()
	for i := range calls {
		c := &calls[i]
		switch {
		case c.shard != l.index:
		case b.staged:
			c.reply = l.apply(c, l.engine, c.freshReply())
		case c.mute:
			l.apply(c, l.engine, nil)
		default:
			c.conn.out = l.apply(c, l.engine, c.conn.out)
		}
	}
}

// dispatch gets the calls for other shards executed: in place where the shard's loop is waiting and lends it, else by
// sending them over.
func (l *loop) dispatch(b *batch) {
	for i := range b.calls {
		if c := &b.calls[i]; c.shard != l.index {
			p := l.parcelFor(b, c.shard)
			p.calls = append(p.calls, c)
			b.staged = true
		}
	}
	for shard, p := range b.parcels {
		if p == nil || len(p.calls) == 0 {
			continue
		}
		target := l.server.loops[shard]
		if target.owner.borrow() {
			l.executeParcel(p, target)
			target.owner.giveBack()
			b.position = max(b.position, p.position)
			p.calls = p.calls[:0]
		} else {
			b.outstanding++
			target.post(&p.envelope)
		}
	}
}

// apply executes one call on its shard's engine and appends the reply to dst.
func (l *loop) apply(c *call, e *engine.Engine, dst []byte) []byte {
	err := c.err
	if err == nil && c.command.decide != nil {
		decision := &l.decision
		if err = c.command.decide(e, &c.key, &c.limit, c.quantity, decision); err == nil {
			return resp.AppendThrottle(dst, decision.Limited, decision.Limit, decision.Remaining, decision.RetryAfter, decision.ResetAfter)
		}
	}
	// The writer is the loop's: a handler takes it by pointer, and one of its own would have to be allocated.
	w := &l.writer
	*w = resp.Writer{Buf: dst, Version: c.conn.version}
	if err != nil {
		w.Error(err.Error())
	} else {
		c.command.keyed(l.server, c, w)
	}
	if w.Buf[len(dst)] == '-' {
		l.stats.countError(c.command, w.Buf[len(dst):])
	}
	return w.Buf
}
