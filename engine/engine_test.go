package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/keyspace"
)

// fill gives the engine n keys, key:0 and on, that live for an hour.
func fill(e *Engine, hasher keyspace.Hasher, n int) {
	for i := range n {
		name := fmt.Appendf(nil, "key:%d", i)
		e.Store(Key{Hash: hasher.Sum(name), Bytes: name}, e.Now()+3600e9)
	}
}

// TestDigest: engines with the same live state have the same digest, whatever the order, the seed and the dead.
func TestDigest(t *testing.T) {
	make := func(order []int, dead bool) *Engine {
		hasher := keyspace.NewHasher()
		e := New(hasher)
		e.Advance(start)
		store := func(db int, name string, tatNanos int64) {
			e.Store(Key{DB: db, Hash: hasher.Sum([]byte(name)), Bytes: []byte(name)}, tatNanos)
		}
		if dead {
			store(0, "dead", start+1)
		}
		for _, i := range order {
			store(i%Databases, fmt.Sprint("key", i), start+int64(i)*1e9+100)
		}
		e.Advance(start + 50)
		return e
	}
	order := rand.New(rand.NewPCG(1, 2)).Perm(1000)
	a, b := make(order, false), make(rand.New(rand.NewPCG(3, 4)).Perm(1000), true)
	if a.Digest() != b.Digest() || a.Digest() == 0 {
		t.Errorf("digests %x and %x of the same state", a.Digest(), b.Digest())
	}
	if c := make(order[1:], false); c.Digest() == a.Digest() {
		t.Error("a missing key does not change the digest")
	}
	if empty := New(keyspace.NewHasher()); empty.Digest() != 0 {
		t.Error("an empty engine's digest is not 0")
	}
	a.Store(Key{DB: 0, Hash: a.hasher.Sum([]byte("key16")), Bytes: []byte("key16")}, start+99)
	if a.Digest() == b.Digest() {
		t.Error("another TAT does not change the digest")
	}
}

// TestStatsCountTokensTaken: a call that only looks or gives tokens back is neither allowed nor limited, whatever it is answered,
// and neither are one that fails and a probe.
func TestStatsCountTokensTaken(t *testing.T) {
	hasher := keyspace.NewHasher()
	e := New(hasher)
	e.Advance(start)
	name := []byte("k")
	key := Key{Hash: hasher.Sum(name), Bytes: name}
	wide, narrow := &gcra.Limit{MaxBurst: 9, Count: 1, Period: 60}, &gcra.Limit{MaxBurst: 1, Count: 1, Period: 60}
	for i, call := range []struct {
		do               func(*Engine, *Key, *gcra.Limit, int64, *gcra.Decision) error
		limit            *gcra.Limit
		quantity         int64
		allowed, limited uint64 // after it
	}{
		{(*Engine).Throttle, wide, 0, 0, 0},
		{(*Engine).Throttle, wide, 1, 1, 0},
		{(*Engine).Throttle, wide, 8, 2, 0},
		{(*Engine).Throttle, wide, 2, 2, 1},
		{(*Engine).Throttle, wide, 0, 2, 1},
		{(*Engine).Throttle, wide, -1, 2, 1},
		{(*Engine).Throttle, narrow, 0, 2, 1}, // limited: the debt is beyond the burst
		{(*Engine).Throttle, narrow, -1, 2, 1},
		{(*Engine).Throttle, narrow, 1, 2, 2},
		{(*Engine).Throttle, &gcra.Limit{MaxBurst: -2, Count: 1, Period: 60}, 1, 2, 2},
		{(*Engine).Probe, wide, 1, 2, 2},
		{(*Engine).Probe, narrow, 1, 2, 2},
	} {
		var decision gcra.Decision
		_ = call.do(e, &key, call.limit, call.quantity, &decision) // one fails, and is to count as nothing
		if s := e.Stats(); s.Allowed != call.allowed || s.Limited != call.limited {
			t.Errorf("call %d: allowed %d, limited %d", i, s.Allowed, s.Limited)
		}
	}
}

