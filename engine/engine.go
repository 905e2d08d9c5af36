package engine

import (
	"github.com/cellserver/cellserver/expiry"
	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/keyspace"
)

// Databases is how many namespaces SELECT can choose from: Redis's default, and fixed here.
const Databases = 16

// Key names an entry: the database, the key's bytes and their hash under the engine's Hasher.
//
// The hash travels with the key since the caller needs it first, to find the shard.
type Key struct {
	DB    int
	Hash  uint64
	Bytes []byte

	place *keyspace.Place // where Announce has found it; nil: nowhere
}

// Engine is the state of one shard. It is not safe for concurrent use. New makes one.
type Engine struct {
	hasher    keyspace.Hasher
	databases [Databases]*keyspace.Table
	sweeps    [Databases]sweep
	now       int64 // Unix ns, the latest time given
	stats     Stats
	effects   Effects // is told of every change: the one sink, or all of them; nil: there is none
	sinks     fanOut
	watches   *watches // a sink while keys are watched; nil: none is
	preload   keyspace.Preload
}

// Stats counts what happened since the engine was made.
type Stats struct {
	Allowed uint64 // CL.THROTTLE calls that took tokens
	Limited uint64 // CL.THROTTLE calls that would have taken tokens, and were refused
	Changes uint64 // effects, except flushes of empty databases
	Hits    uint64 // lookups that found a live key
	Misses  uint64 // lookups that did not
	Expired uint64 // entries reclaimed by Sweep
}

// Add adds the counters of another engine.
func (s *Stats) Add(other Stats) {
	s.Allowed += other.Allowed
	s.Limited += other.Limited
	s.Changes += other.Changes
	s.Hits += other.Hits
	s.Misses += other.Misses
	s.Expired += other.Expired
}

// New returns an empty engine. The engines of one server must have the same hasher, since the hash chooses the shard.
func New(hasher keyspace.Hasher) *Engine {
	e := &Engine{hasher: hasher}
	for db := range e.databases {
		e.databases[db] = keyspace.New(hasher.Sum)
	}
	return e
}

// Advance tells the engine the time, in Unix nanoseconds. It ignores a time earlier than a previous one.
func (e *Engine) Advance(now int64) { e.now = max(e.now, now) }

// Now returns the engine's time, in Unix nanoseconds.
func (e *Engine) Now() int64 { return e.now }

// Stats returns the counters.
func (e *Engine) Stats() Stats { return e.stats }

// ResetStats zeroes the counters, all but Changes: that tells how much a snapshot would lack.
func (e *Engine) ResetStats() { e.stats = Stats{Changes: e.stats.Changes} }

// Announce says that a call on the key will follow; Preload loads from memory what the announced calls will need. A caller
// that announces all keys of a batch before it decides any of them waits for memory a few times for all of them instead of
// several times for each. More than keyspace.PreloadKeys at a time are correct, but slower.
func (e *Engine) Announce(key *Key) {
	if e.preload.Full() {
		e.Preload()
	}
	key.place = e.preload.Add(e.databases[key.DB], key.Hash)
}

// Preload ends a run of Announce.
func (e *Engine) Preload() { e.preload.Run(e.now) }

// Throttle applies one CL.THROTTLE call and puts the outcome into decision. An error changes nothing; its text is the reply.
func (e *Engine) Throttle(key *Key, limit *gcra.Limit, quantity int64, decision *gcra.Decision) error {
	var unknown keyspace.Place
	table, place := e.databases[key.DB], key.place
	if place == nil {
		place = &unknown
	}
	entry := table.FindAt(place, key.Hash, key.Bytes)
	stored := e.now
	if entry != nil {
		stored = *entry
	}
	e.countLookup(stored)
	if err := gcra.Decide(stored, e.now, limit, quantity, decision); err != nil {
		return err
	}
	switch {
	case quantity <= 0: // it looks, or gives back
	case decision.Limited:
		e.stats.Limited++
	default:
		e.stats.Allowed++
	}
	switch decision.Write {
	case gcra.Keep:
	case gcra.Remove:
		table.Delete(key.Hash, key.Bytes)
		e.deleted(key)
	case gcra.Store:
		if entry != nil {
			*entry = decision.TAT
		} else {
			table.InsertAt(place, key.Hash, key.Bytes, decision.TAT, e.now)
		}
		e.stored(key, decision.TAT)
	}
	return nil
}

