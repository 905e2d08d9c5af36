package keyspace

import "testing"

// Preload changes nothing, whatever it meets: tables of all sizes, the empty one among them, keys that are there, that are not
// and that are dead, and groups that are full. It says when it has no room left. The places it returns are good for what
// follows, also when a rebuild has made them wrong, or another run has used them for other keys.
func TestPreload(t *testing.T) {
	var preload Preload
	for _, n := range []uint64{0, 1, 100, 20_000} {
		table, _ := filled(n, goodHash)
		before := table.Len()
		var places [2 * PreloadKeys]*Place
		for i := range places {
			if full := preload.Full(); full != (i == PreloadKeys) {
				t.Fatalf("full after %d keys: %t", i, full)
			} else if full {
				preload.Run(int64(n / 2))
			}
			places[i] = preload.Add(table, goodHash(appendKey(nil, uint64(i)*257)))
		}
		preload.Run(int64(n / 2))
		if table.Len() != before {
			t.Fatalf("%d entries before, %d after", before, table.Len())
		}
		for i, place := range places {
			key := appendKey(nil, uint64(i)*257)
			value := table.FindAt(place, goodHash(key), key)
			if uint64(i)*257 >= n {
				if value != nil {
					t.Fatalf("key %d of %d is found", i*257, n)
				}
				table.InsertAt(place, goodHash(key), key, int64(i*257), never)
			} else if value == nil || *value != int64(i*257) {
				t.Fatalf("key %d of %d is not found", i*257, n)
			}
		}
		for i := range n {
			key := appendKey(nil, i)
			if value := table.Find(goodHash(key), key); value == nil || *value != int64(i) {
				t.Fatalf("key %d of %d has changed", i, n)
			}
		}
		mustCheck(t, table)
	}
}

// In one long chain of groups, of dead entries and live ones, a run before each insertion
// changes no result.
func TestPreloadOfOneGroup(t *testing.T) {
	sameHash := func([]byte) uint64 { return 0x1234_5678_9abc_def0 }
	table := New(sameHash)
	var preload Preload
	for i := range uint64(50) {
		key := appendKey(nil, i)
		place := preload.Add(table, sameHash(key))
		preload.Run(int64(i))
		table.InsertAt(place, sameHash(key), key, int64(i+5), int64(i))
	}
	for i := uint64(46); i < 50; i++ {
		key := appendKey(nil, i)
		if value := table.Find(sameHash(key), key); value == nil || *value != int64(i+5) {
			t.Errorf("key %d is lost", i)
		}
	}
	mustCheck(t, table)
}
