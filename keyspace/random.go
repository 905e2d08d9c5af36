package keyspace

import "math/bits"

// randomTries is how often Random draws a segment or slot before it walks on from the last drawn to the next in use.
// About four slots in five are, and few segments are empty, so it hardly ever walks.
const randomTries = 64

// Random returns the entry that the random number r chooses, each with about the same probability, and ok = false if
// the table is empty. The key is good until the next call of a method other than Find, FindAt, Len and Bytes.
func (t *Table) Random(r uint64) (key []byte, value int64, ok bool) {
	if t.entries == 0 {
		return nil, 0, false
	}
	at := uint64(0)
	for try := 0; ; try++ {
		if try < randomTries {
			r = scatter(r)
			at = position(r)
		}
		s := t.directory[t.index(at)]
		if s.live > 0 {
			g, slot := s.random(r)
			return s.arena.key(g.record(slot), &t.keyScratch), g.values[slot], true
		}
		at = s.end() % (1 << positionBits)
	}
}

// random returns the slot of some entry. The segment must have one.
func (s *segment) random(r uint64) (*group, int) {
	slots := uint64(len(s.groups) * groupsPerBlock * slotsPerGroup)
	at := uint64(0)
	for try := 0; ; try++ {
		if try < randomTries {
			r = scatter(r)
			at, _ = bits.Mul64(r, slots)
		}
		group, slot := at/slotsPerGroup, int(at%slotsPerGroup)
		if g := &s.groups[group/groupsPerBlock][group%groupsPerBlock]; g.full().has(slot) {
			return g, slot
		}
		at = (at + 1) % slots
	}
}

// scatter returns the successor of r in a sequence of numbers that look independent (SplitMix64).
func scatter(r uint64) uint64 {
	r += 0x9e3779b97f4a7c15
	r = (r ^ r>>30) * 0xbf58476d1ce4e5b9
	r = (r ^ r>>27) * 0x94d049bb133111eb
	return r ^ r>>31
}
