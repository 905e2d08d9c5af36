package server

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/cellserver/cellserver/acl"
	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/netio"
	"github.com/cellserver/cellserver/persistence"
	"github.com/cellserver/cellserver/resp"
)

// A loop owns one shard of the keyspace and the connections assigned to it, and does all the work on them in passes:
//
//	deliver messages -> read every ready connection once -> parse -> execute -> write replies -> sweep -> wait
type loop struct {
	server        *Server
	index         int
	engine        *engine.Engine
	owner         ownership
	holds         []bool // the shards that the loop has taken for the step it is in; nil: in none
	inbox         inbox
	journal       *persistence.ShardLog // takes the changes of the shard to the log; nil: there is none
	stepped       uint64                // the log's position after the last step, for the batch that is being gathered
	misconfigured error                 // why changes must be refused now: the reply; nil: they need not
	deferred      []*envelope           // that a busyPass could not deliver
	woken         atomic.Bool
	poller        netio.Poller
	ready         []netio.Handle // of the last wait

	now         int64         // the store's clock at the start of the pass, Unix ns
	turns       connQueue     // those that wait for their turn: see turns.go
	heavy       connQueue     // and those whose turns are long
	heavyTurn   bool          // this one is a heavy connection's
	turnSpent   time.Duration // in this turn, on commands that are no calls of a batch
	chores      []chore
	conns       map[int64]*conn
	full        connSet      // those with so much unsent output that they are not read
	connections atomic.Int64 // assigned to the loop, those on their way to it included
	batches     []*batch     // free ones
	inputs      bufferPool   // for input that has to wait
	outputs     bufferPool
	words       [][]byte // of the command being parsed
	ownWords    bool     // those being carried out are nobody else's: they last
	lastName    []byte   // the command word looked up last, which is nearly always the next one too
	lastCommand *command
	pushed      connQueue    // have output that nobody has asked for, and that nobody has tried to write
	behind      connSet      // may be past their soft limit of output
	undelivered atomic.Int64 // bytes of messages that are on their way to the loop

	monitored    bool // somebody monitors
	monitors     connSet
	monitorCount atomic.Int64
	feed         []byte // what monitors are to see of the commands since the last batch
	paused       *clientPause
	waiting      []*conn // wait for the end of the pause

	request       acl.Request   // of the command whose user is not allowed everything
	writer        resp.Writer   // of the reply to the call being applied
	answering     resp.Writer   // of the reply to a command that is carried out at once
	decision      gcra.Decision // of the call being applied
	quietNs       int64         // time of the last pass that had work
	sweepNs       int64         // time of the last sweep
	lookedAfterNs int64         // time when the loop last looked after its clients
	ranSlow       bool          // the command just carried out may have taken long
	refusing      bool          // in a busyPass: no shard may be used
	loading       bool          // the shard does not have its data yet
	published     uint64        // of the shard's changes, those that server.changes has
	stopping      bool
	stats         loopStats
	bookedTo      time.Duration // the server's uptime up to which the step's commands have been timed
	rates         rates
}

const (
	// outputBytes is the size of a fresh output buffer, which serves nearly all passes of nearly all connections.
	outputBytes = 16 << 10
	// keptOutputs and keptInputs are how many free buffers a loop keeps: 4 MiB of each kind.
	keptOutputs = 256
	keptInputs  = 64
	// sweepEvery is how often a busy loop sweeps: often enough to keep up, not so often that its cost shows.
	sweepEvery = time.Millisecond
	// tick is the longest a loop waits: sweeping goes on when nobody calls. Redis's clock ticks as often.
	tick = 100 * time.Millisecond
)

func (l *loop) run() {
	for !l.stopping || l.server.clients() > 0 {
		l.now = l.server.clock.now()
		l.stepAside()
		if l.rates.due(l.now) {
			l.rates.sample(l.now, &l.stats)
			l.server.memory.look(allocatedBytes())
			l.judgeFull()
		}
		l.drain()
		l.flushPushed()
		l.lookAround()
		l.lookAfterClients()
		l.pass()
		l.doChores()
		more := l.sweep()
		l.wait(more)
	}
	l.owner.release() // for the loops that are still at work
}

// read reads once from a connection and returns the input to parse: what was kept, and what came. It returns false
// where the connection is at its end, and has closed it, or will have once what is unsent is written.
func (l *loop) read(b *batch, c *conn) (data []byte, alive bool) {
	var room []byte
	kept := len(c.in)
	intoBatch := kept <= leastReadBytes/2
	if intoBatch {
		room = b.input[b.used:]
		room = room[:min(len(room), readBytes)]
		copy(room, c.in)
	} else {
		if cap(c.in)-kept < leastReadBytes {
			c.growInput()
		}
		room = c.in[:min(cap(c.in), kept+readBytes)]
	}
	n, err := c.transport.Read(room[kept:])
	l.stats.reads++
	l.stats.inputBytes += uint64(n)
	switch {
	case err == io.EOF:
		c.closing = true
		c.flush()
		return nil, false
	case err != nil && err != netio.ErrWouldBlock:
		l.close(c)
		return nil, false
	case kept+n > c.maxQueryBytes():
		l.stats.queryLimitCloses++
		l.close(c)
		return nil, false
	}
	c.lastUseNs = l.now
	data = room[:kept+n]
	if intoBatch {
		b.used += len(data)
		c.dropInput()
	} else {
		c.in = data
	}
	return data, true
}

