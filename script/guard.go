package script

import (
	"errors"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// instructionsPerPoll is how often the guard looks up: some microseconds of a script. Between two looks a script can
// allocate instructionsPerPoll/4 arrays of maxArrayIndex elements, a quarter of a gigabyte.
const instructionsPerPoll = 512

var (
	errKilled = errors.New("Script killed by user with SCRIPT KILL...")
	errMemory = errors.New("not enough memory")
)

// The states of a guard. Only a running script can be killed.
const (
	idle int32 = iota
	running
	killed
)

// guard decides before each instruction whether the script goes on. To the Lua machine it is a context.
type guard struct {
	state atomic.Int32

	// What follows belongs to the goroutine of the script.
	done         chan struct{} // nil: go on; closed: stop
	reason       error         // why to stop
	instructions uint64        // since the last poll
	maxHeapBytes uint64
	heapLimit    uint64 // where the heap is too large; 0: not known yet
	sample       [1]metrics.Sample
}

var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func newGuard(maxHeapBytes uint64) *guard {
	g := &guard{maxHeapBytes: maxHeapBytes}
	g.sample[0].Name = "/memory/classes/heap/objects:bytes"
	return g
}

func (g *guard) begin() {
	g.done, g.reason, g.heapLimit, g.instructions = nil, nil, 0, 0
	g.state.Store(running)
}

func (g *guard) end() { g.state.Store(idle) }

// kill makes a running script stop, and tells whether there was one. Any goroutine may call it.
func (g *guard) kill() bool { return g.state.CompareAndSwap(running, killed) }

// Done is called by the machine before each instruction.
func (g *guard) Done() <-chan struct{} {
	if g.instructions++; g.instructions >= instructionsPerPoll {
		g.poll()
	}
	return g.done
}

// Err is the error that the machine raises once Done is closed.
func (g *guard) Err() error { return g.reason }

// Deadline is part of context.Context: there is none.
func (g *guard) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Value is part of context.Context: there are none.
func (g *guard) Value(any) any { return nil }

// charge counts the work of a library function, about a byte or a step each, and ends it where the script has to stop.
func (g *guard) charge(L *lua.LState, steps int) {
	if g.instructions += uint64(steps)/16 + 1; g.instructions >= instructionsPerPoll {
		g.poll()
	}
	if g.done != nil {
		L.Error(lua.LString(g.reason.Error()), 0)
	}
}

func (g *guard) poll() {
	g.instructions = 0
	if g.done != nil {
		return
	}
	if g.state.Load() == killed {
		g.stop(errKilled)
		return
	}
	heap := g.heapBytes()
	if g.heapLimit == 0 {
		g.heapLimit = heap + g.maxHeapBytes
	}
	if heap <= g.heapLimit {
		return
	}
	// Much of it may be garbage: collect, and see what is left. Unless that leaves a quarter of the budget free the script ends
	// here, for it would be collected for again at once.
	runtime.GC()
	if g.heapBytes() > g.heapLimit-g.maxHeapBytes/4 {
		g.stop(errMemory)
	}
}

func (g *guard) stop(reason error) { g.done, g.reason = closedChannel, reason }

// heapBytes is the size of all objects of the process that were not swept away yet.
func (g *guard) heapBytes() uint64 {
	metrics.Read(g.sample[:])
	return g.sample[0].Value.Uint64()
}
