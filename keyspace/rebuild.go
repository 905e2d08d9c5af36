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

// makeRoom makes a record of n bytes fit into the segment: it drops the dead entries, and where that is not enough it
// rebuilds the segment, or splits one that is as large as may be. Then each of its entries moves once.
//
// A segment that had dead entries to drop is one where keys come and go. It gets room for a third more than it has, so
// that the next rebuild, which moves all of them, is far away; to shrink is left to the sweep, which sees what stays
// unused. One that only grows is filled close, since nearly all that it holds will stay.
func (t *Table) makeRoom(s *segment, n int, now int64) {
	churning := t.dropDead(s, now) > 0
	blocks := blocksWith(int(s.live)+1, churning)
	if churning && blocks <= len(s.groups) && s.arena.mayGrow(n) {
		return
	}
	entries := t.gather(s)
	bytes := s.arena.live() + n
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
		s.put(e.hash, e.value, e.record)
	}
	t.moves.entries += len(entries)
}

// gather lists the segment's entries in the table's scratch, good until the next gather.
func (t *Table) gather(s *segment) []entry { return t.entriesFrom(s, 0) }

// regroup leaves the segment with the given number of blocks, all slots empty.
func (t *Table) regroup(s *segment, blocks int) {
	t.rebuilds++
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
	s.live, s.arena.lost = 0, s.arena.dead
}

// refill fills the segment, given that many blocks, with entries whose records are in old.
func (t *Table) refill(s *segment, blocks int, entries []entry, old *arena) {
	t.regroup(s, blocks)
	for _, e := range entries {
		key := old.key(e.record, &t.keyScratch)
		s.put(e.hash, e.value, s.arena.append(key, &t.arenaPool))
	}
	s.arena.limit = max(maxArenaBytes, s.arena.used+s.arena.used/8)
	t.moves.entries += len(entries)
	t.moves.bytes += int(s.arena.used)
}

// absorb moves the entries of upper into lower.
func (t *Table) absorb(lower, upper *segment, now int64) {
	t.dropDead(lower, now)
	t.dropDead(upper, now)
	blocks := blocksFor(int(lower.live + upper.live))
	entries := t.gather(lower)
	t.regroup(lower, blocks)
	for _, e := range entries {
		lower.put(e.hash, e.value, e.record)
	}
	t.moves.entries += len(entries)

	before := lower.arena.used
	entries = t.gather(upper)
	for _, e := range entries {
		key := upper.arena.key(e.record, &t.keyScratch)
		lower.put(e.hash, e.value, lower.arena.append(key, &t.arenaPool))
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

// scramble makes it show when a key is used after it was good.
func scramble(block *arenaBlock) {
	for i := range block {
		block[i] = 0xdb
	}
}
