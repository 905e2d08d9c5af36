package persistence

import "bytes"

// Batch collects the effects on one shard's keys until they go to a log. Of the effects on one key it keeps the last, so a key
// that changes a thousand times costs one record. The zero value is an empty batch. It belongs to whoever owns the shard: effects
// must come in the order in which they were applied.
type Batch struct {
	records []record
	slots   []uint32 // a hash table of positions in records, plus one; 0: free. Its length is a power of two
	keys    []byte   // of all records
	epoch   uint64   // of the log when the batch was last empty
}

// record says that a key has this TAT, or is gone.
type record struct {
	hash      uint64
	tatNanos  int64
	keyStart  uint32
	keyLength uint16
	db        uint8
	gone      bool
}

const (
	// maxBatchBytes is how many bytes of keys a batch takes before it has to be handed over, far below what keyStart can say.
	maxBatchBytes = 64 << 20
	// minSlots is the size of the first table.
	minSlots = 64
	// keptRecords is the largest batch whose memory is kept when it has been written.
	keptRecords = 1 << 16
)

// Set records that the key has this TAT. The hash is any function of the key's bytes.
func (b *Batch) Set(db int, hash uint64, key []byte, tatNanos int64) {
	r := b.record(db, hash, key)
	r.tatNanos, r.gone = tatNanos, false
}

// Delete records that the key is gone.
func (b *Batch) Delete(db int, hash uint64, key []byte) {
	b.record(db, hash, key).gone = true
}

// Flush drops the effects on a database that is emptied. That it is has to be recorded beside the batch.
func (b *Batch) Flush(db int) {
	kept := b.records[:0]
	for _, r := range b.records {
		if int(r.db) != db {
			kept = append(kept, r)
		}
	}
	b.records = kept
	b.rehash(len(b.slots))
}

// Len returns how many keys have effects in the batch.
func (b *Batch) Len() int { return len(b.records) }

// record returns the key's record, a new one if there is none.
func (b *Batch) record(db int, hash uint64, key []byte) *record {
	if len(b.records) >= len(b.slots)/2 {
		b.rehash(max(minSlots, 2*len(b.slots)))
	}
	mask := uint64(len(b.slots) - 1)
	slot := scatter(hash) & mask
	for ; b.slots[slot] != 0; slot = (slot + 1) & mask {
		r := &b.records[b.slots[slot]-1]
		if r.hash == hash && int(r.db) == db && bytes.Equal(b.key(r), key) {
			return r
		}
	}
	b.records = append(b.records, record{hash: hash, db: uint8(db), keyStart: uint32(len(b.keys)), keyLength: uint16(len(key))})
	b.slots[slot] = uint32(len(b.records))
	b.keys = append(b.keys, key...)
	return &b.records[len(b.records)-1]
}

func (b *Batch) key(r *record) []byte {
	return b.keys[r.keyStart : r.keyStart+uint32(r.keyLength)]
}

// scatter mixes a hash, some bits of which are the same for all keys of a shard.
func scatter(hash uint64) uint64 {
	hash *= 0x9e3779b97f4a7c15
	return hash ^ hash>>32
}

func (b *Batch) rehash(slots int) {
	if slots == len(b.slots) {
		clear(b.slots)
	} else {
		b.slots = make([]uint32, slots)
	}
	mask := uint64(slots - 1)
	for i, r := range b.records {
		slot := scatter(r.hash) & mask
		for b.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		b.slots[slot] = uint32(i) + 1
	}
}

// absorb adds the effects of a later batch.
func (b *Batch) absorb(later *Batch) {
	for i := range later.records {
		r := &later.records[i]
		if r.gone {
			b.Delete(int(r.db), r.hash, later.key(r))
		} else {
			b.Set(int(r.db), r.hash, later.key(r), r.tatNanos)
		}
	}
}

// empty drops all effects and keeps the memory, unless there is a lot of it.
func (b *Batch) empty() {
	if len(b.records) > keptRecords || len(b.keys) > maxBatchBytes/64 {
		*b = Batch{}
		return
	}
	b.records, b.keys = b.records[:0], b.keys[:0]
	clear(b.slots)
}
