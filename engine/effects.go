package engine

import "slices"

// Effects is a sink of changes. It is told of every change of a shard's state, in the order in which they are made: applying them
// to an empty engine gives the same state. Set and Delete are told once they are made; Flush and Swap just before, so that a sink
// can still look at what goes. A key's bytes are valid until the call returns.
//
// The death of an entry is not a change: every copy of it dies at the same time.
type Effects interface {
	// Set says that the key has this TAT, in Unix nanoseconds.
	Set(db int, hash uint64, key []byte, tatNanos int64)
	// Delete says that the key is gone.
	Delete(db int, hash uint64, key []byte)
	// Flush says that a database is emptied.
	Flush(db int)
	// Swap says that two databases change places.
	Swap(a, b int)
}

// Attach has a sink told of all changes from now on, after the sinks that are attached already.
func (e *Engine) Attach(sink Effects) { e.setSinks(append(slices.Clone(e.sinks), sink)) }

// Detach undoes Attach. It does nothing for a sink that is not attached.
func (e *Engine) Detach(sink Effects) {
	e.setSinks(slices.DeleteFunc(slices.Clone(e.sinks), func(attached Effects) bool { return attached == sink }))
}

func (e *Engine) setSinks(sinks fanOut) {
	e.sinks = sinks
	switch len(sinks) {
	case 0:
		e.effects = nil
	case 1:
		e.effects = sinks[0]
	default:
		e.effects = sinks
	}
}

// fanOut tells several sinks.
type fanOut []Effects

func (f fanOut) Set(db int, hash uint64, key []byte, tatNanos int64) {
	for _, sink := range f {
		sink.Set(db, hash, key, tatNanos)
	}
}

func (f fanOut) Delete(db int, hash uint64, key []byte) {
	for _, sink := range f {
		sink.Delete(db, hash, key)
	}
}

func (f fanOut) Flush(db int) {
	for _, sink := range f {
		sink.Flush(db)
	}
}

func (f fanOut) Swap(a, b int) {
	for _, sink := range f {
		sink.Swap(a, b)
	}
}

// stored and deleted count and tell an effect on one key.
func (e *Engine) stored(key *Key, tatNanos int64) {
	e.stats.Changes++
	if e.effects != nil {
		e.effects.Set(key.DB, key.Hash, key.Bytes, tatNanos)
	}
}

func (e *Engine) deleted(key *Key) {
	e.stats.Changes++
	if e.effects != nil {
		e.effects.Delete(key.DB, key.Hash, key.Bytes)
	}
}
