package keyspace

import "testing"

// sweepRound sweeps the whole table once, and checks that each step keeps to its bounds.
func sweepRound(t *testing.T, table *Table, now int64, budget int) (steps, removed int) {
	t.Helper()
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		before := table.moves
		next, looked, r := table.Sweep(cursor, now, budget)
		if looked > budget+slotsPerGroup-1 {
			t.Fatalf("looked at %d, budget %d", looked, budget)
		}
		if next != 0 && (looked < budget || next <= cursor) {
			t.Fatalf("stopped at %#x after %d of %d, began at %#x", next, looked, budget, cursor)
		}
		// What was looked at may move twice, by a rebuild and by a merge; of the first segment a part was looked at by
		// the step before.
		if moved := table.moves.entries - before.entries; moved > 2*looked+maxEntries {
			t.Fatalf("a step looked at %d entries and moved %d", looked, moved)
		}
		cursor, removed = next, removed+r
		steps++
	}
	mustCheck(t, table)
	return steps, removed
}

func TestSweepReclaimsEverything(t *testing.T) {
	const budget = 1_000
	n := scaled(100_000)
	table, _ := filled(uint64(n), goodHash)
	steps, removed := sweepRound(t, table, int64(n), budget)
	if removed != n || table.Len() != 0 || steps > 2*n/budget {
		t.Fatalf("removed %d of %d in %d steps, %d left", removed, n, steps, table.Len())
	}
	if got := table.Bytes(); got > 1024 {
		t.Errorf("an empty table holds %d bytes", got)
	}
	insert(table, "again", 1, never)
	mustCheck(t, table)
}

func TestSweepSpares(t *testing.T) {
	const n = 10_000
	table, _ := filled(n, goodHash)                                    // the value of key i is i
	if _, removed := sweepRound(t, table, n/2, 50); removed != n/2+1 { // 0 to n/2
		t.Errorf("removed %d", removed)
	}
	for i := range uint64(n) {
		if found := find(table, string(appendKey(nil, i))) != nil; found != (i > n/2) {
			t.Fatalf("key %d: found = %t", i, found)
		}
	}
}

// A table that shrinks to a fiftieth gives its memory back, directory included, within some rounds.
func TestSweepShrinks(t *testing.T) {
	n, left := scaled(200_000), scaled(4_000)
	table, _ := filled(uint64(n), goodHash)
	full, directory := table.Bytes(), len(table.directory)
	for range 8 {
		sweepRound(t, table, int64(n-left-1), 4096)
	}
	if table.Len() != left {
		t.Fatalf("%d left", table.Len())
	}
	if got := table.Bytes(); got > reserveBytes+full*left/n*2 {
		t.Errorf("%d bytes for %d keys, %d for %d", got, left, full, n)
	}
	if got := len(table.directory); got > directory/8 {
		t.Errorf("directory of %d, was %d", got, directory)
	}
	for i := uint64(n - left); i < uint64(n); i++ {
		if find(table, string(appendKey(nil, i))) == nil {
			t.Fatalf("key %d is lost", i)
		}
	}
}

// Keys deleted one by one leave their memory to the next sweep, although nothing is dead.
func TestSweepShrinksAfterDeletes(t *testing.T) {
	n, left := scaled(50_000), scaled(1_000)
	table, _ := filled(uint64(n), goodHash)
	full := table.Bytes()
	for i := range uint64(n - left) {
		remove(table, string(appendKey(nil, i)))
	}
	for range 8 {
		if _, removed := sweepRound(t, table, never, 4096); removed != 0 {
			t.Fatalf("removed %d live entries", removed)
		}
	}
	if got := table.Bytes(); got > reserveBytes+full*left/n*2 {
		t.Errorf("%d bytes for %d keys, %d for %d", got, left, full, n)
	}
}
