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

// A vacancy is a slot that a new entry may have.
type vacancy struct {
	group *group
	slot  int
	spare bool // the slot has a record of the new key's length, left by an entry that is gone or dead
}

// vacancyFor returns the vacancy for a new key of that length: in the first group on its probe that has any, one with a
// spare record if possible. ok is false if the segment must be rebuilt first.
//
// Where keys come and go and are of one length, as limiter keys mostly are, a new one nearly always finds a spare
// record. So nothing needs to be moved to make room, neither slots nor bytes.
func (s *segment) vacancyFor(hash uint64, keyBytes int, now int64) (found vacancy, ok bool) {
	if len(s.groups) == 0 {
		return vacancy{}, false
	}
	for p := s.home(hash); found.group == nil; p = s.next(p) {
		found = s.vacancyIn(s.at(p), keyBytes, now)
	}
	if found.group.free().has(found.slot) && int(s.live) >= s.capacity() {
		return found, false
	}
	return found, found.spare || s.arena.hasRoom(recordBytes(keyBytes))
}

// vacancyIn returns the group's best vacancy, or none.
func (s *segment) vacancyIn(g *group, keyBytes int, now int64) (best vacancy) {
	for m := g.vacant(now); m != 0; m = m.rest() {
		slot := m.first()
		if record := g.record(slot); record != noRecord && s.arena.keyBytes(record) == keyBytes {
			return vacancy{g, slot, true}
		}
		if best.group == nil {
			best = vacancy{g, slot, false}
		}
	}
	return best
}

// putAtHome puts a new entry into its home group g, if a vacancy there has a spare record: what five insertions of six do
// where keys come and go. It looks at no other group and moves nothing, so it leaves the insertion to the longer way where
// the group has dead entries that are displaced. grown is 1 if there is an entry more than before.
func (s *segment) putAtHome(g *group, hash uint64, key []byte, value, now int64) (grown int, ok bool) {
	vacant := g.vacant(now)
	if g.hasDisplaced() && g.anyDisplaced(vacant&g.full()) || int(s.live) >= s.capacity() {
		return 0, false
	}
	for m := vacant; m != 0; m = m.rest() {
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

// put puts an entry whose record is in the arena into the first free slot on its probe.
func (s *segment) put(hash uint64, value int64, record uint32) {
	for p := s.home(hash); ; p = s.next(p) {
		if g := s.at(p); g.free() != 0 {
			s.occupy(g, g.free().first(), hash, value, record)
			return
		}
	}
}

// occupy gives the entry a free slot.
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

// vacate takes the entry out of its slot and leaves its record there as a spare. It does not unpass a displaced one.
func (s *segment) vacate(g *group, slot int) {
	s.arena.dead += uint32(recordBytes(s.arena.keyBytes(g.record(slot))))
	s.live--
	g.setTag(slot, tagFree)
}

// unpass takes back what occupy counted for a displaced entry in the groups that its probe has passed.
func (s *segment) unpass(g *group, slot int, hash uint64) {
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
