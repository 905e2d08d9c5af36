// Package persistence keeps limits on disk, in Redis's own formats, and brings them back. It knows entries (database, key,
// TAT) and what changes them, and no engine; the time is an argument.
//
// # Snapshot
//
// An RDB file is a list of entries: what [RDBWriter] writes, version 10, is
//
//	"REDIS0010"
//	0xfa name value              said of the file: redis-ver, ctime, the store's clock
//	0xfe database                of the entries that follow
//	0xfc milliseconds uint64     when the next entry expires: its TAT, rounded up
//	0x00 key TAT                 a string; the TAT is in decimal digits
//	0xff CRC64 uint64
//
// Integers are little endian, save those in lengths. A string is a length (one to nine bytes, [appendLength]) and its bytes; a
// decimal number of up to 32 bits may be one of three integers instead, and Redis compresses longer strings with LZF. This is
// the value that redis-cell stores, so its server reads our files, and [ReadRDB] reads all that Redis 6 to 8 and Valkey write. A string
// is a limiter's key if it is a TAT and expires when that is reached; the reader passes over whatever else there is, and counts it.
//
// A snapshot is taken piece by piece while the keys change. So it shows each key as it was at some time between its begin and
// its end, not all of them at one time; a limit needs no more than that.
//
// # Log
//
// A [Log] is what Redis 7 calls a multi-part AOF. A manifest lists the files, a base as above and increments of commands:
//
//	appendonlydir/appendonly.aof.manifest      file appendonly.aof.1.base.rdb seq 1 type b
//	                                           file appendonly.aof.1.incr.aof seq 1 type i
//
// The commands are SET key TAT PXAT milliseconds, DEL key, FLUSHDB and SELECT. They are absolute, so the last one on a key is all
// that counts: a [Batch] keeps no other, and a base whose entries are of different times is made right by an increment that was begun
// before it. They stand in blocks, each after a line that Redis takes for an annotation and passes over:
//
//	#cellserver bytes=117 records=1 clock=1900000000000000000 synced=4096 crc=0123abcd
//
// The checksum is of that line and the commands, the clock is the store's, and synced is how much of the file was safe on disk
// before. That tells a torn tail, which nobody was promised, from damage: what a later block calls safe must be sound.
//
// In a log of Redis a string may get its expiry by a later command, and calls of redis-cell stand as they were made, to be applied as of
// the time that Redis's annotations tell. Both go on from one file of the log to the next: see history.
// What a command does is the [Applier]'s affair, which knows no files: the stream of a master is made of the same commands.
//
// # When the disk fails
//
// A write that fails is cut off and repeated. A sync that fails is not: what it was to save may be lost though the next one succeeds.
// So the increment is given up, and a [Rewrite] makes a new base from memory, with an increment that no manifest lists before
// the base is whole. Until then [Log.Err] says why, and under [Always] so does [Log.Commit]. Files that somebody else removes or changes
// are given up in the same way, as soon as that is noticed.
//
// The disk that this is tested on is in internal/vfs.
package persistence
