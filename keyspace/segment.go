package keyspace

// maxBlocks bounds a segment, and so the entries that one operation moves: 12 blocks hold 1,056 slots, 924 entries.
const (
	maxBlocks  = 12
	maxEntries = maxBlocks * entriesPerBlock
)

// A segment is a small hash table of its own: all entries whose position begins with the segment's prefix.
type segment struct {
	groups     []*groupBlock
	arena      arena
	live       int32  // slots with an entry
	tombstones int32  // slots with tagTombstone
	start      uint64 // first position of the range
	depth      uint8  // the range is 1/2^depth of all positions
}

func newSegment(start uint64, depth uint8) *segment {
	return &segment{groups: make([]*groupBlock, 0, maxBlocks), start: start, depth: depth}
}

// end returns the first position behind the range.
func (s *segment) end() uint64 { return s.start + 1<<(positionBits-s.depth) }

// capacity returns how many slots may be in use, tombstones included.
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

// A probe is a walk over the groups of a segment from an entry's home group on, wrapping at the end.
type probe struct{ block, group int }

// home returns where the entry's probe begins. Bits 7 to 22 of the hash, read as a fraction of 1, are scaled to the
// number of blocks, and what is left over to the groups of the block: any number of blocks will do.
func (s *segment) home(hash uint64) probe {
	scaled := int(uint16(hash>>7)) * len(s.groups)
	return probe{scaled >> 16, scaled & 0xffff * groupsPerBlock >> 16}
}

func (s *segment) next(p probe) probe {
	if p.group++; p.group == groupsPerBlock {
		p.group = 0
		if p.block++; p.block == len(s.groups) {
			p.block = 0
		}
	}
	return p
}

// find returns the group and slot of key's entry, or nil. It ends because capacity leaves an empty slot somewhere.
func (s *segment) find(hash uint64, key []byte) (*group, int) {
	if len(s.groups) == 0 {
		return nil, 0
	}
	tag := tagOf(hash)
	for p := s.home(hash); ; p = s.next(p) {
		g := s.groups[p.block].at(p.group)
		for m := g.matching(tag); m != 0; m = m.rest() {
			if slot := m.first(); s.arena.holds(g.keys[slot], key) {
				return g, slot
			}
		}
		if g.empty() != 0 {
			return nil, 0
		}
	}
}

// vacancy returns the group and slot that a new entry takes: the first on its probe that is empty or a tombstone.
func (s *segment) vacancy(hash uint64) (*group, int) {
	for p := s.home(hash); ; p = s.next(p) {
		g := s.groups[p.block].at(p.group)
		if free := g.free(); free != 0 {
			return g, free.first()
		}
	}
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
		found = s.seatIn(s.groups[p.block].at(p.group), keyBytes, now)
	}
	g, slot := found.group, found.slot
	if g.empty().has(slot) && int(s.live+s.tombstones) >= s.capacity() {
		return found, false
	}
	return found, found.spare || s.arena.hasRoom(recordBytes(keyBytes))
}

// seatIn returns the group's best seat, or none.
func (s *segment) seatIn(g *group, keyBytes int, now int64) (best seat) {
	for m := g.reusable(now); m != 0; m = m.rest() {
		slot := m.first()
		if record := g.keys[slot]; record != noRecord && s.arena.keyBytes(record) == keyBytes {
			return seat{g, slot, true}
		}
		if best.group == nil {
			best = seat{g, slot, false}
		}
	}
	return best
}

// sit puts a new entry into its seat, in place of the dead one there may be.
func (s *segment) sit(at seat, hash uint64, key []byte, value int64, pool *pool[arenaBlock]) {
	g, slot := at.group, at.slot
	if g.full().has(slot) {
		s.remove(g, slot)
	}
	if !at.spare {
		s.occupy(g, slot, hash, value, s.arena.append(key, pool))
		return
	}
	record := g.keys[slot]
	s.arena.write(record+recordHeaderBytes, key)
	s.arena.dead -= uint32(recordBytes(len(key)))
	s.occupy(g, slot, hash, value, record)
}

// place puts an entry whose record is in the arena into a slot: the first on its probe that is free.
func (s *segment) place(hash uint64, value int64, record uint32) {
	g, slot := s.vacancy(hash)
	s.occupy(g, slot, hash, value, record)
}

// occupy makes a free slot the entry's.
func (s *segment) occupy(g *group, slot int, hash uint64, value int64, record uint32) {
	if !g.empty().has(slot) {
		s.tombstones--
	}
	g.setTag(slot, tagOf(hash))
	g.keys[slot] = record
	g.values[slot] = value
	s.live++
}

// remove takes the entry out of its slot, to which it leaves its record as a spare. While the group has an empty slot
// no probe has ever passed it (a group gets no empty slot back once it has run out of them), so the slot may be empty
// again; otherwise it becomes a tombstone.
func (s *segment) remove(g *group, slot int) {
	s.arena.dead += uint32(recordBytes(s.arena.keyBytes(g.keys[slot])))
	s.live--
	if g.empty() != 0 {
		g.setTag(slot, tagEmpty)
		return
	}
	g.setTag(slot, tagTombstone)
	s.tombstones++
}

// sparse reports whether a rebuild would give back half of the segment's blocks.
func (s *segment) sparse() bool {
	need := blocksFor(int(s.live)) + blocksForBytes(s.arena.live())
	return 2*need <= len(s.groups)+len(s.arena.blocks)
}

func blocksForBytes(n int) int { return (n + arenaBlockBytes - 1) / arenaBlockBytes }
