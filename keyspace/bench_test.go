package keyspace

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

// heavy reports whether sizes of minutes and gigabytes are wanted.
func heavy() bool { return os.Getenv("CELLSERVER_HEAVY") == "1" }

// appendKey appends the i-th of a set of 16-byte keys.
func appendKey(dst []byte, i uint64) []byte {
	const digits = "0123456789abcdef"
	i = scatter(i)
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, digits[i>>shift&15])
	}
	return dst
}

func benchmarkSizes() []uint64 {
	if heavy() {
		return []uint64{1_000_000, 10_000_000}
	}
	return []uint64{100_000}
}

// filled returns a table of n keys, and what each costs by the heap's account.
func filled(n uint64, hash func([]byte) uint64) (table *Table, bytesPerKey float64) {
	before := heapBytes()
	table = New(hash)
	var key [16]byte
	for i := range n {
		k := appendKey(key[:0], i)
		table.Insert(hash(k), k, int64(i), -1)
	}
	return table, float64(heapBytes()-before) / float64(n)
}

func heapBytes() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

var sink uint64

// BenchmarkUpdate finds a random existing key and updates its value, as a call of CL.THROTTLE does, in batches as a
// pass of an event loop has them.
func BenchmarkUpdate(b *testing.B) {
	const batch = 16
	hasher := NewHasher()
	for _, n := range benchmarkSizes() {
		table, bytesPerKey := filled(n, hasher.Sum)
		for _, preloading := range []bool{false, true} {
			b.Run(fmt.Sprintf("table/keys=%d/preload=%t", n, preloading), func(b *testing.B) {
				var keys [batch][16]byte
				var sums [batch]uint64
				var preload Preload
				for i := 0; i < b.N; i += batch {
					for j := range batch {
						sums[j] = hasher.Sum(appendKey(keys[j][:0], scatter(uint64(i+j))%n))
					}
					if preloading {
						for _, sum := range sums {
							preload.Add(table, sum)
						}
						preload.Run(never)
					}
					for j := range batch {
						*table.Find(sums[j], keys[j][:])++
					}
				}
				b.ReportMetric(bytesPerKey, "B/key")
			})
		}
		table = nil
		benchmarkMap(b, n)
	}
}

// benchmarkMap is the same on a Go map, the baseline.
func benchmarkMap(b *testing.B, n uint64) {
	before := heapBytes()
	table := map[string]int64{}
	for i := range n {
		table[string(appendKey(nil, i))] = int64(i)
	}
	bytesPerKey := float64(heapBytes()-before) / float64(n)
	b.Run(fmt.Sprintf("map/keys=%d", n), func(b *testing.B) {
		var key [16]byte
		for i := range b.N {
			table[string(appendKey(key[:0], scatter(uint64(i))%n))]++
		}
		b.ReportMetric(bytesPerKey, "B/key")
	})
}

// BenchmarkInsert grows a table from nothing.
func BenchmarkInsert(b *testing.B) {
	hasher := NewHasher()
	for _, n := range benchmarkSizes() {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			var key [16]byte
			for b.Loop() {
				table := New(hasher.Sum)
				for i := range n {
					k := appendKey(key[:0], i)
					table.Insert(hasher.Sum(k), k, int64(i), -1)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
		})
	}
}

// BenchmarkChurn inserts keys that live for as long as it takes to insert live others and are never touched again, with
// and without a sweep behind them.
func BenchmarkChurn(b *testing.B) {
	for _, live := range []int64{1_000, 50_000, 500_000} {
		for _, sweeping := range []bool{false, true} {
			b.Run(fmt.Sprintf("live=%d/sweep=%t", live, sweeping), func(b *testing.B) {
				hasher := NewHasher()
				table := New(hasher.Sum)
				var buffer [16]byte
				cursor, now := uint64(0), int64(0)
				step := func() {
					key := appendKey(buffer[:0], uint64(now))
					table.Insert(hasher.Sum(key), key, now+live, now)
					if now++; sweeping && now%128 == 0 {
						cursor, _, _ = table.Sweep(cursor, now, 192)
					}
				}
				for range 4 * live {
					step()
				}
				before := table.moves
				b.ResetTimer()
				for range b.N {
					step()
				}
				b.ReportMetric(float64(table.moves.entries-before.entries)/float64(b.N), "moves/op")
				b.ReportMetric(float64(table.Bytes())/float64(live), "B/live")
			})
		}
	}
}