// Probe puts into decision what Throttle would, and changes nothing.
func (e *Engine) Probe(key *Key, limit *gcra.Limit, quantity int64, decision *gcra.Decision) error {
	stored, live := e.Get(*key)
	if !live {
		stored = e.now
	}
	return gcra.Decide(stored, e.now, limit, quantity, decision)
}

// Get returns the TAT of a live key.
func (e *Engine) Get(key Key) (tatNanos int64, live bool) {
	tatNanos, live = e.peek(key)
	e.countLookup(tatNanos)
	return tatNanos, live
}

// Live says whether a key is alive. It counts neither as a hit nor as a miss.
func (e *Engine) Live(key Key) bool {
	_, live := e.peek(key)
	return live
}

// peek is Get without counting a hit or a miss.
func (e *Engine) peek(key Key) (tatNanos int64, live bool) {
	var unknown keyspace.Place
	place := key.place
	if place == nil {
		place = &unknown
	}
	entry := e.databases[key.DB].FindAt(place, key.Hash, key.Bytes)
	if entry == nil || *entry <= e.now {
		return e.now, false
	}
	return *entry, true
}

func (e *Engine) countLookup(storedNanos int64) {
	if storedNanos > e.now {
		e.stats.Hits++
	} else {
		e.stats.Misses++
	}
}

// Store gives the key this TAT. A TAT in the past means no key, so it deletes.
func (e *Engine) Store(key Key, tatNanos int64) {
	if tatNanos <= e.now {
		e.Delete(key)
		return
	}
	table := e.databases[key.DB]
	if entry := table.Find(key.Hash, key.Bytes); entry != nil {
		*entry = tatNanos
	} else {
		table.Insert(key.Hash, key.Bytes, tatNanos, e.now)
	}
	e.stored(&key, tatNanos)
}

// Delete removes the key and says whether it was there, alive.
func (e *Engine) Delete(key Key) bool {
	_, live := e.peek(key)
	if live {
		e.databases[key.DB].Delete(key.Hash, key.Bytes)
		e.deleted(&key)
	}
	return live
}

// Flush empties one database. It takes the same time whatever the database holds: the old table is left to the
// garbage collector. It is told as an effect even where the shard has nothing in the database, for others may.
func (e *Engine) Flush(db int) {
	if e.effects != nil {
		e.effects.Flush(db)
	}
	if e.databases[db].Len() == 0 {
		return
	}
	e.databases[db] = keyspace.New(e.hasher.Sum)
	e.preload = keyspace.Preload{} // it holds on to the old one
	e.sweeps[db] = sweep{}
	e.stats.Changes++
}

// Swap exchanges the contents of two databases.
func (e *Engine) Swap(a, b int) {
	if a == b {
		return
	}
	if e.effects != nil {
		e.effects.Swap(a, b)
	}
	e.databases[a], e.databases[b] = e.databases[b], e.databases[a]
	e.sweeps[a], e.sweeps[b] = e.sweeps[b], e.sweeps[a]
	e.stats.Changes++
}

// Len returns how many entries a database holds, dead ones that were not swept yet included.
func (e *Engine) Len(db int) int { return e.databases[db].Len() }

// Bytes returns the heap bytes that the tables hold.
func (e *Engine) Bytes() int {
	total := 0
	for _, table := range e.databases {
		total += table.Bytes()
	}
	return total
}

// sweep is the progress of the sweep of one database.
type sweep struct {
	pacer  expiry.Pacer
	cursor uint64
}

// Sweep reclaims dead entries: a bounded number, which is small unless the caller is idle. It returns whether there is
// more to do at once, which only an idle caller should.
func (e *Engine) Sweep(idle bool) (more bool) {
	for db, table := range e.databases {
		if table.Len() == 0 {
			continue
		}
		s := &e.sweeps[db]
		budget, behind := s.pacer.Budget(e.now, table.Len(), idle)
		if budget == 0 {
			continue
		}
		next, looked, removed := table.Sweep(s.cursor, e.now, budget)
		s.cursor = next
		s.pacer.Swept(looked, removed, next == 0)
		e.stats.Expired += uint64(removed)
		more = more || behind
	}
	return more
}
