// Package keyspace is a table from keys, any bytes up to 65,535, to int64 values: one database of one shard. It is dense,
// it holds no pointer per entry for the garbage collector to follow, and none of its operations takes long. It knows
// nothing of GCRA: a value is a number, and the time at which its entry is dead.
//
// # Layout
//
//	directory -> segment -> groups of slots, in blocks
//	                     -> arena of records, in blocks
//
// The table is an extendible hash table. The directory maps a prefix of an entry's position (44 bits of the hash) to a
// segment; a segment that is full is split in two, and the directory doubles when a split needs one more bit than it
// has. A segment is a small open-addressing table of at most 1,152 slots, after the model of Swiss tables:
//
//	group, 96 bytes:  tags 8 x 1 byte | records 8 x 22 bits, 16 bits of bookkeeping | values 8 x int64
//	record:           length uint16 | key
//
// A tag is 7 bits of the hash and a flag, and the eight tags of a group are compared at once. A slot's record is the offset
// of the key in the segment's arena. Bits of the hash, none used twice:
//
//	63..48 shard (not here)   47..23 directory   22..7 home group   6..0 tag
//
// An entry is in its home group or, where that was full of live entries, in one further on. A group counts the entries
// that have gone on past it (as F14 tables do), and a lookup ends at the first group with a count of 0: nearly always its
// home, however many dead entries fill it. So a missing key costs what a present one costs, two cache lines, and no record;
// and an entry that is removed leaves a free slot and no tombstone.
//
// # Words
//
//	home       of a key: the group at which its probe begins
//	probe      the walk over the groups from the home on, until a lookup or an insertion has what it wants
//	place      a key's segment and home group, where every operation on the key begins; locate finds it
//	vacancy    a slot that a new entry may have: a free one, or that of a dead entry
//	spare      the record that a slot keeps when its entry goes, for the next key of the same length
//	put        give an entry a slot: a new one a vacancy, a moved one a free slot of the rebuilt segment
//	occupy     what put does to a slot and to the counts; vacate undoes it for the slot, unpass for the counts
//	displaced  of an entry: not in its home group
//	pass       of a displaced entry's probe: go on past a group, which counts it
//
// # Memory
//
// A slot takes 12 bytes, and the record of a 16-byte key 18. Segments grow in small steps and are 7/8 full when they do, so
// at any size 16-byte keys cost 34 to 38 bytes each, all told (TestResidentBytes); where every key is new and expires, up
// to 65 for each live one (TestResidentBytesUnderChurn). Blocks that a rebuild returns are kept for the next one, so a
// table makes hardly any garbage.
//
// # No pause
//
// An insertion that finds no room rebuilds its segment, or splits it: at most 1,008 entries and 1 MiB of records move,
// which takes some tens of microseconds. Everything else touches one segment, or the directory's pointers. The table is
// never copied as a whole.
//
// # The dead
//
// An insertion whose probe meets a dead entry uses its slot, and its record too if the lengths match. One that finds no
// room drops all dead entries of its segment, and rebuilds it only if that does not help. Sweep removes the rest and
// shrinks what has become sparse. So keys that come and go live in the space of those that went, and are hardly ever moved.
//
// # Rejected
//
//   - A Go map with string keys: 100 bytes a key, scanned by the collector.
//   - One large table that grows by copying: pauses.
//   - A fixed ring of chunks that drops the oldest, as in fastcache: a limiter that forgets lets too many calls pass.
//   - Storing the hash: 8 bytes a key to save 5 ns for each entry of a rebuild.
//   - Ending a lookup at an empty slot, as Swiss tables do: where keys come and go no group keeps one, and every second
//     lookup of a new key missed the cache once more.
package keyspace
