package keyspace

import "unsafe"

const (
	arenaBlockBytes = 1024
	// recordHeaderBytes holds the key's length, little-endian.
	recordHeaderBytes = 2
	// maxArenaBytes bounds the bytes that one rebuild copies; a segment whose live records would pass it splits.
	maxArenaBytes = 1 << 20
	// recordBits is the width of the offset of a record.
	recordBits = 16 + recordMiscBits
	// noRecord is an offset that no record has, for a slot that never had one: the first byte is not used.
	noRecord = 0
)

type arenaBlock [arenaBlockBytes]byte

// bytes returns the block as a slice. Indexing the array itself would miss one more cache line: see groupBlock.at.
func (b *arenaBlock) bytes() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(b)), arenaBlockBytes) }

// An arena holds the records of one segment back to back: length, key. It is one run of bytes cut into blocks, so a
// record may lie across blocks; that is how keys of any length share blocks of one size without loss. Records are
// appended. One whose entry is gone stays, counted in dead, until its slot gets a key of the same length or the segment
// is rebuilt; once its slot has got another record, it is lost.
type arena struct {
	blocks []*arenaBlock
	used   uint32 // bytes written: [0:used] of the run
	dead   uint32 // of those, bytes of deleted records
	lost   uint32 // of those, bytes of records that no slot has as a spare
	limit  uint32 // used may grow up to here before a rebuild; above maxArenaBytes only if the segment could not split
}

func recordBytes(keyBytes int) int { return recordHeaderBytes + keyBytes }

// live returns the bytes of records that are not deleted.
func (a *arena) live() int { return int(a.used - a.dead) }

// hasRoom reports whether n bytes may be appended without a rebuild. Where that takes a new block, it must not be the
// case that a rebuild would win back a fifth instead.
func (a *arena) hasRoom(n int) bool {
	end := max(1, int(a.used)) + n
	return end <= len(a.blocks)*arenaBlockBytes || end <= int(a.limit) && !a.wasteful()
}

// wasteful reports whether a fifth of the bytes are of deleted records. Less, and keys that come and go would have a
// segment rebuilt for every few of them; more, and they would cost much more than keys that stay.
func (a *arena) wasteful() bool { return a.dead > a.used/5 }

// mayGrow reports whether n bytes may be appended where keys come and go, so that spares find their use.
func (a *arena) mayGrow(n int) bool { return int(a.used)+n <= int(a.limit) && a.lost <= a.used/5 }

// append adds key's record and returns its offset.
func (a *arena) append(key []byte, pool *pool[arenaBlock]) uint32 {
	if a.used == noRecord {
		a.used, a.dead, a.lost = 1, 1, 1
	}
	record := a.used
	end := int(record) + recordBytes(len(key))
	if end > 1<<recordBits {
		panic("keyspace: a segment holds 4 MiB of keys: the hash does not tell them apart")
	}
	for len(a.blocks)*arenaBlockBytes < end {
		a.blocks = append(a.blocks, pool.take())
	}
	header := [recordHeaderBytes]byte{byte(len(key)), byte(len(key) >> 8)}
	a.write(record, header[:])
	a.write(record+recordHeaderBytes, key)
	a.used = uint32(end)
	return record
}

// reuse writes a key of the same length over a deleted record's.
func (a *arena) reuse(record uint32, key []byte) {
	a.write(record+recordHeaderBytes, key)
	a.dead -= uint32(recordBytes(len(key)))
}

func (a *arena) write(at uint32, p []byte) {
	for len(p) > 0 {
		n := copy(a.blocks[at/arenaBlockBytes].bytes()[at%arenaBlockBytes:], p)
		at += uint32(n)
		p = p[n:]
	}
}

// replace writes a key over that of a record, if they are of one length.
func (a *arena) replace(record uint32, key []byte) bool {
	block := a.blocks[record/arenaBlockBytes].bytes()
	begin := int(record%arenaBlockBytes) + recordHeaderBytes
	if end := begin + len(key); end <= arenaBlockBytes {
		if length := int(block[begin-2]) | int(block[begin-1])<<8; length != len(key) {
			return false
		}
		copy(block[begin:end], key)
		return true
	}
	if a.keyBytes(record) != len(key) {
		return false
	}
	a.write(record+recordHeaderBytes, key)
	return true
}

// holds reports whether the record's key is key.
func (a *arena) holds(record uint32, key []byte) bool {
	block := a.blocks[record/arenaBlockBytes].bytes()
	begin := int(record%arenaBlockBytes) + recordHeaderBytes
	if end := begin + len(key); end <= arenaBlockBytes {
		length := int(block[begin-2]) | int(block[begin-1])<<8
		return length == len(key) && string(block[begin:end]) == string(key)
	}
	return a.keyBytes(record) == len(key) && a.equal(record+recordHeaderBytes, key)
}

func (a *arena) equal(at uint32, p []byte) bool {
	for len(p) > 0 {
		piece := a.blocks[at/arenaBlockBytes].bytes()[at%arenaBlockBytes:]
		piece = piece[:min(len(piece), len(p))]
		if string(piece) != string(p[:len(piece)]) {
			return false
		}
		at += uint32(len(piece))
		p = p[len(piece):]
	}
	return true
}

func (a *arena) keyBytes(record uint32) int { return int(a.byte(record)) | int(a.byte(record+1))<<8 }

func (a *arena) byte(at uint32) byte { return *a.at(at) }

// at returns a pointer to the byte at an offset.
func (a *arena) at(at uint32) *byte { return &a.blocks[at/arenaBlockBytes].bytes()[at%arenaBlockBytes] }

// key returns the record's key: a part of its block, or a copy in scratch where it lies across blocks.
func (a *arena) key(record uint32, scratch *[]byte) []byte {
	n := a.keyBytes(record)
	begin := int(record%arenaBlockBytes) + recordHeaderBytes
	if end := begin + n; end <= arenaBlockBytes {
		return a.blocks[record/arenaBlockBytes].bytes()[begin:end:end]
	}
	key := (*scratch)[:0]
	for at := record + recordHeaderBytes; n > 0; {
		piece := a.blocks[at/arenaBlockBytes].bytes()[at%arenaBlockBytes:]
		piece = piece[:min(len(piece), n)]
		key = append(key, piece...)
		at += uint32(len(piece))
		n -= len(piece)
	}
	*scratch = key
	return key
}