// TestRandom draws only live keys, and all of them, where half are dead.
func TestRandom(t *testing.T) {
	hasher := keyspace.NewHasher()
	e := New(hasher)
	e.Advance(start)
	draw := rand.New(rand.NewPCG(5, 6)).Uint64
	if _, found := e.Random(0, draw); found {
		t.Fatal("drew a key from an empty database")
	}
	for i := range 10 {
		for name, tatNanos := range map[string]int64{"dead:": start + 1, "live:": start + 3600e9} {
			key := fmt.Appendf(nil, "%s%d", name, i)
			e.Store(Key{Hash: hasher.Sum(key), Bytes: key}, tatNanos)
		}
	}
	e.Advance(start + 1)
	drawn := map[string]bool{}
	for range 1000 {
		key, found := e.Random(0, draw)
		if !found || !strings.HasPrefix(string(key), "live:") {
			t.Fatalf("drew %q, %v", key, found)
		}
		drawn[string(key)] = true
	}
	if len(drawn) != 10 {
		t.Errorf("1000 draws found only %v", drawn)
	}
	for i := range 10 {
		key := fmt.Appendf(nil, "live:%d", i)
		e.Delete(Key{Hash: hasher.Sum(key), Bytes: key})
	}
	if key, found := e.Random(0, draw); found {
		t.Errorf("drew %q where all are dead", key)
	}
}

