package expiry

import "time"

const (
	// Cycle is the time in which a sweep goes round a table with dead entries.
	Cycle = 2 * time.Second
	// SlowCycle is the time for a round where the last one found nearly nothing.
	SlowCycle = 8 * time.Second
	// slowBelow is what "nearly nothing" means: less than one entry in this many.
	slowBelow = 64

	// BusyTurn is the most entries that a turn looks at while requests wait.
	BusyTurn = 1024
	// IdleTurn is the most entries that a turn looks at while none do. A request that comes meanwhile waits until the
	// turn ends.
	IdleTurn = 16384
	// leastTurn is the least number worth a turn. A table that has fewer entries is swept whole.
	leastTurn = 64
)

// Pacer paces the sweeping of one table. The zero value is ready.
type Pacer struct {
	last    int64 // time of the last Budget, Unix ns; 0 before the first
	owed    float64
	size    int // most entries seen in the round under way: its pace must not fall as it removes them
	looked  int // in the round under way
	removed int
	slow    bool // the last round found nearly nothing
}

// Budget returns how many entries of a table of this size to look at now, Unix ns, and whether that leaves more to do
// at once. 0 means not to sweep. The caller reports the result with Swept.
func (p *Pacer) Budget(now int64, entries int, idle bool) (budget int, more bool) {
	elapsed := now - p.last
	if p.last == 0 || elapsed < 0 {
		elapsed = 0
	}
	p.last = now
	cycle := Cycle
	if p.slow {
		cycle = SlowCycle
	}
	p.size = max(p.size, entries)
	p.owed += float64(p.size) * float64(elapsed) / float64(cycle)
	p.owed = min(p.owed, float64(entries))
	turn := BusyTurn
	if idle {
		turn = IdleTurn
	}
	due := int(p.owed)
	if due == 0 || due < min(leastTurn, entries) {
		return 0, false
	}
	return min(max(due, leastTurn), turn), due > turn
}

// Swept reports a turn: how many entries were looked at, how many of those were dead, and whether the end of the table
// was reached.
func (p *Pacer) Swept(looked, removed int, atEnd bool) {
	p.owed = max(0, p.owed-float64(looked))
	p.looked += looked
	p.removed += removed
	if atEnd {
		p.slow = p.removed*slowBelow < p.looked
		p.looked, p.removed, p.size = 0, 0, 0
	}
}
