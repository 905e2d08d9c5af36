package keyspace

import "hash/maphash"

// A Hasher hashes keys under a seed chosen at random when it was made, so that no client can choose keys that collide.
// All shards and databases of a server share one, since the hash also chooses the shard. The zero Hasher is not usable.
// docs/decisions/0001-key-hash.md says why it is this hash.
type Hasher struct{ seed maphash.Seed }

// NewHasher returns a Hasher with a fresh seed.
func NewHasher() Hasher { return Hasher{maphash.MakeSeed()} }

// Sum returns the hash of key. All 64 bits are good.
func (h Hasher) Sum(key []byte) uint64 { return maphash.Bytes(h.seed, key) }