// TestThrottleAllocatesNothing covers the decision on a key that is there, on one that comes and goes, and a refusal.
func TestThrottleAllocatesNothing(t *testing.T) {
	hasher := keyspace.NewHasher()
	e := New(hasher)
	e.Advance(start)
	fill(e, hasher, 10_000)
	names := [][]byte{[]byte("key:77"), []byte("fresh"), []byte("full")}
	now := start
	var decision gcra.Decision
	allocated := testing.AllocsPerRun(10_000, func() {
		now += 2e9
		e.Advance(now)
		for _, name := range names {
			key := Key{Hash: hasher.Sum(name), Bytes: name}
			e.Announce(&key)
			e.Preload()
			for range 2 {
				if err := e.Throttle(&key, &gcra.Limit{MaxBurst: 0, Count: 1, Period: 1}, 1, &decision); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	if allocated != 0 {
		t.Errorf("%v allocations for a round of calls", allocated)
	}
}

// BenchmarkThrottle decides on random keys out of n, in batches that are announced first, next to the same decision over
// a Go map.
func BenchmarkThrottle(b *testing.B) {
	limit := gcra.Limit{MaxBurst: 100, Count: 1000, Period: 60}
	var decision gcra.Decision
	for _, n := range []int{1_000_000, 10_000_000} {
		names := make([][]byte, 1<<16)
		pick := rand.New(rand.NewPCG(7, 8))
		for i := range names {
			names[i] = fmt.Appendf(nil, "key:%012d", pick.IntN(n))
		}
		b.Run(fmt.Sprintf("engine/keys=%d", n), func(b *testing.B) {
			hasher := keyspace.NewHasher()
			e := New(hasher)
			e.Advance(start)
			for i := range n {
				name := fmt.Appendf(nil, "key:%012d", i)
				e.Store(Key{Hash: hasher.Sum(name), Bytes: name}, start+3600e9)
			}
			const batch = 64
			var keys [batch]Key
			b.ResetTimer()
			for i := 0; i < b.N; i += batch {
				for j := range keys {
					name := names[(i+j)%len(names)]
					keys[j] = Key{Hash: hasher.Sum(name), Bytes: name}
				}
				decideBatch(b, e, keys[:], &limit)
			}
			b.ReportMetric(float64(e.Bytes())/float64(n), "bytes/key")
		})
		b.Run(fmt.Sprintf("map/keys=%d", n), func(b *testing.B) {
			table := make(map[string]int64)
			for i := range n {
				table[fmt.Sprintf("key:%012d", i)] = start + 3600e9
			}
			b.ResetTimer()
			for i := range b.N {
				name := names[i%len(names)]
				stored, found := table[string(name)]
				if !found {
					stored = start
				}
				if err := gcra.Decide(stored, start, &limit, 1, &decision); err != nil {
					b.Fatal(err)
				}
				if decision.Write == gcra.Store {
					table[string(name)] = decision.TAT
				}
			}
		})
	}
}

// decideBatch decides keys as a loop does, all announced first.
func decideBatch(b *testing.B, e *Engine, keys []Key, limit *gcra.Limit) {
	for j := range keys {
		e.Announce(&keys[j])
	}
	e.Preload()
	var decision gcra.Decision
	for j := range keys {
		if err := e.Throttle(&keys[j], limit, 1, &decision); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNewKeys decides on random keys of a million that live 60 ms each, at 1.6 million calls a second, with the sweeps
// of a busy loop: nearly every call makes a key, and takes the place of a dead one.
func BenchmarkNewKeys(b *testing.B) {
	const (
		names     = 1_000_000
		batch     = 128
		passNanos = batch * 625
		sweepPass = 12 // about every millisecond
	)
	hasher := keyspace.NewHasher()
	e := New(hasher)
	pick := rand.New(rand.NewPCG(7, 8))
	requests := make([][16]byte, names/batch*batch)
	for i := range requests {
		copy(requests[i][:], fmt.Sprintf("key:%012d", pick.IntN(names)))
	}
	limit := gcra.Limit{MaxBurst: 100, Count: 1000, Period: 60}
	var keys [batch]Key
	pass := func(n int) {
		e.Advance(start + int64(n)*passNanos)
		for j := range keys {
			name := requests[(n*batch+j)%len(requests)][:]
			keys[j] = Key{Hash: hasher.Sum(name), Bytes: name}
		}
		decideBatch(b, e, keys[:], &limit)
		if n%sweepPass == 0 {
			e.Sweep(false)
		}
	}
	const warm = 2_000 // several lives of a key
	for n := range warm {
		pass(n)
	}
	b.ResetTimer()
	for n := range b.N/batch + 1 {
		pass(warm + n)
	}
	b.ReportMetric(float64(e.Bytes())/float64(e.Len(0)), "bytes/entry")
}

// TestSampleTTL: keys with an hour to live, and as many dead ones, show as such.
func TestSampleTTL(t *testing.T) {
	hasher := keyspace.NewHasher()
	e := New(hasher)
	draw := rand.New(rand.NewPCG(7, 8)).Uint64
	if live, dead, mean := e.SampleTTL(0, 10, draw); live != 0 || dead != 0 || mean != 0 {
		t.Error("an empty database has", live, dead, mean)
	}
	fill(e, hasher, 1000)
	if live, dead, mean := e.SampleTTL(0, 10, draw); live != 10 || dead != 0 || mean < 3599e9 || mean > 3601e9 {
		t.Error("keys with an hour to live have", live, dead, mean)
	}
	e.Advance(e.Now() + 3600e9)
	if live, dead, mean := e.SampleTTL(0, 10, draw); live != 0 || dead != 10 || mean != 0 {
		t.Error("dead keys have", live, dead, mean)
	}
}

// TestResetStats: all counters but Changes begin anew.
func TestResetStats(t *testing.T) {
	hasher := keyspace.NewHasher()
	e := New(hasher)
	fill(e, hasher, 5)
	e.Get(Key{Hash: hasher.Sum([]byte("none")), Bytes: []byte("none")})
	if got := e.Stats(); got != (Stats{Changes: 5, Misses: 1}) {
		t.Fatal(got)
	}
	e.ResetStats()
	if got := e.Stats(); got != (Stats{Changes: 5}) {
		t.Error(got)
	}
}
