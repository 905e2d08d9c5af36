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

// walkStep is how many entries Each looks at in one step; the table only needs it to be bounded.
const walkStep = 1024

// Each calls visit for every live key of a database.
func (e *Engine) Each(db int, visit func(key []byte, tatNanos int64)) {
	for cursor := e.Scan(db, 0, walkStep, visit); cursor != 0; {
		cursor = e.Scan(db, cursor, walkStep, visit)
	}
}

// randomTries is how often Random draws before it searches: among mostly dead entries, which a sweep removes within
// seconds, drawing on would take long.
const randomTries = 64

// Random returns a live key of a database, each about equally likely, chosen by the random numbers that draw returns.
func (e *Engine) Random(db int, draw func() uint64) (key []byte, live bool) {
	for range randomTries {
		drawn, tatNanos, found := e.databases[db].Random(draw())
		if !found {
			return nil, false
		}
		if tatNanos > e.now {
			return drawn, true
		}
	}
	seen := uint64(0)
	e.Each(db, func(found []byte, _ int64) {
		seen++
		if draw()%seen == 0 { // each of those seen so far is the chosen one with the same probability
			key, live = append(key[:0], found...), true
		}
	})
	return key, live
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
