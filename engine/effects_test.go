package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/keyspace"
)

// A follower applies what it is told to an engine of its own.
type follower struct {
	*Engine
	told int
}

func (f *follower) Set(db int, hash uint64, key []byte, tatNanos int64) {
	f.told++
	f.Store(Key{DB: db, Hash: hash, Bytes: key}, tatNanos)
}

func (f *follower) Delete(db int, hash uint64, key []byte) {
	f.told++
	f.Engine.Delete(Key{DB: db, Hash: hash, Bytes: key})
}

func (f *follower) Flush(db int)  { f.told++; f.Engine.Flush(db) }
func (f *follower) Swap(a, b int) { f.told++; f.Engine.Swap(a, b) }

// TestEffectsAreAllChanges: a sink that applies what it is told to an empty engine has the same state after every operation,
// whatever that was. A sink that comes and goes is told of the changes made meanwhile.
func TestEffectsAreAllChanges(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	hasher := keyspace.NewHasher()
	e := New(hasher)
	now := start
	e.Advance(now)
	whole, partial := &follower{Engine: New(hasher)}, &follower{Engine: New(hasher)}
	e.Attach(whole)
	attached, missed := false, 0
	for step := range 20_000 {
		if random.IntN(100) == 0 {
			if attached = !attached; attached {
				e.Attach(partial)
			} else {
				e.Detach(partial)
			}
		}
		now += random.Int64N(2e8)
		e.Advance(now)
		whole.Advance(now)
		changes, told, toldPartial := e.Stats().Changes, whole.told, partial.told
		operate(t, random, e, hasher)
		if made := e.Stats().Changes - changes; uint64(whole.told-told) < made {
			t.Fatalf("step %d: %d changes, told of %d", step, made, whole.told-told)
		}
		if !attached {
			missed += whole.told - told
		}
		if partial.told-toldPartial > 0 && !attached {
			t.Fatalf("step %d: a detached sink was told", step)
		}
		if e.Digest() != whole.Digest() {
			t.Fatalf("step %d: the sink's state differs", step)
		}
	}
	if partial.told == 0 || missed == 0 || partial.told+missed != whole.told {
		t.Errorf("one sink was told of %d effects, the other of %d while it was attached and missed %d", whole.told, partial.told, missed)
	}
}

// operate does something with one of a few keys.
func operate(t *testing.T, random *rand.Rand, e *Engine, hasher keyspace.Hasher) {
	name := fmt.Appendf(nil, "k%d", random.IntN(40))
	key := Key{DB: random.IntN(3), Hash: hasher.Sum(name), Bytes: name}
	switch random.IntN(20) {
	case 0:
		e.Flush(key.DB)
	case 1:
		e.Swap(key.DB, random.IntN(3))
	case 2, 3:
		e.Delete(key)
	case 4, 5:
		e.Store(key, e.Now()+random.Int64N(4e9)-1e9)
	case 6:
		e.Sweep(true)
	case 7:
		if e.Watched() == 0 {
			defer e.Unwatch(e.Watch(key))
		}
		e.Delete(key)
	default:
		limit := gcra.Limit{MaxBurst: 3, Count: 2, Period: 1}
		var decision gcra.Decision
		if err := e.Throttle(&key, &limit, random.Int64N(4)-1, &decision); err != nil {
			t.Fatal(err)
		}
	}
}
