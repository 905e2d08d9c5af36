package keyspace

import (
	"fmt"

	"github.com/cellserver/cellserver/internal/invariants"
)

// checkAfter verifies the segment that an operation has changed, if the program was built with invariants.
func (t *Table) checkAfter(s *segment) {
	if !invariants.Enabled {
		return
	}
	if err := t.checkSegment(s); err != nil {
		panic(err)
	}
}

// check verifies the whole table: the directory tiles the positions with segments, the counts are right, and each
// segment is sound. It takes time in proportion to the table.
func (t *Table) check() error {
	if len(t.directory) != 1<<t.depth {
		return fmt.Errorf("keyspace: directory of %d segments, depth %d", len(t.directory), t.depth)
	}
	segments, deepest, entries, groupBlocks, arenaBlocks := 0, 0, 0, 0, 0
	for at := uint64(0); at < 1<<positionBits; {
		s := t.directory[t.index(at)]
		if s.start != at {
			return fmt.Errorf("keyspace: segment of %#x starts at %#x", at, s.start)
		}
		for at < s.end() {
			if t.directory[t.index(at)] != s {
				return fmt.Errorf("keyspace: directory at %#x is not the segment of %#x", at, s.start)
			}
			at += 1 << (positionBits - t.depth)
		}
		if err := t.checkSegment(s); err != nil {
			return err
		}
		segments++
		if s.depth == t.depth {
			deepest++
		}
		entries += int(s.live)
		groupBlocks += len(s.groups)
		arenaBlocks += len(s.arena.blocks)
	}
	got := [...]int{t.segments, t.deepest, t.entries, t.groupPool.used, t.arenaPool.used}
	want := [...]int{segments, deepest, entries, groupBlocks, arenaBlocks}
	if got != want {
		return fmt.Errorf("keyspace: segments, deepest, entries, blocks of groups, of arenas = %d, counted %d", got, want)
	}
	return nil
}

// checkSegment verifies that every entry is where its lookup finds it, within the segment's range, and that slots and
// arena bytes add up.
func (t *Table) checkSegment(s *segment) error {
	live, bytes := 0, 0
	for b, block := range s.groups {
		for i := range block {
			g := &block[i]
			full := g.full()
			live += full.len()
			for m := full; m != 0; m = m.rest() {
				slot := m.first()
				key := s.arena.key(g.record(slot), &t.keyScratch)
				hash := t.hash(key)
				if at := position(hash); at < s.start || at >= s.end() {
					return fmt.Errorf("keyspace: %q of %#x is in the segment of %#x", key, at, s.start)
				}
				if found, at := s.find(s.at(s.home(hash)), hash, key); found != g || at != slot {
					return fmt.Errorf("keyspace: %q in block %d, group %d, slot %d is not found there", key, b, i, slot)
				}
				bytes += recordBytes(len(key))
				if home := s.at(s.home(hash)); g.displaced(slot) != (home != g) {
					return fmt.Errorf("keyspace: %q in block %d, group %d, slot %d: displaced = %t", key, b, i, slot, home == g)
				}
			}
		}
	}
	if live != int(s.live) || live > s.capacity() {
		return fmt.Errorf("keyspace: %d entries, counted as %d, capacity %d", live, s.live, s.capacity())
	}
	if bytes != s.arena.live() || len(s.arena.blocks) != blocksForBytes(int(s.arena.used)) {
		return fmt.Errorf("keyspace: records of %d bytes, counted as %d, in %d blocks",
			bytes, s.arena.live(), len(s.arena.blocks))
	}
	return t.checkPassed(s)
}

// checkPassed verifies the groups' counts of probes that have passed them.
func (t *Table) checkPassed(s *segment) error {
	var few [2 * maxBlocks * groupsPerBlock]uint16 // on the stack: the check must not allocate
	passed := few[:]
	if groups := len(s.groups) * groupsPerBlock; groups > len(few) {
		passed = make([]uint16, groups)
	}
	for _, block := range s.groups {
		for i := range block {
			g := &block[i]
			for m := g.full(); m != 0; m = m.rest() {
				hash := t.hash(s.arena.key(g.record(m.first()), &t.keyScratch))
				for p := s.home(hash); s.at(p) != g; p = s.next(p) {
					passed[p.block*groupsPerBlock+p.group]++
				}
			}
		}
	}
	for b, block := range s.groups {
		for i := range block {
			counted, want := block[i].misc>>passedShift, uint64(passed[b*groupsPerBlock+i])
			if counted != want && counted != maxPassed {
				return fmt.Errorf("keyspace: %d entries have passed block %d, group %d, counted as %d", want, b, i, counted)
			}
		}
	}
	return nil
}
