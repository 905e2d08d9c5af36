package persistence

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/cellserver/cellserver/resp"
)

// Opcodes stand where the type of a value may stand and are followed by what is said here. Values have types from 0 on.
const (
	opTemplate           = 0xf2 // Redis 8.10: a template of hashes: its number, and its fields
	opKeyMetadata        = 0xf3 // Redis 8.6: of the next entry: class of 4 bytes and module fields, for each class
	opSlotImport         = 0xf3 // Valkey 9: name, ranges of slots
	opSlotInfo           = 0xf4 // slot, keys, keys with expiry: three lengths
	opFunction           = 0xf5 // the library's text
	opFunctionPreGA      = 0xf6 // name, engine, 0 or 1 and description, text
	opModuleAux          = 0xf7 // module, when, module fields
	opIdle               = 0xf8 // seconds: a length
	opFrequency          = 0xf9 // one byte
	opAux                = 0xfa // name, value
	opResizeDB           = 0xfb // keys, keys with expiry: two lengths
	opExpireMillis       = 0xfc // Unix time of the next entry: 8 bytes, little endian
	opExpireSeconds      = 0xfd // the same, 4 bytes
	opSelectDB           = 0xfe // database: a length
	opEOF                = 0xff // checksum: 8 bytes, little endian, from version 5 on
	typeString      byte = 0
)

// A length begins with a byte whose upper two bits choose its form.
const (
	length6Bits   = 0x00 // in the lower bits
	length14Bits  = 0x40 // the upper ones in the lower bits, the rest in one more byte
	length32Bits  = 0x80 // in 4 bytes, big endian
	length64Bits  = 0x81 // in 8 bytes, big endian
	lengthSpecial = 0xc0 // no length but one of:

	stringInt8  = 0xc0 // a string that is a decimal number: 1 byte,
	stringInt16 = 0xc1 // 2 bytes,
	stringInt32 = 0xc2 // 4 bytes, little endian
	stringLZF   = 0xc3 // length in the file, true length, bytes
)

// maxIntegerDigits is the longest string that is looked at for being a 32-bit number.
const maxIntegerDigits = len("-2147483648")

func appendLength(dst []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(dst, byte(n))
	case n < 1<<14:
		return append(dst, length14Bits|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, length32Bits), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, length64Bits), n)
}

// appendString appends a string as Redis does, a small number in its integer form. It compresses nothing: a TAT is shorter
// than what Redis compresses, and a key is short.
func appendString(dst, s []byte) []byte {
	if len(s) <= maxIntegerDigits {
		if n, ok := resp.ParseRedisInt(s); ok && n == int64(int32(n)) {
			return appendInteger(dst, int32(n))
		}
	}
	return append(appendLength(dst, uint64(len(s))), s...)
}

func appendInteger(dst []byte, n int32) []byte {
	switch {
	case n == int32(int8(n)):
		return append(dst, stringInt8, byte(n))
	case n == int32(int16(n)):
		return binary.LittleEndian.AppendUint16(append(dst, stringInt16), uint16(n))
	}
	return binary.LittleEndian.AppendUint32(append(dst, stringInt32), uint32(n))
}

// appendTAT appends a TAT as the string of its decimal digits, which is what redis-cell stores.
func appendTAT(dst []byte, tatNanos int64) []byte {
	var digits [20]byte
	return appendString(dst, strconv.AppendInt(digits[:0], tatNanos, 10))
}

// ExpiryMillis returns the Unix milliseconds at which Redis is to forget a key: its TAT, rounded up, so that it is not
// forgotten while it still refuses calls.
func ExpiryMillis(tatNanos int64) int64 {
	const millisecond = 1e6
	millis := tatNanos / millisecond
	if tatNanos%millisecond > 0 {
		millis++
	}
	return millis
}

// AppendEntry appends an entry of an RDB file, for [RDBWriter.Write]: the expiry, the key and its TAT as a string.
func AppendEntry(dst, key []byte, tatNanos int64) []byte {
	dst = binary.LittleEndian.AppendUint64(append(dst, opExpireMillis), uint64(ExpiryMillis(tatNanos)))
	dst = appendString(append(dst, typeString), key)
	return appendTAT(dst, tatNanos)
}
