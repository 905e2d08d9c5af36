package keyspace

// maxBlocks bounds a segment, and so the entries that one operation moves: 12 blocks hold 1,152 slots, 1,008 entries.
const (
	maxBlocks  = 12
	maxEntries = maxBlocks * entriesPerBlock
)

// A segment is a small hash table of its own: all entries whose position begins with the segment's prefix.
type segment struct {
	groups []*groupBlock
	arena  arena
	start  uint64 // first position of the range
	live   int32  // slots with an entry
	depth  uint8  // the range is 1/2^depth of all positions
}

func newSegment(start uint64, depth uint8) *segment {
	return &segment{groups: make([]*groupBlock, 0, maxBlocks), start: start, depth: depth}
}

// end returns the first position behind the range.
func (s *segment) end() uint64 { return s.start + 1<<(positionBits-s.depth) }

// capacity returns how many entries there may be.
func (s *segment) capacity() int { return len(s.groups) * entriesPerBlock }

// blocksFor returns how many blocks a rebuild gives to n entries: with them the segment is at most 7/8 full and one in
// 16 is left to be filled, so that rebuilds stay at least that far apart. Above half of maxBlocks, where a split begins,
// it goes in steps of two: growing block by block would save one byte a key and move each twice as often.
func blocksFor(n int) int {
	blocks := (n + n/16 + entriesPerBlock - 1) / entriesPerBlock
	if blocks > maxBlocks/2 {
		blocks += blocks % 2
	}
	return blocks
}

// blocksWith is blocksFor, with a third more room where keys come and go.
func blocksWith(n int, churning bool) int {
	if churning {
		n += n / 3
	}
	return blocksFor(n)
}

// A probe is a walk over the groups of a segment from an entry's home group on, pair by pair of neighbours, wrapping at the
// end. Going to the other of the pair first keeps full groups from joining to long runs: a pair that overflows is much
// rarer than a group that does. And half of the other is on a cache line that is at hand.
type probe struct{ block, group, steps int }

// home returns where the entry's probe begins. Bits 7 to 22 of the hash, read as a fraction of 1, are scaled to the
// number of blocks, and what is left over to the groups of the block: any number of blocks will do.
func (s *segment) home(hash uint64) probe {
	scaled := int(uint16(hash>>7)) * len(s.groups)
	return probe{block: scaled >> 16, group: scaled & 0xffff * groupsPerBlock >> 16}
}

func (s *segment) next(p probe) probe {
	if p.steps++; p.steps%2 == 1 {
		p.group ^= 1
		return p
	}
	if p.group += 2; p.group >= groupsPerBlock {
		p.group -= groupsPerBlock
		if p.block++; p.block == len(s.groups) {
			p.block = 0
		}
	}
	return p
}

func (s *segment) at(p probe) *group { return s.groups[p.block].at(p.group) }

// find returns the group and slot of key's entry, or nil. It ends at the first group that no probe has passed, most often
// the home group.
func (s *segment) find(home *group, hash uint64, key []byte) (*group, int) {
	if slot, found := s.findIn(home, hash, key); found {
		return home, slot
	}
	if !home.passed() {
		return nil, 0
	}
	p := s.home(hash)
	for range len(s.groups)*groupsPerBlock - 1 { // all of them may have been passed
		p = s.next(p)
		g := s.at(p)
		if slot, found := s.findIn(g, hash, key); found {
			return g, slot
		}
		if !g.passed() {
			break
		}
	}
	return nil, 0
}

func (s *segment) findIn(g *group, hash uint64, key []byte) (slot int, found bool) {
	for m := g.matching(tagOf(hash)); m != 0; m = m.rest() {
		if slot := m.first(); s.arena.holds(g.record(slot), key) {
			return slot, true
		}
	}
	return 0, false
}

// A seat is the slot that a new entry will have.
type seat struct {
	group *group
	slot  int
	// spare says that the slot has a record of the new key's length, left by an entry that is gone or dead.
	spare bool
}

