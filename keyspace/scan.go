package keyspace

import (
	"cmp"
	"slices"
)

// Scan calls visit for about count entries from cursor on and returns the cursor to go on with; 0 begins a scan, and
// 0 returned ends it. A key that is in the table throughout a scan is visited exactly once, whatever is inserted,
// deleted or swept between the calls: cursors are positions, growing only divides ranges of positions, and shrinking
// only joins them. Cursors are below 2^44.
//
// Keys of one position are visited by the same call, so it may visit more than count; it looks into no more than count
// segments, so it may visit fewer. The key passed to visit is good during that call only, and visit must not change
// the table.
func (t *Table) Scan(cursor uint64, count int, visit func(key []byte, value int64)) (next uint64) {
	at := cursor & (1<<positionBits - 1)
	left := max(1, count)
	for range left {
		s := t.directory[t.index(at)]
		n, next := t.scanSegment(s, at, left, visit)
		if next == 1<<positionBits {
			return 0
		}
		at, left = next, left-n
		if left <= 0 {
			break
		}
	}
	return at
}

// ScanSegment is Scan for as many entries as are cheapest to visit: all that are left of the cursor's segment, at most 1,008. They
// need not be put in order, and only in a segment that was joined with another meanwhile are their positions looked at.
func (t *Table) ScanSegment(cursor uint64, visit func(key []byte, value int64)) (next uint64) {
	from := cursor & (1<<positionBits - 1)
	s := t.directory[t.index(from)]
	for _, block := range s.groups {
		for i := range block {
			g := &block[i]
			for m := g.full(); m != 0; m = m.rest() {
				slot := m.first()
				key := s.arena.key(g.record(slot), &t.keyScratch)
				if from == s.start || position(t.hash(key)) >= from {
					visit(key, g.values[slot])
				}
			}
		}
	}
	return s.end() & (1<<positionBits - 1) // 0 behind the last
}

// scanSegment visits the first count entries of the segment with a position of at least from, and all others of the
// last one's position. It returns their number and the position to go on with.
func (t *Table) scanSegment(s *segment, from uint64, count int, visit func([]byte, int64)) (n int, next uint64) {
	entries := t.entriesFrom(s, from)
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(position(a.hash), position(b.hash)) })
	for _, e := range entries {
		if n >= count && position(e.hash) != position(entries[n-1].hash) {
			return n, position(e.hash)
		}
		visit(s.arena.key(e.record, &t.keyScratch), e.value)
		n++
	}
	return n, s.end()
}

// entriesFrom lists the segment's entries of a position of at least from, in the table's scratch.
func (t *Table) entriesFrom(s *segment, from uint64) []entry {
	entries := t.entryScratch[:0]
	for _, block := range s.groups {
		for i := range block {
			g := &block[i]
			for m := g.full(); m != 0; m = m.rest() {
				slot := m.first()
				hash := t.hash(s.arena.key(g.record(slot), &t.keyScratch))
				if position(hash) >= from {
					entries = append(entries, entry{hash, g.values[slot], g.record(slot)})
				}
			}
		}
	}
	t.entryScratch = entries
	return entries
}
