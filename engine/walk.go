package engine

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Scan calls visit for about count live keys of a database from cursor on and returns the next cursor. 0 begins, and 0
// returned ends. A key that lives from the first call of such a walk to the last is visited. The key's bytes are good
// until visit returns.
func (e *Engine) Scan(db int, cursor uint64, count int, visit func(key []byte, tatNanos int64)) (next uint64) {
	return e.databases[db].Scan(cursor, count, func(key []byte, tatNanos int64) {
		if tatNanos > e.now {
			visit(key, tatNanos)
		}
	})
}

// ScanSegment is Scan for as many entries as are cheapest to visit.
func (e *Engine) ScanSegment(db int, cursor uint64, visit func(key []byte, tatNanos int64)) (next uint64) {
	return e.databases[db].ScanSegment(cursor, func(key []byte, tatNanos int64) {
		if tatNanos > e.now {
			visit(key, tatNanos)
		}
	})
}

// Each calls visit for every live key of a database.
func (e *Engine) Each(db int, visit func(key []byte, tatNanos int64)) {
	for cursor := e.ScanSegment(db, 0, visit); cursor != 0; {
		cursor = e.ScanSegment(db, cursor, visit)
	}
}

// randomTries is how often Random draws.
const randomTries = 64

// Random returns a live key of a database, each about equally likely, chosen by the random numbers that draw returns. Among
// very many dead entries, which a sweep removes within seconds, it may find none where there is one. The key's bytes are good
// until the next call.
func (e *Engine) Random(db int, draw func() uint64) (key []byte, found bool) {
	for range randomTries {
		drawn, tatNanos, any := e.databases[db].Random(draw())
		if any && tatNanos > e.now {
			return drawn, true
		}
	}
	return nil, false
}

// SampleTTL draws so many entries of a database by the random numbers that draw returns. It returns how many of them were
// alive and how many dead, and for how long those drawn live on average, in nanoseconds, the dead with 0.
func (e *Engine) SampleTTL(db, samples int, draw func() uint64) (live, dead int, meanNanos float64) {
	for range samples {
		_, tatNanos, found := e.databases[db].Random(draw())
		switch {
		case !found:
			return 0, 0, 0
		case tatNanos > e.now:
			live++
			meanNanos += float64(tatNanos-e.now) / float64(samples)
		default:
			dead++
		}
	}
	return live, dead, meanNanos
}

// Digest folds the live entries of all databases into one number that does not depend on their order, on the hash seed
// or on dead entries: engines with the same state have the same digest, and the digests of a keyspace's shards combine
// by exclusive or. An empty engine's is 0.
func (e *Engine) Digest() uint64 {
	var digest uint64
	for db := range e.databases {
		e.Each(db, func(key []byte, tatNanos int64) {
			record := binary.BigEndian.AppendUint64([]byte{byte(db)}, uint64(tatNanos))
			digest ^= xxhash.Sum64(append(record, key...))
		})
	}
	return digest
}
