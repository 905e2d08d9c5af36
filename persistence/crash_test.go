package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"github.com/cellserver/cellserver/internal/vfs"
)

const gone = int64(-1)

// A life is what a key has been: its TATs, one after the other, or gone.
type life struct {
	values   []int64
	promised int // values[promised] and later ones may be what a crash leaves
}

// A trial is a server that meets with accidents, and remembers what it has promised.
type trial struct {
	*shop
	random *rand.Rand
	lives  map[place]*life
	policy Policy
	next   int64 // TAT to give, all different

	rewrite *Rewrite
	walk    []place       // left of the rewrite's
	walked  map[place]int // how far lives had come when the rewrite began

	moments []moment // not older than needed
}

// moment is how far lives had come at a time.
type moment struct {
	nanos   int64
	reached map[place]int
	ok      bool // the log was well
}

// grace is how long after a change under everysec it must be on disk: the second, and the ticks of the loops and of the log.
const grace = collectEvery + 3*100e6

func (c *trial) reached() map[place]int {
	reached := map[place]int{}
	for p, l := range c.lives {
		reached[p] = len(l.values) - 1
	}
	return reached
}

func (c *trial) promise(reached map[place]int) {
	for p, index := range reached {
		c.lives[p].promised = max(c.lives[p].promised, index)
	}
}

// change records what becomes of a key.
func (c *trial) change(p place, value int64) {
	c.lives[p].values = append(c.lives[p].values, value)
}

func (c *trial) anyPlace() place {
	return place{c.random.IntN(2), fmt.Sprint("key:", c.random.IntN(6))}
}

// step does something.
func (c *trial) step() {
	refused := c.policy == Always && c.log.Err() != nil
	switch n := c.random.IntN(100); {
	case n < 45 && !refused:
		p := c.anyPlace()
		c.next++
		c.set(p.db, p.key, c.next)
		c.change(p, c.next)
	case n < 55 && !refused:
		p := c.anyPlace()
		c.del(p.db, p.key)
		c.change(p, gone)
	case n < 57 && !refused:
		db := c.random.IntN(2)
		c.flush(db)
		for p := range c.lives {
			if p.db == db {
				c.change(p, gone)
			}
		}
	case n == 57 && !refused:
		c.exchange()
	case n < 80:
		c.endPass()
	case n < 90:
		c.wait(int64(c.random.IntN(800)) * 1e6)
		c.endPass()
	case n < 97:
		c.rewriteStep()
	default:
		c.fault()
	}
}

// exchange swaps the two databases.
func (c *trial) exchange() {
	c.swap(0, 1)
	for p, l := range c.lives {
		if p.db == 0 {
			other := c.lives[place{1, p.key}]
			mine := l.values[len(l.values)-1]
			c.change(p, other.values[len(other.values)-1])
			c.change(place{1, p.key}, mine)
		}
	}
}

// endPass ends a pass, after which replies leave.
func (c *trial) endPass() {
	reached := c.reached()
	err := c.pass()
	if c.policy == Always && err == nil && !c.log.Stats().WaitingForBase {
		c.promise(reached)
	}
	well := c.log.Err() == nil && !c.log.Stats().WaitingForBase
	c.moments = append(c.moments, moment{c.now, reached, well})
	if c.policy != EverySecond {
		return
	}
	since := len(c.moments)
	for since > 0 && c.moments[since-1].ok {
		since--
	}
	for _, m := range c.moments[since:] {
		if c.now-m.nanos > grace {
			c.promise(m.reached)
		}
	}
}

// rewriteStep begins a rewrite, goes on with it or ends it.
func (c *trial) rewriteStep() {
	if c.rewrite == nil {
		if c.log.RewriteDue(c.now) || c.random.IntN(3) == 0 {
			c.beginRewrite()
		}
		return
	}
	for range 1 + c.random.IntN(4) {
		if len(c.walk) == 0 {
			if c.rewrite.Finish() == nil {
				c.promise(c.walked)
			}
			c.rewrite = nil
			return
		}
		p := c.walk[0]
		c.walk = c.walk[1:]
		tat, live := c.state.tats[p]
		if !live {
			continue
		}
		if err := c.rewrite.Write(p.db, AppendEntry(nil, []byte(p.key), tat)); err != nil {
			c.rewrite.Abort(err)
			c.rewrite = nil
			return
		}
	}
}

func (c *trial) beginRewrite() {
	rewrite, err := c.log.Rewrite(RDBHeader{ClockNanos: c.now})
	if err == nil {
		c.rewrite, c.walk, c.walked = rewrite, c.state.names(), c.reached()
	}
}

