package keyspace

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cellserver/cellserver/internal/invariants"
)

const never = -1 // as now: all values of the tests that use it are later

// scaled returns n, or an eighth of it where every operation is followed by a check of a whole segment.
func scaled(n int) int {
	if invariants.Enabled {
		return n / 8
	}
	return n
}

// reserveBytes is about what any table keeps for its next rebuild: two pools' reserves, and the scratch.
const reserveBytes = poolReserve*(1152+arenaBlockBytes) + 32<<10

func insert(t *Table, key string, value, now int64) {
	t.Insert(t.hash([]byte(key)), []byte(key), value, now)
}
func find(t *Table, key string) *int64 { return t.Find(t.hash([]byte(key)), []byte(key)) }
func remove(t *Table, key string) bool { return t.Delete(t.hash([]byte(key)), []byte(key)) }

func mustCheck(t *testing.T, table *Table) {
	t.Helper()
	if err := table.check(); err != nil {
		t.Fatal(err)
	}
}

func TestStory(t *testing.T) {
	table := New(goodHash)
	if find(table, "a") != nil || remove(table, "a") || table.Len() != 0 {
		t.Fatal("an empty table has a key")
	}
	insert(table, "a", 10, never)
	insert(table, "b", 20, never)
	*find(table, "a") += 5
	if a, b := *find(table, "a"), *find(table, "b"); a != 15 || b != 20 || table.Len() != 2 {
		t.Fatalf("a = %d, b = %d, Len = %d", a, b, table.Len())
	}
	if !remove(table, "a") || find(table, "a") != nil || *find(table, "b") != 20 || table.Len() != 1 {
		t.Fatal("Delete of a")
	}
	mustCheck(t, table)
}

func TestKeyLengths(t *testing.T) {
	table := New(goodHash)
	lengths := []int{0, 1, 2, 1019, 1020, 1021, 1022, 1023, 1024, 1025, 2047, 2048, MaxKeyBytes - 1, MaxKeyBytes}
	for _, n := range lengths {
		insert(table, strings.Repeat("x", n), int64(n), never)
	}
	for _, n := range lengths {
		if p := find(table, strings.Repeat("x", n)); p == nil || *p != int64(n) {
			t.Errorf("key of %d bytes: %v", n, p)
		}
		if n > 0 && find(table, strings.Repeat("x", n-1)+"y") != nil {
			t.Errorf("a key that differs in its last byte, of %d, is found", n)
		}
	}
	table.Scan(0, 100, func(key []byte, value int64) {
		if len(key) != int(value) || strings.Trim(string(key), "x") != "" {
			t.Errorf("Scan visits a key of %d bytes with %d", len(key), value)
		}
	})
	mustCheck(t, table)
}

func TestKeyTooLong(t *testing.T) {
	table := New(goodHash)
	key := strings.Repeat("x", MaxKeyBytes+1)
	if find(table, key) != nil || remove(table, key) {
		t.Error("an impossible key is there")
	}
	defer func() {
		if recover() == nil {
			t.Error("Insert of a key one byte too long does not panic")
		}
	}()
	insert(table, key, 1, never)
}

func TestBinaryKeys(t *testing.T) {
	table := New(goodHash)
	var keys []string
	for a := range 256 {
		keys = append(keys, string([]byte{byte(a)}), string([]byte{0, byte(a)}), string([]byte{byte(a), 0}))
	}
	distinct := map[string]int64{}
	for i, key := range keys {
		if _, ok := distinct[key]; !ok {
			insert(table, key, int64(i), never)
			distinct[key] = int64(i)
		}
	}
	for key, want := range distinct {
		if p := find(table, key); p == nil || *p != want {
			t.Errorf("%q: %v, want %d", key, p, want)
		}
	}
	mustCheck(t, table)
}

// The garbage collector must have nothing to look at per entry.
func TestBlocksHoldNoPointers(t *testing.T) {
	for _, kind := range []reflect.Type{reflect.TypeFor[groupBlock](), reflect.TypeFor[arenaBlock]()} {
		if path := pointerIn(kind); path != "" {
			t.Errorf("%v has a pointer in %s", kind, path)
		}
	}
	if pointerIn(reflect.TypeFor[struct{ a [2]struct{ p *int } }]()) == "" {
		t.Error("pointerIn sees none in a type that has one")
	}
}

func pointerIn(kind reflect.Type) string {
	switch kind.Kind() {
	case reflect.Array:
		return pointerIn(kind.Elem())
	case reflect.Struct:
		for i := range kind.NumField() {
			if pointerIn(kind.Field(i).Type) != "" {
				return kind.Field(i).Name
			}
		}
		return ""
	case reflect.Int64, reflect.Uint64, reflect.Uint16, reflect.Uint8:
		return ""
	}
	return kind.String()
}

