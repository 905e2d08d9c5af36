package keyspace

import "testing"

// Preload changes nothing, whatever it meets: tables of all sizes, the empty one among them, keys that are there, that are not
// and that are dead, and groups that are full. It says when it has no room left, and holds nothing once it has run.
func TestPreload(t *testing.T) {
	var preload Preload
	for _, n := range []uint64{0, 1, 100, 20_000} {
		table, _ := filled(n, goodHash)
		before := table.Len()
		for i := range uint64(PreloadKeys) {
			key := appendKey(nil, i*257)
			if more := preload.Add(table, goodHash(key)); more != (i+1 < PreloadKeys) {
				t.Fatalf("after %d keys there is room for more: %t", i+1, more)
			}
		}
		preload.Run(int64(n / 2))
		for i := range preload.chains {
			if preload.chains[i] != (chain{}) || preload.records[i] != nil {
				t.Fatal("a table's memory is held after the run")
			}
		}
		for i := range n {
			key := appendKey(nil, i)
			if value := table.Find(goodHash(key), key); value == nil || *value != int64(i) {
				t.Fatalf("key %d of %d has changed", i, n)
			}
		}
		if table.Len() != before {
			t.Fatalf("%d entries before, %d after", before, table.Len())
		}
		mustCheck(t, table)
	}
}

// In one long chain of groups, of dead entries and live ones, a run before each insertion changes no result.
func TestPreloadOfOneGroup(t *testing.T) {
	sameHash := func([]byte) uint64 { return 0x1234_5678_9abc_def0 }
	table := New(sameHash)
	var preload Preload
	for i := range uint64(50) {
		key := appendKey(nil, i)
		preload.Add(table, sameHash(key))
		preload.Run(int64(i))
		table.Insert(sameHash(key), key, int64(i+5), int64(i))
	}
	for i := uint64(46); i < 50; i++ {
		key := appendKey(nil, i)
		if value := table.Find(sameHash(key), key); value == nil || *value != int64(i+5) {
			t.Errorf("key %d is lost", i)
		}
	}
	mustCheck(t, table)
}
