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
//	0xfb keys keys               how many there will be, all of them with an expiry
//	0xfc milliseconds uint64     when the next entry expires: its TAT, rounded up
//	0x00 key TAT                 a string; the TAT is in decimal digits
//	0xff CRC64 uint64
//
// Integers are little endian, save those in lengths. A string is a length (one to nine bytes, [appendLength]) and its bytes; a
// decimal number of up to 32 bits may be one of three integers instead, and Redis compresses longer strings with LZF. This is
// the value that redis-cell stores, so its server reads our files, and [ReadRDB] reads all that Redis 6 to 8 and Valkey write. It
// passes over whatever is no TAT, and counts it.
//
// A snapshot is taken piece by piece while the keys change. So it shows each key as it was at some time between its begin and
// its end, not all of them at one time; a limit needs no more than that.
package persistence
