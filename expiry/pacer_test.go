package expiry

import (
	"testing"
	"time"
)

// A world is a table of which the pacer sees only the number of entries: a run of entries, dead or not, and a cursor.
type world struct {
	pacer  Pacer
	now    int64
	dead   []bool // by place; a removed entry leaves its place
	gone   []bool
	live   int
	cursor int
	worst  int // most entries of one turn
}

func newWorld(entries int, dead func(i int) bool) *world {
	w := &world{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(), dead: make([]bool, entries), gone: make([]bool, entries), live: entries}
	for i := range w.dead {
		w.dead[i] = dead(i)
	}
	w.pacer.Budget(w.now, w.live, false)
	return w
}

// turn lets time pass and sweeps as the pacer says; an idle one goes on while there is more.
func (w *world) turn(after time.Duration, idle bool) (looked int) {
	w.now += int64(after)
	for {
		budget, more := w.pacer.Budget(w.now, w.live, idle)
		w.worst = max(w.worst, budget)
		if budget > 0 {
			looked += w.sweep(budget)
		}
		if !more || !idle {
			return looked
		}
	}
}

func (w *world) sweep(budget int) (looked int) {
	removed := 0
	for ; looked < budget && w.cursor < len(w.dead); w.cursor++ {
		if w.gone[w.cursor] {
			continue
		}
		looked++
		if w.dead[w.cursor] {
			w.gone[w.cursor] = true
			removed++
		}
	}
	w.live -= removed
	atEnd := w.cursor == len(w.dead)
	if atEnd {
		w.cursor = 0
	}
	w.pacer.Swept(looked, removed, atEnd)
	return looked
}

func TestDeadEntriesAreGoneWithinSeconds(t *testing.T) {
	rows := []struct {
		name    string
		entries int
		every   time.Duration
		idle    bool
		within  time.Duration
	}{
		{"one entry", 1, 100 * time.Millisecond, true, 3 * time.Second},
		{"few entries", 50, 100 * time.Millisecond, true, 3 * time.Second},
		{"a million, idle", 1_000_000, 100 * time.Millisecond, true, 5 * time.Second},
		{"a million, busy", 1_000_000, time.Millisecond, false, 6 * time.Second},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(row.entries, func(int) bool { return true })
			began := w.now
			for w.live > 0 {
				w.turn(row.every, row.idle)
				if took := time.Duration(w.now - began); took > row.within {
					t.Fatalf("%d entries left after %v", w.live, took)
				}
			}
			if most := BusyTurn; !row.idle && w.worst > most {
				t.Errorf("a busy turn looked at %d entries, over %d", w.worst, most)
			}
			if w.worst > IdleTurn {
				t.Errorf("a turn looked at %d entries, over %d", w.worst, IdleTurn)
			}
		})
	}
}

// TestLiveEntriesSlowTheSweep: where nothing dies a round takes a slow cycle, and a normal one again once something does.
func TestLiveEntriesSlowTheSweep(t *testing.T) {
	w := newWorld(100_000, func(int) bool { return false })
	perSecond := func() (looked int) {
		for range 10 {
			looked += w.turn(100*time.Millisecond, true)
		}
		return looked
	}
	first := perSecond()
	perSecond()
	perSecond()
	slow := perSecond()
	if want := 100_000 / 8; slow > want*11/10 || slow < want*9/10 || first < 3*slow {
		t.Errorf("looked at %d in the first second, at %d once slow", first, slow)
	}
	for i := range w.dead {
		w.dead[i] = i%2 == 0
	}
	for range 20 {
		perSecond()
	}
	if w.live != 50_000 {
		t.Errorf("%d entries left of the 50,000 that live", w.live)
	}
}

// TestDebtIsBounded: after a long time without a turn there is one round to do, not all that were missed.
func TestDebtIsBounded(t *testing.T) {
	w := newWorld(10_000, func(int) bool { return false })
	if looked := w.turn(time.Hour, true); looked > 10_000 {
		t.Errorf("looked at %d of 10,000 entries", looked)
	}
}

func TestNothingToDo(t *testing.T) {
	var p Pacer
	for now := int64(1); now < int64(10*time.Second); now += int64(time.Second) {
		if budget, more := p.Budget(now, 0, true); budget != 0 || more {
			t.Errorf("budget %d, %v for an empty table", budget, more)
		}
	}
	if budget, _ := p.Budget(5, 100, true); budget != 0 {
		t.Errorf("budget %d though time stepped back", budget)
	}
}
