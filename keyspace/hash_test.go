package keyspace

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/cespare/xxhash/v2"
)

func TestHashersDiffer(t *testing.T) {
	a, b := NewHasher(), NewHasher()
	same := 0
	for i := range uint64(1000) {
		key := appendKey(nil, i)
		if a.Sum(key) != a.Sum(append([]byte(nil), key...)) {
			t.Fatalf("Sum(%q) is not a function of the key", key)
		}
		if a.Sum(key) == b.Sum(key) {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d of 1,000 keys have the same hash under two seeds", same)
	}
}

// Every field of the hash that the table or the shards use must be even: keys that differ in one digit, as real ones
// do, must set each bit half of the time.
func TestHashBitsAreEven(t *testing.T) {
	const n = 100_000
	hasher := NewHasher()
	var ones [64]int
	for i := range n {
		for h := hasher.Sum(fmt.Appendf(nil, "user:%d", i)); h != 0; h &= h - 1 {
			ones[bits.TrailingZeros64(h)]++
		}
	}
	for bit, got := range ones {
		if off := got - n/2; off < -n/50 || off > n/50 { // 2% is 12 standard deviations
			t.Errorf("bit %d is set in %d of %d hashes", bit, got, n)
		}
	}
}

// BenchmarkHash compares the two candidates of docs/decisions/0001-key-hash.md.
func BenchmarkHash(b *testing.B) {
	hasher := NewHasher()
	var digest xxhash.Digest
	for _, n := range []int{8, 16, 32, 64, 256} {
		key := make([]byte, n)
		b.Run(fmt.Sprintf("maphash/bytes=%d", n), func(b *testing.B) {
			for b.Loop() {
				sink += hasher.Sum(key)
			}
		})
		b.Run(fmt.Sprintf("xxhash/bytes=%d", n), func(b *testing.B) {
			for b.Loop() {
				digest.ResetWithSeed(42)
				digest.Write(key)
				sink += digest.Sum64()
			}
		})
	}
}
