package keyspace

// PreloadKeys is how many keys a Preload takes: enough for misses to overlap, and so few that what is loaded, some 16 KiB,
// is in the first-level cache still when it is used. From 16 to 128 it makes no difference that could be measured.
const PreloadKeys = 64

// A Preload loads the cache lines that lookups of a batch of keys will need, and insertions at now, before the first is made.
// A lookup is a chain of misses: segment, group, record, each at an address that the one before holds. Here each link is
// loaded for all keys at once, in a loop that does nothing else, so that the processor, which looks some hundred
// instructions ahead, has as many misses under way as it can. Finding out where the next link is stands between such loops:
// a wrong guess there would throw away the loads behind it.
//
// The zero Preload is ready. It is for one goroutine at a time, and may hold on to the memory of a table until its next run.
type Preload struct {
	keys    int
	places  [PreloadKeys]Place
	records [PreloadKeys]*byte
	sum     uint64 // of what was loaded: it has no meaning, but keeps the loads from being optimized away
}

// Add adds the key with this hash in the table, and returns its place, to be used after Run. There must be room: see Full.
func (p *Preload) Add(t *Table, hash uint64) *Place {
	place := &p.places[p.keys]
	t.locateSegment(place, hash)
	p.keys++
	return place
}

// Full reports whether there is no room for another key before the next run.
func (p *Preload) Full() bool { return p.keys == PreloadKeys }

// Run loads what was added. Between Add and Run no table may change.
func (p *Preload) Run(now int64) {
	places := p.places[:p.keys]
	sum := 0
	for i := range places {
		sum += len(places[i].segment.groups)
	}
	p.sum += uint64(sum)
	p.loadGroups(places)
	p.loadRecords(places, now)
	p.keys = 0
}

func (p *Preload) loadGroups(places []Place) {
	for i := range places {
		places[i].locateGroup()
	}
	var sum uint64
	for i := range places {
		g := places[i].group
		sum += g.tags + uint64(g.values[slotsPerGroup-1])
	}
	p.sum += sum
}

// loadRecords loads for each key the record that may be its own, or else the spare one that its insertion may use.
func (p *Preload) loadRecords(places []Place, now int64) {
	records := p.records[:len(places)]
	for i := range places {
		g := places[i].group
		m, vacant := g.matching(tagOf(places[i].hash)), g.vacant(now)
		if m == 0 {
			m = vacant
		}
		records[i] = &noByte
		if m != 0 {
			if record := g.record(m.first()); record != noRecord {
				records[i] = places[i].segment.arena.at(record)
			}
		}
	}
	var sum uint64
	for _, record := range records {
		sum += uint64(*record)
	}
	p.sum += sum
}

// noByte is loaded for a key without a record.
var noByte byte