// seatFor returns a seat for a new key of that length: in the first group on its probe with a slot that is free or
// whose entry is dead, and there best one with a spare record. ok is false if that takes a rebuild.
//
// Where keys come and go and are of one length, as limiter keys mostly are, a new one nearly always finds a spare
// record. So nothing needs to be moved to make room, neither slots nor bytes.
func (s *segment) seatFor(hash uint64, keyBytes int, now int64) (found seat, ok bool) {
	if len(s.groups) == 0 {
		return seat{}, false
	}
	for p := s.home(hash); found.group == nil; p = s.next(p) {
		found = s.seatIn(s.at(p), keyBytes, now)
	}
	if found.group.free().has(found.slot) && int(s.live) >= s.capacity() {
		return found, false
	}
	return found, found.spare || s.arena.hasRoom(recordBytes(keyBytes))
}

// seatIn returns the group's best seat, or none.
func (s *segment) seatIn(g *group, keyBytes int, now int64) (best seat) {
	for m := g.reusable(now); m != 0; m = m.rest() {
		slot := m.first()
		if record := g.record(slot); record != noRecord && s.arena.keyBytes(record) == keyBytes {
			return seat{g, slot, true}
		}
		if best.group == nil {
			best = seat{g, slot, false}
		}
	}
	return best
}

// settle puts a new entry into a slot of its home group g that is free or whose entry is dead, if one has a record of the
// key's length: what five insertions of six do where keys come and go. It looks at no other group and moves nothing, so
// it stands back where dead entries of another home must be recalled. grown is 1 if there is an entry more than before.
func (s *segment) settle(g *group, hash uint64, key []byte, value, now int64) (grown int, ok bool) {
	reusable := g.reusable(now)
	if g.hasDisplaced() && g.anyDisplaced(reusable&g.full()) || int(s.live) >= s.capacity() {
		return 0, false
	}
	for m := reusable; m != 0; m = m.rest() {
		slot := m.first()
		if record := g.record(slot); record == noRecord || !s.arena.replace(record, key) {
			continue
		}
		if g.free().has(slot) {
			s.live++
			s.arena.dead -= uint32(recordBytes(len(key)))
			grown = 1
		}
		g.setTag(slot, tagOf(hash))
		g.values[slot] = value
		return grown, true
	}
	return 0, false
}

// place puts an entry whose record is in the arena into the first free slot on its probe.
func (s *segment) place(hash uint64, value int64, record uint32) {
	for p := s.home(hash); ; p = s.next(p) {
		if g := s.at(p); g.free() != 0 {
			s.occupy(g, g.free().first(), hash, value, record)
			return
		}
	}
}

// occupy makes a free slot the entry's.
func (s *segment) occupy(g *group, slot int, hash uint64, value int64, record uint32) {
	g.setTag(slot, tagOf(hash))
	g.setRecord(slot, record)
	g.values[slot] = value
	s.live++
	if p := s.home(hash); s.at(p) != g {
		g.setDisplaced(slot)
		for ; s.at(p) != g; p = s.next(p) {
			s.at(p).pass()
		}
	}
}

// vacate takes the entry out of its slot, to which it leaves its record as a spare. A displaced one must be recalled too.
func (s *segment) vacate(g *group, slot int) {
	s.arena.dead += uint32(recordBytes(s.arena.keyBytes(g.record(slot))))
	s.live--
	g.setTag(slot, tagFree)
}

// recall undoes what a displaced entry's probe has left in the groups that it passed on its way to this one.
func (s *segment) recall(g *group, slot int, hash uint64) {
	for p := s.home(hash); s.at(p) != g; p = s.next(p) {
		s.at(p).unpass()
	}
	g.clearDisplaced(slot)
}

// sparse reports whether a rebuild would give back half of the segment's blocks.
func (s *segment) sparse() bool {
	need := blocksFor(int(s.live)) + blocksForBytes(s.arena.live())
	return 2*need <= len(s.groups)+len(s.arena.blocks)
}

func blocksForBytes(n int) int { return (n + arenaBlockBytes - 1) / arenaBlockBytes }
