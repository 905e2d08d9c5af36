package keyspace

const (
	// positionBits is the width of a position, so that a cursor, which is one, keeps 20 bits of 64 free above it and
	// is exact as a double.
	positionBits = 44
	// maxDepth is how many bits the directory may use: bits 47 to 23 of the hash. Lower bits choose the home group.
	maxDepth = 25
)

// position returns where a hash stands in the order of the table: bits 47 to 4. The 16 bits above choose the shard, so
// they are much alike within a table.
func position(hash uint64) uint64 { return hash << 16 >> (64 - positionBits) }

// index returns where in the directory the segment of the position is.
func (t *Table) index(position uint64) uint64 { return position >> (positionBits - t.depth) }

// maySplit reports whether the segment can be halved. The directory must remain in proportion to the entries: where a
// hash does not tell keys apart, doubling it over and over would not either, and the segment grows in place instead.
func (t *Table) maySplit(s *segment) bool {
	if s.depth == maxDepth {
		return false
	}
	return s.depth < t.depth || 2*len(t.directory) <= 16+2*t.entries
}

// split halves the segment's range and moves its entries, gathered before, into s and a new segment for the upper half.
func (t *Table) split(s *segment, entries []entry, churning bool) {
	if s.depth == t.depth {
		t.double()
	}
	s.depth++
	upper := newSegment(s.end(), s.depth)
	t.segments++
	if s.depth == t.depth {
		t.deepest += 2
	}
	t.assign(upper)

	n := partition(entries, upper.start)
	old := t.detachArena(s)
	t.refill(s, blocksWith(n+1, churning), entries[:n], &old)
	t.refill(upper, blocksWith(len(entries)-n+1, churning), entries[n:], &old)
	t.releaseArena(old)
	t.checkAfter(upper)
}

// partition reorders entries so that those of a position below start come first, and returns their number.
func partition(entries []entry, start uint64) int {
	n := 0
	for i, e := range entries {
		if position(e.hash) < start {
			entries[i], entries[n] = entries[n], e
			n++
		}
	}
	return n
}

// assign enters the segment in the directory for all of its range.
func (t *Table) assign(s *segment) {
	for i := t.index(s.start); i <= t.index(s.end()-1); i++ {
		t.directory[i] = s
	}
}

// double makes the directory one bit deeper. Only pointers move.
func (t *Table) double() {
	directory := make([]*segment, 2*len(t.directory))
	for i := range directory {
		directory[i] = t.directory[i/2]
	}
	t.directory = directory
	t.depth++
	t.deepest = 0
}

// halve undoes double. No segment may be as deep as the directory.
func (t *Table) halve() {
	directory := make([]*segment, len(t.directory)/2)
	for i := range directory {
		directory[i] = t.directory[2*i]
	}
	t.directory = directory
	t.depth--
	for _, s := range directory {
		if s.depth == t.depth {
			t.deepest++
		}
	}
}

// merge joins a segment and its buddy below, the other half of the range they were split from, if together they are so
// small that they would have to grow fourfold to split again. It moves the entries of the upper one.
func (t *Table) merge(upper *segment, now int64) {
	if upper.depth == 0 || upper.start&(1<<(positionBits-upper.depth)) == 0 {
		return // no buddy below
	}
	lower := t.directory[t.index(upper.start-1)]
	live := int(lower.live + upper.live)
	if lower.depth != upper.depth || live > maxEntries/4 ||
		lower.arena.live()+upper.arena.live() > maxArenaBytes/4 {
		return
	}
	t.absorb(lower, upper, now)
	if lower.depth == t.depth {
		t.deepest -= 2
	}
	lower.depth--
	t.segments--
	t.assign(lower)
	if t.deepest == 0 && t.depth > 0 {
		t.halve()
	}
	t.checkAfter(lower)
}