// finish answers a batch whose calls are all executed: this is the end of the pass for its connections. Whatever must
// be durable before a reply may leave is made so before the first flush.
func (l *loop) finish(b *batch) {
	l.bookBatch(b)
	if b.staged {
		for i := range b.calls {
			if c := &b.calls[i]; !c.mute {
				c.conn.out = append(c.conn.out, c.reply...)
			}
		}
	}
	l.commit(b)
	for i := range b.entries {
		e := &b.entries[i]
		c := e.conn
		c.batch = nil
		c.pending = e.pending
		c.keep(e.rest)
		c.flush()
		l.requeue(c)
	}
	b.reset()
	l.batches = append(l.batches, b)
}

// sweep reclaims dead entries and returns whether an idle loop should go on with it at once.
func (l *loop) sweep() (more bool) {
	if l.now-l.sweepNs < int64(sweepEvery) && !l.idle() {
		return false
	}
	l.sweepNs = l.now
	l.handOver(l.now)
	l.lookAtDisk()
	if changes := l.engine.Stats().Changes; changes != l.published {
		l.server.changes.Add(changes - l.published)
		l.published = changes
	}
	if l.server.sweepingOff.Load() {
		return false
	}
	started := l.server.clock.uptime()
	l.engine.Advance(l.now)
	more = l.engine.Sweep(l.idle())
	l.bookSweep(l.server.clock.uptime()-started, more)
	return more
}

// idle says that nothing was asked of the loop's connections lately.
func (l *loop) idle() bool { return l.now-l.quietNs > int64(netio.IdleAfter) }

// wait blocks until something is ready, a message has come or it is time to sweep. Other loops may use the shard
// meanwhile.
func (l *loop) wait(more bool) {
	timeout := min(tick, l.pauseLeft())
	if more || l.hasTurns() || l.pushed.len() > 0 || len(l.chores) > 0 {
		timeout = 0
	}
	l.owner.release()
	if !l.inbox.empty() {
		timeout = 0 // who floods the inbox must not keep the loop from looking at its connections
	}
	l.look(timeout, l.idle())
	l.acquire()
	l.woken.Store(false)
}

// look waits for connections to become ready, and queues them.
func (l *loop) look(timeout time.Duration, idle bool) {
	l.ready = l.poller.Wait(l.ready[:0], timeout, idle)
	for _, handle := range l.ready {
		l.rouse(handle.(*conn))
	}
}

// register takes a new connection on.
func (l *loop) register(c *conn) {
	err := ErrServerClosed
	if !l.stopping {
		err = l.poller.Add(c.transport, c)
	}
	if err != nil {
		c.transport.Close()
		l.connections.Add(-1)
		return
	}
	l.conns[c.id] = c
}

// close ends a connection at once; output not written is lost.
func (l *loop) close(c *conn) {
	if c.closed {
		return
	}
	c.closed = true
	c.out, c.task = nil, nil
	c.dropUnsent()
	delete(l.conns, c.id)
	l.unwatch(c)
	l.leave(c)
	l.stopMonitoring(c)
	l.poller.Remove(c.transport)
	c.transport.Close()
	l.connections.Add(-1)
}

// stop ends the loop once its connections are gone: at once for those with nothing to say.
func (l *loop) stop() {
	l.stopping = true
	l.poller.StopAccepting()
	for _, c := range l.conns {
		c.closing = true
		if c.batch == nil {
			c.flush()
		}
	}
}

// cut ends the loop without waiting for anyone.
func (l *loop) cut() {
	l.stopping = true
	for _, c := range l.conns {
		l.close(c)
	}
}

func (l *loop) takeBatch() *batch {
	if n := len(l.batches); n > 0 {
		b := l.batches[n-1]
		l.batches = l.batches[:n-1]
		return b
	}
	return newBatch(len(l.server.loops))
}

// A bufferPool keeps empty buffers of one size for their next use, up to a number.
type bufferPool struct {
	size, most int // bytes, buffers
	free       [][]byte
}

func (p *bufferPool) take() []byte {
	if n := len(p.free); n > 0 {
		buffer := p.free[n-1]
		p.free = p.free[:n-1]
		return buffer
	}
	return make([]byte, 0, p.size)
}

// takeFor returns an empty buffer for n bytes: a small one where the pool is empty and they are few.
func (p *bufferPool) takeFor(n int) []byte {
	if len(p.free) == 0 {
		return make([]byte, 0, min(n, p.size))
	}
	return p.take()
}

// give takes a buffer back, unless it is of another size, as one is that a long reply has made grow.
func (p *bufferPool) give(buffer []byte) {
	if cap(buffer) == p.size && len(p.free) < p.most {
		p.free = append(p.free, buffer[:0])
	}
}

// inputBuffer returns a buffer for n bytes of input that has to wait.
func (l *loop) inputBuffer(n int) []byte {
	switch {
	case n <= keptInputBytes:
		return make([]byte, 0, n)
	case n <= l.inputs.size:
		return l.inputs.take()
	}
	return make([]byte, 0, n)
}
