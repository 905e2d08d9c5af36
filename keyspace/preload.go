package keyspace

// PreloadKeys is how many keys a Preload takes: what a pass of an event loop decides together.
const PreloadKeys = 64

// A Preload loads the cache lines that lookups of a batch of keys will need, and insertions at now, before the first is made.
// A lookup is a chain of misses: segment, group, record, each at an address that the one before holds. Here each link is
// loaded for all keys at once, in a loop that does nothing else, so that the processor, which looks some hundred
// instructions ahead, has as many misses under way as it can. Finding out where the next link is stands between such loops:
// a wrong guess there would throw away the loads behind it.
//
// The zero Preload is ready. It is for one goroutine at a time, and holds no memory of a table between runs.
type Preload struct {
	keys    int
	chains  [PreloadKeys]chain
	records [PreloadKeys]*byte
	sum     uint64 // of what was loaded: it has no meaning, but keeps the loads from being optimized away
}

// A chain is what a lookup reads, as far as it is known.
type chain struct {
	segment *segment
	group   *group
	hash    uint64
}

// Add adds the key with this hash in the table, and reports whether there is room for another.
func (p *Preload) Add(t *Table, hash uint64) (more bool) {
	c := &p.chains[p.keys]
	c.segment, c.hash = t.segmentOf(hash), hash
	p.keys++
	return p.keys < PreloadKeys
}

// Run loads what was added, and forgets it. Between Add and Run no table may change.
func (p *Preload) Run(now int64) {
	chains := p.chains[:p.keys]
	sum := 0
	for i := range chains {
		sum += len(chains[i].segment.groups)
	}
	p.sum += uint64(sum)
	p.loadGroups(chains)
	p.loadRecords(chains, now)
	clear(chains)
	clear(p.records[:p.keys])
	p.keys = 0
}

func (p *Preload) loadGroups(chains []chain) {
	for i := range chains {
		c := &chains[i]
		if s := c.segment; len(s.groups) > 0 {
			c.group = s.at(s.home(c.hash))
		} else {
			c.group = &emptyGroup
		}
	}
	var sum uint64
	for i := range chains {
		g := chains[i].group
		sum += g.tags + uint64(g.values[slotsPerGroup-1])
	}
	p.sum += sum
}

// loadRecords loads for each key the record that may be its own, or else the one that its insertion may use again.
func (p *Preload) loadRecords(chains []chain, now int64) {
	records := p.records[:len(chains)]
	for i := range chains {
		g := chains[i].group
		m, seats := g.matching(tagOf(chains[i].hash)), g.reusable(now)
		if m == 0 {
			m = seats
		}
		records[i] = &noByte
		if m != 0 {
			if record := g.record(m.first()); record != noRecord {
				records[i] = chains[i].segment.arena.at(record)
			}
		}
	}
	var sum uint64
	for _, record := range records {
		sum += uint64(*record)
	}
	p.sum += sum
}

// What there is to load where there is nothing.
var (
	emptyGroup group
	noByte     byte
)
