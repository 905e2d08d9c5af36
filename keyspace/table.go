package keyspace

import (
	"unsafe"

	"github.com/cellserver/cellserver/internal/invariants"
)

// MaxKeyBytes is the length of the longest key: the most that the two bytes before a key in its record can hold.
const MaxKeyBytes = 1<<16 - 1

// A Table maps keys, any bytes, to int64 values, 0 or more. The value is also the entry's deadline: at any now >= value the entry
// is dead. To Find, Scan and Random a dead entry is an entry like any other (the caller knows the time); Insert drops
// the dead from a segment it has to rebuild, Sweep removes them everywhere.
//
// A Table is for one goroutine at a time.
type Table struct {
	hash      func(key []byte) uint64
	directory []*segment // by the first depth bits of the position; a segment of less depth stands several times
	depth     uint8
	deepest   int // segments as deep as the directory
	segments  int
	entries   int

	groupPool pool[groupBlock]
	arenaPool pool[arenaBlock]
	moves     moves
	rebuilds  uint64 // of segments, since the table was made

	entryScratch []entry
	keyScratch   []byte
	blockScratch []*arenaBlock
}

// New returns an empty table. The hash arguments of the other methods must be hash(key); the table itself calls hash
// only to move entries and to scan.
func New(hash func(key []byte) uint64) *Table {
	t := &Table{hash: hash}
	t.reset()
	return t
}

// reset empties the table and releases all its memory.
func (t *Table) reset() {
	*t = Table{hash: t.hash, directory: []*segment{newSegment(0, 0)}, deepest: 1, segments: 1, moves: t.moves, rebuilds: t.rebuilds + 1}
}

// segmentOf returns the segment of the entries with this hash.
func (t *Table) segmentOf(hash uint64) *segment { return t.directory[t.index(position(hash))] }

// Find returns a pointer to key's value, or nil if the table does not have the key. Writing through the pointer
// updates the entry; it is good until the next Insert, Delete or Sweep.
func (t *Table) Find(hash uint64, key []byte) *int64 {
	var place Place
	return t.FindAt(&place, hash, key)
}

// FindAt is Find for a caller who may know the key's place already; afterwards the caller does.
func (t *Table) FindAt(place *Place, hash uint64, key []byte) *int64 {
	if !place.isFor(t, hash) {
		t.locate(place, hash)
	}
	g, slot := place.segment.find(place.group, hash, key)
	if g == nil {
		return nil
	}
	return &g.values[slot]
}

// Insert adds a key that Find did not find. It uses the slot of a dead entry (value <= now) if its probe meets one. If it
// has to rebuild the key's segment, it first drops the segment's dead entries. It panics on a key longer than MaxKeyBytes.
func (t *Table) Insert(hash uint64, key []byte, value, now int64) {
	var place Place
	t.InsertAt(&place, hash, key, value, now)
}

// InsertAt is Insert for a caller who may know the key's place already.
func (t *Table) InsertAt(place *Place, hash uint64, key []byte, value, now int64) {
	if len(key) > MaxKeyBytes {
		panic("keyspace: Insert of a key longer than MaxKeyBytes")
	}
	if invariants.Enabled && t.Find(hash, key) != nil {
		panic("keyspace: Insert of an existing key")
	}
	if !place.isFor(t, hash) {
		t.locate(place, hash)
	}
	s := place.segment
	if grown, ok := s.putAtHome(place.group, hash, key, value, now); ok {
		t.entries += grown
		t.checkAfter(s)
		return
	}
	to, ok := s.vacancyFor(hash, len(key), now)
	if !ok {
		t.makeRoom(s, recordBytes(len(key)), now)
		s = t.segmentOf(hash) // after a split perhaps the other half
		to, _ = s.vacancyFor(hash, len(key), now)
	}
	before := s.live
	if to.group.hasDisplaced() {
		t.removeDisplaced(s, to.group, now)
	}
	t.put(s, to, hash, key, value)
	t.entries += int(s.live - before)
	t.checkAfter(s)
}

// put puts a new entry into the vacancy, from which it removes a dead one.
func (t *Table) put(s *segment, to vacancy, hash uint64, key []byte, value int64) {
	g, slot := to.group, to.slot
	if g.full().has(slot) {
		t.remove(s, g, slot)
	}
	record := g.record(slot)
	if to.spare {
		s.arena.reuse(record, key)
	} else {
		if record != noRecord {
			s.arena.lost += uint32(recordBytes(s.arena.keyBytes(record)))
		}
		record = s.arena.append(key, &t.arenaPool)
	}
	s.occupy(g, slot, hash, value, record)
}

// removeDisplaced removes the dead entries of a group that are displaced, so that lookups do not come here for them any
// more. Other dead entries may stay until their slot is wanted.
func (t *Table) removeDisplaced(s *segment, g *group, now int64) {
	for m := g.dead(now); m != 0; m = m.rest() {
		if slot := m.first(); g.displaced(slot) {
			t.remove(s, g, slot)
		}
	}
}

// remove takes an entry out of its segment.
func (t *Table) remove(s *segment, g *group, slot int) {
	if g.displaced(slot) {
		s.unpass(g, slot, t.hash(s.arena.key(g.record(slot), &t.keyScratch)))
	}
	s.vacate(g, slot)
}

// Delete removes key's entry and reports whether there was one.
func (t *Table) Delete(hash uint64, key []byte) bool {
	var place Place
	t.locate(&place, hash)
	s := place.segment
	g, slot := s.find(place.group, hash, key)
	if g == nil {
		return false
	}
	t.remove(s, g, slot)
	t.entries--
	if s.live == 0 {
		t.release(s)
	}
	t.checkAfter(s)
	return true
}

// release gives back the blocks of a segment that has no entries.
func (t *Table) release(s *segment) {
	t.regroup(s, 0)
	t.releaseArena(s.arena)
	s.arena.blocks = s.arena.blocks[:0]
	s.arena = arena{}
}

// EntryBytes returns how much of a full table's memory an entry with a key of that length takes. What a table has to
// spare for growth comes on top; Bytes includes it.
func EntryBytes(keyBytes int) int {
	return int(unsafe.Sizeof(group{}))/slotsPerGroup + recordBytes(keyBytes)
}

// Len returns the number of entries, including dead ones that have not been removed yet.
func (t *Table) Len() int { return t.entries }

// Bytes returns the bytes of heap that the table holds, as the allocator rounds them.
func (t *Table) Bytes() int {
	const (
		pointerBytes    = 8
		groupBlockBytes = int(unsafe.Sizeof(groupBlock{}))
		// Lists of arena blocks grow by doubling: up to two pointers a block.
		arenaBytes   = arenaBlockBytes + 2*pointerBytes
		segmentBytes = 80 + maxBlocks*pointerBytes
	)
	return t.groupPool.held()*groupBlockBytes + t.arenaPool.held()*arenaBytes +
		t.segments*segmentBytes + len(t.directory)*pointerBytes +
		cap(t.entryScratch)*int(unsafe.Sizeof(entry{})) + cap(t.keyScratch) + cap(t.blockScratch)*pointerBytes +
		int(unsafe.Sizeof(*t))
}
