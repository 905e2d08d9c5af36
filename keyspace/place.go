package keyspace

// A Place is where a lookup of a key begins: the key's segment and home group in a table, located once for all that a call
// does with the key. FindAt and InsertAt check the Place they are given and locate it anew if it is zero, of another key,
// or out of date after a rebuild; so any may be given.
type Place struct {
	table    *Table
	rebuilds uint64 // of the table when the place was found; another number, and the group may have moved
	hash     uint64
	segment  *segment
	group    *group // emptyGroup where the segment has none
}

// emptyGroup is the home group in a segment that has no groups. Nothing is ever put into it.
var emptyGroup group

func (p *Place) isFor(t *Table, hash uint64) bool {
	return p.hash == hash && p.table == t && p.rebuilds == t.rebuilds
}

// locate makes p the place of the key with this hash.
func (t *Table) locate(p *Place, hash uint64) {
	t.locateSegment(p, hash)
	p.locateGroup()
}

// locateSegment is the first half of locate, and locateGroup, from the segment to the group, the second.
func (t *Table) locateSegment(p *Place, hash uint64) {
	p.table, p.rebuilds, p.hash = t, t.rebuilds, hash
	p.segment = t.segmentOf(hash)
}

func (p *Place) locateGroup() {
	if s := p.segment; len(s.groups) > 0 {
		p.group = s.at(s.home(p.hash))
	} else {
		p.group = &emptyGroup
	}
}