// fault makes the disk fail for a while, fill up, or be well again.
func (c *trial) fault() {
	c.disk.FailWith(nil)
	c.disk.SetCapacity(-1)
	switch c.random.IntN(5) {
	case 0:
		c.disk.SetCapacity(int64(c.random.IntN(3000)))
	case 1:
		kinds := []vfs.Kind{vfs.OpSync, vfs.OpWrite, vfs.OpTruncate, vfs.OpCreate, vfs.OpRename, vfs.OpSyncDir, vfs.OpRemove}
		kind, random := kinds[c.random.IntN(len(kinds))], rand.New(rand.NewPCG(c.random.Uint64(), 0))
		c.disk.FailWith(func(op vfs.Operation) error {
			if op.Kind == kind && random.IntN(2) == 0 {
				return syscall.EIO
			}
			return nil
		})
	case 2:
		c.powerFailsSoon()
	}
}

// powerFailsSoon lets some operations pass and then none: the crash that follows comes amid whatever is being done.
func (c *trial) powerFailsSoon() {
	left := c.random.IntN(30)
	c.disk.FailWith(func(vfs.Operation) error {
		if left--; left < 0 {
			return syscall.EIO
		}
		return nil
	})
}

// crash loses power, perhaps several times while starting, and verifies what is found.
func (c *trial) crash() {
	c.rewrite = nil
	for {
		c.disk.FailWith(nil)
		c.disk.SetCapacity(-1)
		c.disk.Crash()
		found := newState()
		loaded, err := LoadLog(c.place, loadOptions, found)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.t.Fatalf("after a crash: %v", err)
		}
		c.verify(found)
		if c.random.IntN(3) == 0 {
			c.powerFailsSoon()
		}
		log, err := OpenLog(c.place, Settings{Policy: c.policy, Timestamps: c.random.IntN(2) == 0}, loaded, c.now)
		if err != nil {
			continue
		}
		at := c.place
		c.shop = &shop{t: c.t, place: at, disk: c.disk, state: found, now: c.now + second}
		c.follow(log, nil)
		c.restart(found)
		if log.RewriteDue(c.now) && c.shop.rewrite() != nil {
			continue
		}
		c.promise(c.reached())
		return
	}
}

// verify compares what was found with what was promised.
func (c *trial) verify(found *state) {
	for p := range found.tats {
		if c.lives[p] == nil {
			c.t.Fatalf("%v was never there", p)
		}
	}
	for p, l := range c.lives {
		got, live := found.tats[p]
		if !live {
			got = gone
		}
		ok := false
		for _, value := range l.values[l.promised:] {
			ok = ok || value == got
		}
		if !ok {
			c.t.Fatalf("%v is %d after a crash; it was %d, and since then %d is promised", p, got, l.values, l.values[l.promised])
		}
	}
}

// restart begins new lives from what was found. That is promised still where it was before.
func (c *trial) restart(found *state) {
	c.moments = nil
	for p, l := range c.lives {
		got, live := found.tats[p]
		if !live {
			got = gone
		}
		// Until the log is open again a crash may still leave any of the old values that it could leave before.
		l.values, l.promised = append(l.values[l.promised:], got), 0
	}
}

// TestCrashes lets many servers meet with many accidents. After each, every key has a value that it had and none older than the policy
// allows: under always none before the last reply, under everysec none that was over more than about a second before, under
// no none from before the last rewrite.
func TestCrashes(t *testing.T) {
	seeds := uint64(150)
	if os.Getenv("CELLSERVER_HEAVY") == "1" {
		seeds = 5000
	}
	for _, policy := range []Policy{Always, EverySecond, No} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { tryToDestroy(t, policy, seed) })
			}
		})
	}
}

func tryToDestroy(t *testing.T, policy Policy, seed uint64) {
	c := &trial{
		shop:   openShop(t, onDisk(vfs.NewDisk(seed)), Settings{Policy: policy}),
		random: rand.New(rand.NewPCG(seed, 1)),
		lives:  map[place]*life{},
		policy: policy,
		next:   later,
	}
	for db := range 2 {
		for key := range 6 {
			c.lives[place{db, fmt.Sprint("key:", key)}] = &life{values: []int64{gone}}
		}
	}
	for range 3 + c.random.IntN(4) {
		for range c.random.IntN(150) {
			c.step()
		}
		c.crash()
	}
}