func TestNoAllocations(t *testing.T) {
	n := uint64(scaled(50_000))
	table, _ := filled(n, goodHash)
	var buffer [16]byte
	var preload Preload
	i := uint64(0)
	steps := map[string]func(){
		"Find": func() { k := appendKey(buffer[:0], i%n); *table.Find(goodHash(k), k)++ },
		"Preload": func() {
			preload.Add(table, goodHash(appendKey(buffer[:0], i%n)))
			preload.Run(never)
		},
		"churn": func() {
			k := appendKey(buffer[:0], i)
			table.Delete(goodHash(k), k)
			k = appendKey(buffer[:0], i+n)
			table.Insert(goodHash(k), k, 1, never)
		},
	}
	for _, name := range []string{"Find", "Preload", "churn"} {
		i = 0
		step := steps[name]
		if name == "churn" {
			for range n { // until segments and reserve have found their size
				step()
				i++
			}
		}
		if allocs := testing.AllocsPerRun(scaled(20_000), func() { step(); i++ }); allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

// However many keys come and go, what the table holds stays in proportion to those that are there.
func TestChurnDoesNotGrow(t *testing.T) {
	n := uint64(scaled(20_000))
	table, _ := filled(n, goodHash)
	for i := range 10 * n {
		remove(table, string(appendKey(nil, i)))
		insert(table, string(appendKey(nil, i+n)), 1, never)
	}
	if perKey := (table.Bytes() - reserveBytes) / int(n); perKey > 48 {
		t.Errorf("%d bytes a key", perKey)
	}
	mustCheck(t, table)
}

// Without any sweep, keys that live for a while and are never touched again do not pile up: growth drops them.
func TestDeadEntriesPayForNewOnes(t *testing.T) {
	lifetime := int64(scaled(5_000))
	table := New(goodHash)
	longest := 0
	for now := range 40 * lifetime {
		insert(table, string(appendKey(nil, uint64(now))), now+lifetime, now)
		longest = max(longest, table.Len())
	}
	if longest > 3*int(lifetime) {
		t.Errorf("%d entries, of which %d can be alive", longest, lifetime)
	}
	for now := 39 * lifetime; now < 40*lifetime; now++ {
		if find(table, string(appendKey(nil, uint64(now)))) == nil {
			t.Fatalf("the key of %d is gone before its time", now)
		}
	}
	mustCheck(t, table)
}

func TestValueAtNowIsDead(t *testing.T) {
	for _, c := range []struct {
		value, now int64
		dead       bool
	}{{5, 4, false}, {5, 5, true}, {5, 6, true}, {-1 << 63, -1 << 63, true}, {1<<63 - 1, 1<<63 - 2, false}} {
		table := New(goodHash)
		insert(table, "k", c.value, c.now)
		if _, _, removed := table.Sweep(0, c.now, 100); removed == 1 != c.dead {
			t.Errorf("value %d at now %d: removed %d", c.value, c.now, removed)
		}
	}
}

// The longest operation: what one Insert moves is bounded, in entries and in bytes, for keys of all lengths.
func TestInsertMovesBoundedPieces(t *testing.T) {
	for _, c := range []struct{ keyBytes, keys int }{{16, 150_000}, {300, 30_000}, {5_000, 4_000}, {MaxKeyBytes, 400}} {
		t.Run(fmt.Sprintf("%d bytes", c.keyBytes), func(t *testing.T) {
			table := New(goodHash)
			var most moves
			padding := bytes.Repeat([]byte("p"), c.keyBytes-16)
			for i := range uint64(scaled(c.keys)) {
				key := append(appendKey(nil, i), padding...)
				before := table.moves
				table.Insert(goodHash(key), key, 1, never)
				most.entries = max(most.entries, table.moves.entries-before.entries)
				most.bytes = max(most.bytes, table.moves.bytes-before.bytes)
			}
			t.Logf("at most %d entries, %d bytes; %d segments", most.entries, most.bytes, table.segments)
			if most.entries > 1024 || most.bytes > maxArenaBytes {
				t.Errorf("one Insert moved %d entries, one %d bytes", most.entries, most.bytes)
			}
			if limit := 16 + 2*table.Len(); len(table.directory) > limit {
				t.Errorf("directory of %d for %d keys", len(table.directory), table.Len())
			}
			mustCheck(t, table)
		})
	}
}

// A hash that tells no keys apart costs time, not memory.
func TestCollidingHashDoesNotInflate(t *testing.T) {
	n := scaled(3_000)
	table := New(func([]byte) uint64 { return 7 })
	for i := range uint64(n) {
		insert(table, string(appendKey(nil, i)), 1, never)
	}
	if perKey := table.Bytes() / n; perKey > 100 {
		t.Errorf("%d bytes a key", perKey)
	}
	mustCheck(t, table)
}
