package script

import (
	"errors"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"
)

const (
	// instructionBytes is the most memory that an instruction of the machine takes, garbage included: t={} t[32767]=1 are
	// two, and the array is copied each time that it grows by a quarter, five times its size in all.
	instructionBytes = 5 * 16 * maxArrayIndex / 2
	// maxInstructions is the most instructions between two looks: some microseconds of a script.
	maxInstructions = 512
	// unseenBytes is what a script may take before the first look. Most scripts are short and need none.
	unseenBytes = 64 << 20
	// debtBytes is the growth after which memory is given back to the system.
	debtBytes = 64 << 20
)

var (
	errKilled = errors.New("Script killed by user with SCRIPT KILL...")
	errMemory = errors.New("not enough memory")
)

// The states of a guard. Only a running script can be killed, and only until it has committed itself.
const (
	idle int32 = iota
	running
	committed
	killed
)

// guard decides before each instruction whether the script goes on. To the Lua machine it is a context.
//
// It looks at how much memory the process has from the system, not at how much of it is in use: garbage that is not collected
// and pages that are not given back count as well. After a look the script has a credit, the bytes that it may take until the
// next. An instruction is charged with what it could take at most; a library function says what it is about to take. The
// credit is never more than what is left, so the limit holds whatever the script does between two looks.
type guard struct {
	state atomic.Int32
	// debts is the number of scripts that left much memory behind since it was last given back.
	debts atomic.Int64

	// What follows belongs to the goroutine of the script.
	done       chan struct{} // nil: go on; closed: stop
	reason     error         // why to stop
	credit     int64         // bytes, until the next look
	maxBytes   int64         // by which the process may grow before it is collected
	spareBytes int64         // that must be free after that
	limit      int64         // of mappedBytes; 0: not known yet
	samples    [2]metrics.Sample
}

var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// newGuard keeps a quarter of the growth for what is not charged: the stack of Go, the collector's own memory, the list of a
// table's keys, which the machine copies as it grows, the reply on its way through the server.
func newGuard(maxGrowthBytes int64) *guard {
	g := &guard{maxBytes: maxGrowthBytes / 4 * 3, spareBytes: maxGrowthBytes / 8}
	g.samples[0].Name = "/memory/classes/total:bytes"
	g.samples[1].Name = "/memory/classes/heap/released:bytes"
	return g
}

// begin starts a run. While the memory that an earlier one left was not given back, this one counts from where that began:
// else each of a series of scripts would add its growth to that of the last.
func (g *guard) begin() {
	if g.debts.Load() == 0 {
		g.limit = 0
	}
	g.done, g.reason, g.credit = nil, nil, min(unseenBytes, g.maxBytes/8)
	g.state.Store(running)
}

// end ends a run, which from then on nothing can kill. A caller that was told that the script was killed is right: it fails,
// even if it had reached its last instruction by then.
func (g *guard) end() {
	if g.state.Swap(idle) == killed && g.done == nil {
		g.stop(errKilled)
	}
}

// settle tells whether the process has grown much since the run began, and whether this is the first debt.
func (g *guard) settle() (grown, owes bool) {
	grown = g.limit != 0 && g.mappedBytes() > g.limit-g.maxBytes+debtBytes
	return grown, grown && g.debts.Add(1) == 1
}

// giveBack gives memory back to the system until there are no debts.
func (g *guard) giveBack() {
	for n := g.debts.Load(); n > 0; n = g.debts.Add(-n) {
		debug.FreeOSMemory()
	}
}

// kill makes a running script stop, and tells whether there was one. Any goroutine may call it.
func (g *guard) kill() bool {
	return g.state.CompareAndSwap(running, killed) || g.state.Load() == killed
}

// stopRunning is kill for any script. Any goroutine may call it.
func (g *guard) stopRunning() {
	for state := g.state.Load(); state == running || state == committed; state = g.state.Load() {
		g.state.CompareAndSwap(state, killed)
	}
}

// commit makes sure that the running script is not killed from now on, and tells whether that was in time.
func (g *guard) commit() bool {
	return g.state.CompareAndSwap(running, committed) || g.state.Load() == committed
}

// Done is called by the machine before each instruction. It checks each time whether the script was killed: single
// instructions, such as the comparison of two long strings, may take a millisecond.
func (g *guard) Done() <-chan struct{} {
	if g.credit -= instructionBytes; g.credit < 0 || g.state.Load() == killed {
		g.look(0)
	}
	return g.done
}

// Err is the error that the machine raises once Done is closed.
func (g *guard) Err() error { return g.reason }

// Deadline is part of context.Context: there is none.
func (g *guard) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Value is part of context.Context: there are none.
func (g *guard) Value(any) any { return nil }

// charge counts the work of a library function, about a byte or a step each, and ends the function if the script has to
// stop.
func (g *guard) charge(L *lua.LState, steps int) {
	g.work(steps)
	g.check(L)
}

// work is charge for code outside of Lua functions. It tells whether to go on.
func (g *guard) work(steps int) bool {
	if g.credit -= int64(steps/16+1) * instructionBytes; g.credit < 0 || g.state.Load() == killed {
		g.look(0)
	}
	return g.done == nil
}

// A library function calls allocate before it takes memory; allocate ends the function if there is not enough.
func (g *guard) allocate(L *lua.LState, bytes int) {
	g.fits(bytes)
	g.check(L)
}

// fits is allocate for code outside of Lua functions. It tells whether there is enough memory.
func (g *guard) fits(bytes int) bool {
	if g.credit -= int64(bytes); g.credit < 0 || g.state.Load() == killed {
		g.look(int64(bytes))
	}
	return g.done == nil
}

func (g *guard) check(L *lua.LState) {
	if g.done != nil {
		L.Error(lua.LString(g.reason.Error()), 0)
	}
}

// look decides whether the script may go on and take this many bytes, and gives it a new credit.
func (g *guard) look(bytes int64) {
	if g.done != nil {
		return
	}
	if g.state.Load() == killed {
		g.stop(errKilled)
		return
	}
	mapped := g.mappedBytes()
	if g.limit == 0 {
		g.limit = mapped + g.maxBytes
	}
	if mapped+bytes > g.limit {
		// Much of it may be garbage: collect, and see what is left. Unless that leaves something to spare the script ends here,
		// for it would be collected for again at once.
		debug.FreeOSMemory()
		if mapped = g.mappedBytes(); mapped+bytes > g.limit-g.spareBytes {
			g.stop(errMemory)
			return
		}
	}
	g.credit = min(g.limit-mapped-bytes, maxInstructions*instructionBytes)
}

func (g *guard) stop(reason error) {
	g.done, g.reason, g.credit = closedChannel, reason, math.MaxInt64
}

// mappedBytes is what the process has from the system and has not given back.
func (g *guard) mappedBytes() int64 {
	metrics.Read(g.samples[:])
	return int64(g.samples[0].Value.Uint64() - g.samples[1].Value.Uint64())
}
