package keyspace

// A sweep's cursor is a position, and below it in groupBits bits the group of that position's segment to go on with.
const groupBits = 64 - positionBits

// Sweep looks at about budget entries from cursor on and removes those with value <= now. Segments and directory shrink
// behind it as far as they have become sparse. It returns the cursor to go on with, 0 once the end of the table is
// reached, and how many it looked at and removed; a group or segment without entries counts as one looked at, so that
// an empty table does not take forever. It stops at the first group to reach the budget, so it passes it by seven at
// most.
//
// An entry that is dead throughout a whole round from 0 to 0 is removed, unless its segment was rebuilt meanwhile and
// it moved behind the cursor; then the next round finds it.
func (t *Table) Sweep(cursor uint64, now int64, budget int) (next uint64, looked, removed int) {
	at, group := cursor>>groupBits, int(cursor&(1<<groupBits-1))
	for looked < budget {
		s := t.directory[t.index(at)]
		l, r, resume := t.sweepSegment(s, group, now, budget-looked)
		looked, removed = looked+l, removed+r
		if resume > 0 {
			return at<<groupBits | uint64(resume), looked, removed
		}
		at, group = s.end(), 0
		t.shrink(s, now)
		if at == 1<<positionBits {
			if t.entries == 0 {
				t.reset()
			}
			return 0, looked, removed
		}
	}
	return at << groupBits, looked, removed
}

// sweepSegment sweeps the segment from a group on; resume is the group to go on with, or 0 at the end. (Groups that a
// cursor cannot name, in a segment of millions of entries of one hash, are swept in one go.)
func (t *Table) sweepSegment(s *segment, group int, now int64, budget int) (looked, removed, resume int) {
	groups := len(s.groups) * groupsPerBlock
	for ; group < groups; group++ {
		if looked >= budget && group < 1<<groupBits {
			resume = group
			break
		}
		g := &s.groups[group/groupsPerBlock][group%groupsPerBlock]
		looked += max(1, g.full().len())
		removed += t.removeDead(s, g, now)
	}
	t.entries -= removed
	return max(1, looked), removed, resume
}

// removeDead removes the dead entries of a group, but does not count them out of the table.
func (t *Table) removeDead(s *segment, g *group, now int64) (removed int) {
	dead := g.dead(now)
	for m := dead; m != 0; m = m.rest() {
		t.remove(s, g, m.first())
	}
	return dead.len()
}

// dropDead removes the dead entries of a segment and returns their number.
func (t *Table) dropDead(s *segment, now int64) (removed int) {
	for _, block := range s.groups {
		for i := range block {
			removed += t.removeDead(s, &block[i], now)
		}
	}
	t.entries -= removed
	return removed
}

// shrink rebuilds a segment that has become sparse and merges it with its buddy if both are small. Both move far fewer
// entries than one segment may hold.
func (t *Table) shrink(s *segment, now int64) {
	if s.live == 0 {
		t.release(s)
	} else if s.sparse() {
		t.dropDead(s, now)
		entries := t.gather(s)
		old := t.detachArena(s)
		t.refill(s, blocksFor(len(entries)), entries, &old)
		t.releaseArena(old)
	}
	t.checkAfter(s)
	t.merge(s, now)
}
