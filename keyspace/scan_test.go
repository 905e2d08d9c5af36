package keyspace

import (
	"math/rand/v2"
	"testing"
)

func TestScanUnderChange(t *testing.T) {
	testUnderChange(t, 300, func(table *Table, cursor uint64, visit func([]byte, int64)) uint64 {
		return table.Scan(cursor, 10, visit)
	})
}

func TestScanSegmentUnderChange(t *testing.T) { testUnderChange(t, 1_500, (*Table).ScanSegment) }

// A scan's promise, while keys come in between its calls and make segments split, and go and make them merge: a key
// that exists throughout is visited exactly once.
func testUnderChange(t *testing.T, changes int, scan func(table *Table, cursor uint64, visit func([]byte, int64)) uint64) {
	for _, h := range hashes[:3] {
		t.Run(h.name, func(t *testing.T) {
			stay, come := uint64(scaled(2_000)), uint64(scaled(30_000))
			table := New(h.hash)
			for i := range stay {
				insert(table, string(appendKey(nil, i)), 1<<40, never)
			}
			visits := map[string]int{}
			cursor, step, sweep := uint64(0), uint64(0), uint64(0)
			for first := true; first || cursor != 0; first = false {
				cursor = scan(table, cursor, func(key []byte, _ int64) { visits[string(key)]++ })
				if cursor >= 1<<44 {
					t.Fatalf("cursor %#x is not below 2^44", cursor)
				}
				for range changes {
					if step < come {
						insert(table, string(appendKey(nil, stay+step)), 1, never)
					} else if step < 2*come {
						remove(table, string(appendKey(nil, stay+step-come)))
					}
					step++
				}
				sweep, _, _ = table.Sweep(sweep, 0, 2_000)
			}
			for i := range stay {
				if n := visits[string(appendKey(nil, i))]; n != 1 {
					t.Fatalf("key %d of those that stayed was visited %d times", i, n)
				}
			}
			mustCheck(t, table)
		})
	}
}

func TestScanCount(t *testing.T) {
	table, _ := filled(10_000, goodHash)
	for _, count := range []int{-1, 0, 1, 10, 999, 10_000, 1 << 40} {
		visited := 0
		next := table.Scan(0, count, func([]byte, int64) { visited++ })
		if want := min(max(1, count), 10_000); visited != want {
			t.Errorf("count %d: %d visited", count, visited)
		}
		if done := count >= 10_000; next == 0 != done {
			t.Errorf("count %d: next = %d", count, next)
		}
	}
	if next := New(goodHash).Scan(0, 10, func([]byte, int64) { t.Error("an entry in an empty table") }); next != 0 {
		t.Errorf("empty table: next = %d", next)
	}
	// A client may send any cursor. The table must not assume that it is in range.
	for _, cursor := range []uint64{1<<44 - 1, 1 << 44, 1<<64 - 1} {
		table.Scan(cursor, 10, func([]byte, int64) {})
	}
}

// TestScanSegment: a walk by segments takes few steps and visits what there is, and may begin anywhere.
func TestScanSegment(t *testing.T) {
	table, _ := filled(10_000, goodHash)
	visited, steps := 0, 0
	for cursor := uint64(0); steps == 0 || cursor != 0; steps++ {
		before := visited
		cursor = table.ScanSegment(cursor, func([]byte, int64) { visited++ })
		if visited-before > maxEntries {
			t.Errorf("%d in one step", visited-before)
		}
	}
	if visited != 10_000 || steps > 10_000/(maxEntries/4) {
		t.Errorf("%d visited in %d steps", visited, steps)
	}
	for _, cursor := range []uint64{1, 1<<43 + 1, 1<<44 - 1, 1 << 44, 1<<64 - 1} {
		table.ScanSegment(cursor, func(key []byte, _ int64) {
			if at := position(table.hash(key)); at < cursor&(1<<positionBits-1) {
				t.Errorf("cursor %#x: visited position %#x", cursor, at)
			}
		})
	}
	if next := New(goodHash).ScanSegment(0, func([]byte, int64) { t.Error("an entry in an empty table") }); next != 0 {
		t.Errorf("empty table: next = %d", next)
	}
}

func TestRandomIsUniform(t *testing.T) {
	const n, draws = 2_000, 200 * 2_000
	table, _ := filled(n, goodHash)
	random := rand.New(rand.NewPCG(1, 2))
	counts := map[string]int{}
	for range draws {
		key, _, ok := table.Random(random.Uint64())
		if !ok {
			t.Fatal("none")
		}
		counts[string(key)]++
	}
	for i := range uint64(n) {
		// 200 draws each: +-5 standard deviations, and what segments differ in size.
		if got := counts[string(appendKey(nil, i))]; got < 110 || got > 310 {
			t.Errorf("key %d was drawn %d times in %d", i, got, draws)
		}
	}
}

func TestRandomFindsTheLast(t *testing.T) {
	const n = 20_000
	table, _ := filled(n, goodHash)
	if _, _, ok := New(goodHash).Random(1); ok {
		t.Error("an entry in an empty table")
	}
	for i := range uint64(n - 1) {
		remove(table, string(appendKey(nil, i)))
	}
	for r := range uint64(100) {
		if key, value, ok := table.Random(r); !ok || string(key) != string(appendKey(nil, n-1)) || value != n-1 {
			t.Fatalf("Random(%d) = %q, %d, %t", r, key, value, ok)
		}
	}
}
