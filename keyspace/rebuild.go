package keyspace

import "github.com/cellserver/cellserver/internal/invariants"

// An entry is one that is being moved.
type entry struct {
	hash   uint64
	value  int64
	record uint32
}

// moves counts what rebuilds have moved since the table was made: the bound on one operation is tested by it.
type moves struct{ entries, bytes int }

// makeRoom rebuilds the segment, without its dead entries, so that a record of n bytes fits in; where the segment is
// as large as one may be, it splits. Either way each of its entries moves once.
//
// A segment that had dead entries to drop is one where keys come and go. It gets room for a third more than it has, so
// that the next rebuild, which moves all of them, is far away; to shrink is left to the sweep, which sees what stays
// unused. One that only grows is filled close, since nearly all that it holds will stay.
func (t *Table) makeRoom(s *segment, n int, now int64) {
	before := int(s.live)
	entries := t.gather(s, now)
	churning := len(entries) < before
	bytes := s.arena.live() + n
	blocks := blocksWith(len(entries)+1, churning)
	full := blocks > maxBlocks || bytes+bytes/16 > maxArenaBytes
	if full && t.maySplit(s) {
		t.split(s, entries, churning)
		return
	}
	if churning {
		blocks = max(blocks, len(s.groups))
	}
	if s.arena.wasteful() || int(s.arena.used)+n > int(s.arena.limit) {
		old := t.detachArena(s)
		t.refill(s, blocks, entries, &old)
		t.releaseArena(old)
		return
	}
	t.regroup(s, blocks)
	for _, e := range entries {
		s.place(e.hash, e.value, e.record)
	}
	t.moves.entries += len(entries)
}

// gather lists the segment's entries in the table's scratch, good until the next gather. Dead ones (value <= now) are
// left out, and counted as removed: the caller is about to place the list anew.
func (t *Table) gather(s *segment, now int64) []entry {
	entries := t.entryScratch[:0]
	for _, block := range s.groups {
		for i := range block {
			g := &block[i]
			for m := g.full(); m != 0; m = m.rest() {
				slot := m.first()
				record := g.keys[slot]
				if g.values[slot] <= now {
					s.arena.dead += uint32(recordBytes(s.arena.keyBytes(record)))
					continue
				}
				key := s.arena.key(record, &t.keyScratch)
				entries = append(entries, entry{t.hash(key), g.values[slot], record})
			}
		}
	}
	t.entries -= int(s.live) - len(entries)
	t.entryScratch = entries
	return entries
}

// regroup leaves the segment with the given number of blocks, all slots empty.
func (t *Table) regroup(s *segment, blocks int) {
	if surplus := len(s.groups) - blocks; surplus > 0 {
		t.groupPool.give(s.groups[blocks:])
		s.groups = s.groups[:blocks]
	}
	for len(s.groups) < blocks {
		s.groups = append(s.groups, t.groupPool.take())
	}
	for _, block := range s.groups {
		*block = groupBlock{}
	}
	s.live, s.tombstones = 0, 0
}

// refill fills the segment, given that many blocks, with entries whose records are in old.
func (t *Table) refill(s *segment, blocks int, entries []entry, old *arena) {
	t.regroup(s, blocks)
	for _, e := range entries {
		key := old.key(e.record, &t.keyScratch)
		s.place(e.hash, e.value, s.arena.append(key, &t.arenaPool))
	}
	s.arena.limit = max(maxArenaBytes, s.arena.used+s.arena.used/8)
	t.moves.entries += len(entries)
	t.moves.bytes += int(s.arena.used)
}

// absorb moves the entries of upper into lower.
func (t *Table) absorb(lower, upper *segment, now int64) {
	blocks := blocksFor(int(lower.live + upper.live))
	entries := t.gather(lower, now)
	t.regroup(lower, blocks)
	for _, e := range entries {
		lower.place(e.hash, e.value, e.record)
	}
	t.moves.entries += len(entries)

	before := lower.arena.used
	entries = t.gather(upper, now)
	for _, e := range entries {
		key := upper.arena.key(e.record, &t.keyScratch)
		lower.place(e.hash, e.value, lower.arena.append(key, &t.arenaPool))
	}
	lower.arena.limit = max(maxArenaBytes, lower.arena.limit)
	t.moves.entries += len(entries)
	t.moves.bytes += int(lower.arena.used - before)
	t.release(upper)
}

// detachArena leaves the segment with an arena of no blocks and returns the old one, to be read until releaseArena.
// Only one can be detached at a time: its list of blocks is in the table's scratch.
func (t *Table) detachArena(s *segment) arena {
	old := s.arena
	t.blockScratch = append(t.blockScratch[:0], old.blocks...)
	old.blocks = t.blockScratch
	clear(s.arena.blocks)
	s.arena = arena{blocks: s.arena.blocks[:0]}
	return old
}

func (t *Table) releaseArena(a arena) {
	if invariants.Enabled {
		for _, block := range a.blocks {
			scramble(block)
		}
	}
	t.arenaPool.give(a.blocks)
}

// scramble makes whoever kept a key past its time notice.
func scramble(block *arenaBlock) {
	for i := range block {
		block[i] = 0xdb
	}
}
