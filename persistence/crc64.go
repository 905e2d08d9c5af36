package persistence

import "hash/crc64"

// crcTable is of the Jones polynomial, 0xad93d23594c935a9, which Redis checks RDB files and DUMP payloads with. Go wants its
// bits reversed.
var crcTable = crc64.MakeTable(0x95ac9329ac4bc9b5)

// updateCRC returns the checksum of what crc is the checksum of, followed by p. That of nothing is 0. Redis's has no
// inversion before and after, which Go's has, so it is undone.
func updateCRC(crc uint64, p []byte) uint64 {
	return ^crc64.Update(^crc, crcTable, p)
}
