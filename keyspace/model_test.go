package keyspace

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cellserver/cellserver/internal/invariants"
)

// The hashes of the tests: a good one that is the same on every run, and the ones that a table must survive.
var hashes = []struct {
	name string
	hash func(key []byte) uint64
}{
	{"good", goodHash},
	{"few bits", func(key []byte) uint64 { return goodHash(key) & 0x0000_c000_0060_0003 }},
	{"one position", func(key []byte) uint64 { return goodHash(key) &^ 0x0000_ffff_ffff_fff0 }},
	{"all collide", func([]byte) uint64 { return 42 }},
	{"all collide at the end", func([]byte) uint64 { return ^uint64(0) }},
}

// goodHash is FNV-1a with SplitMix64's finish, so that all 64 bits are good.
func goodHash(key []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range key {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return scatter(h)
}

// A model is a table together with the Go map that it must equal.
type model struct {
	t     testing.TB
	table *Table
	hash  func([]byte) uint64
	want  map[string]int64
	now   int64
	sweep uint64
	ops   int
}

func newModel(t testing.TB, hash func([]byte) uint64) *model {
	return &model{t: t, table: New(hash), hash: hash, want: map[string]int64{}, now: 1000}
}

// set inserts the key or updates it through the pointer.
func (m *model) set(key string, value int64) {
	k := []byte(key)
	if p := m.find(key); p != nil {
		*p = value
	} else {
		m.table.Insert(m.hash(k), k, value, m.now)
		m.dropDead()
	}
	m.want[key] = value
}

// find compares the table's answer with the map's: a live key must be there, a dead one may be.
func (m *model) find(key string) *int64 {
	k := []byte(key)
	p := m.table.Find(m.hash(k), k)
	want, ok := m.want[key]
	if (p != nil) != ok || p != nil && *p != want {
		m.t.Fatalf("Find(%.20q) = %v, want %d, %t", key, p, want, ok)
	}
	return p
}

func (m *model) delete(key string) {
	k := []byte(key)
	_, want := m.want[key]
	if got := m.table.Delete(m.hash(k), k); got != want {
		m.t.Fatalf("Delete(%.20q) = %t, want %t", key, got, want)
	}
	delete(m.want, key)
}

// dropDead takes from the map the dead keys that the table has dropped; that it may only have dropped dead ones shows
// when the lengths are compared.
func (m *model) dropDead() {
	if m.table.Len() == len(m.want)+1 {
		return
	}
	for key, value := range m.want {
		if k := []byte(key); value <= m.now && m.table.Find(m.hash(k), k) == nil {
			delete(m.want, key)
		}
	}
}

func (m *model) sweepSome(budget int) {
	next, looked, removed := m.table.Sweep(m.sweep, m.now, budget)
	if looked > budget+slotsPerGroup-1 || removed > looked {
		m.t.Fatalf("Sweep with a budget of %d looked at %d, removed %d", budget, looked, removed)
	}
	before := len(m.want)
	for key, value := range m.want {
		if k := []byte(key); value <= m.now && m.table.Find(m.hash(k), k) == nil {
			delete(m.want, key)
		}
	}
	if len(m.want) > before-removed {
		m.t.Fatalf("Sweep removed %d, the table lost %d", removed, before-len(m.want))
	}
	m.sweep = next
}

func (m *model) scanAll(count int) {
	seen := map[string]int64{}
	for cursor := uint64(0); ; {
		cursor = m.table.Scan(cursor, count, func(key []byte, value int64) {
			if _, twice := seen[string(key)]; twice {
				m.t.Fatalf("Scan visits %.20q twice", key)
			}
			seen[string(key)] = value
		})
		if cursor == 0 {
			break
		}
	}
	if len(seen) != len(m.want) {
		m.t.Fatalf("Scan visits %d keys, want %d", len(seen), len(m.want))
	}
	for key, value := range m.want {
		if got, ok := seen[key]; !ok || got != value {
			m.t.Fatalf("Scan visits %.20q with %d, %t, want %d", key, got, ok, value)
		}
	}
}

func (m *model) random(r uint64) {
	key, value, ok := m.table.Random(r)
	if ok != (len(m.want) > 0) {
		m.t.Fatalf("Random = %t with %d entries", ok, len(m.want))
	}
	if want, found := m.want[string(key)]; ok && (!found || value != want) {
		m.t.Fatalf("Random = %.20q, %d, want %d, %t", key, value, want, found)
	}
}

// check compares everything.
func (m *model) check() {
	m.t.Helper()
	if err := m.table.check(); err != nil {
		m.t.Fatal(err)
	}
	if m.table.Len() != len(m.want) {
		m.t.Fatalf("Len = %d, want %d", m.table.Len(), len(m.want))
	}
	for key := range m.want {
		m.find(key)
	}
}

// step does one operation on one of the given number of keys. Keys differ in length, some by a lot.
func (m *model) step(op byte, id, keys uint32, arg uint16) {
	key := fmt.Sprintf("%0*d", 1+id%keys%37, id%keys)
	if id%keys%97 == 0 {
		key = fmt.Sprintf("%0*d", 3000, id%keys)
	}
	switch {
	case op < 110:
		m.set(key, m.now+int64(arg%2000))
	case op < 150:
		m.find(key)
	case op < 200:
		m.delete(key)
	case op < 230:
		m.now += int64(arg % 8)
	case op < 245:
		m.random(uint64(id) << 32)
	case op < 255:
		m.sweepSome(1 + int(arg%512))
	default:
		m.scanAll(1 + int(arg%300))
	}
	if m.ops++; m.ops%1000 == 0 {
		m.check()
	}
}

func TestAgainstMap(t *testing.T) {
	for _, h := range hashes {
		for _, keys := range []uint32{10, 300, 5000} {
			if invariants.Enabled && keys == 5000 && h.name != "good" {
				continue // a check after each step of a segment of thousands: minutes
			}
			t.Run(fmt.Sprintf("%s/%d keys", h.name, keys), func(t *testing.T) {
				const seed = 1
				random := rand.New(rand.NewPCG(seed, uint64(keys)))
				m := newModel(t, h.hash)
				for range 20_000 {
					m.step(byte(random.Uint32()), random.Uint32(), keys, uint16(random.Uint32()))
				}
				m.check()
				m.scanAll(10)
			})
		}
	}
}

func FuzzAgainstMap(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	for i := range hashes {
		script := make([]byte, 7*300)
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		f.Add(byte(i), uint16(100*i), script)
	}
	f.Fuzz(func(t *testing.T, hash byte, keys uint16, script []byte) {
		m := newModel(t, hashes[int(hash)%len(hashes)].hash)
		for ; len(script) >= 7; script = script[7:] {
			m.step(script[0], binary.LittleEndian.Uint32(script[1:]), 1+uint32(keys), binary.LittleEndian.Uint16(script[5:]))
		}
		m.check()
		m.scanAll(7)
	})
}
