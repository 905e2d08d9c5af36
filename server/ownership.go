package server

import (
	"runtime"
	"sync/atomic"
	"time"
)

// The states of a shard. Its loop moves it between running and waiting; another loop moves it from waiting to lent and
// back. Since every move but the giving back is a compare-and-swap, a shard has one user at any instant.
const (
	running uint32 = iota // its loop uses it
	waiting               // nobody does: its loop is blocked in the poller, or has stepped aside
	lent                  // another loop does, for one parcel of calls or for one exclusive step
)

// ownership says who may use a shard now.
type ownership struct {
	state  atomic.Uint32
	wanted atomic.Bool // a taker wants the shard: its loop steps aside before its next batch
	missed atomic.Bool // its loop wants it back: the next taker lets the loop have it first
}

// release lets others use the shard until acquire.
func (o *ownership) release() { o.state.Store(waiting) }

// acquire takes the shard back for the loop. Whoever has it holds it for microseconds, unless it is a script.
func (l *loop) acquire() {
	o := &l.owner
	if o.state.CompareAndSwap(waiting, running) {
		return
	}
	o.missed.Store(true)
	for spins := 0; !o.state.CompareAndSwap(waiting, running); spins++ {
		l.pause(spins)
	}
	o.missed.Store(false)
}

// borrow takes the shard of a waiting loop, or returns false.
func (o *ownership) borrow() bool { return o.state.CompareAndSwap(waiting, lent) }

// giveBack ends a borrow.
func (o *ownership) giveBack() { o.state.Store(waiting) }

// stepAside lets a taker have the shard, if one wants it, and returns when the taker is done.
func (l *loop) stepAside() {
	o := &l.owner
	if !o.wanted.Load() {
		return
	}
	o.release()
	for spins := 0; o.wanted.Load() && o.state.Load() != lent; spins++ {
		l.pause(spins) // until the taker has it; to wait for its end would be to risk meeting the next taker
	}
	l.acquire()
}

// How a spinning loop waits: it looks again at once for about the time of a borrowed call, then lets other goroutines
// run, then leaves the processor to whichever thread it is waiting for. Where that is a script that
// takes long, it answers its connections meanwhile.
const (
	spinsHot   = 200
	spinsYield = 20
	spinSleep  = 20 * time.Microsecond
)

func (l *loop) pause(spins int) {
	switch {
	case spins < spinsHot:
	case spins < spinsHot+spinsYield:
		runtime.Gosched()
	case l.server.busy.Load():
		l.busyPass()
	default:
		time.Sleep(spinSleep)
	}
}

// exclusively runs step while nobody else uses any of the shards, whose engines are told the time, so that it is one
// atomic step over all of them. It must be called by the loop itself, between calls.
//
// There is one taker at a time, and a loop that wants to become it lets go of its own shard first: so takers cannot
// wait for each other in a circle. A loop that runs gives way before its next batch; one that waits for its shard since
// the last step gets it first. So a loop has a batch between any two steps, and no row of steps shuts it out.
//
// Within a step that holds the shards already, of EXEC or of a script, it only runs the inner one.
func (l *loop) exclusively(shards []int, step func()) {
	if l.holds == nil {
		l.takeShards(shards, step)
		return
	}
	for _, shard := range shards {
		if !l.holds[shard] {
			panic("server: a step uses a shard that it has not taken")
		}
	}
	step()
}

func (l *loop) takeShards(shards []int, step func()) {
	l.holds = make([]bool, len(l.server.loops))
	for _, shard := range shards {
		l.holds[shard] = true
	}
	before := l.server.logPosition()
	defer func() {
		l.holds = nil
		if after := l.server.logPosition(); after != before {
			l.stepped = after
		}
	}()
	if len(l.server.loops) == 1 {
		l.engine.Advance(l.now)
		step()
		l.handOver(l.now)
		return
	}
	l.owner.release()
	for spins := 0; !l.server.taken.CompareAndSwap(false, true); spins++ {
		l.pause(spins)
	}
	for _, shard := range shards {
		owner := &l.server.loops[shard].owner
		owner.wanted.Store(true)
		for spins := 0; owner.missed.Load() || !owner.borrow(); spins++ {
			l.pause(spins)
		}
		l.server.loops[shard].engine.Advance(l.now)
	}
	step()
	for _, shard := range shards {
		owner := &l.server.loops[shard].owner
		l.server.loops[shard].handOver(l.now)
		owner.giveBack()
		owner.wanted.Store(false)
	}
	l.server.taken.Store(false)
	l.acquire()
}
