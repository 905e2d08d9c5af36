package persistence

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// The payload that DUMP returns and RESTORE takes is the value as in an RDB file and a footer:
//
//	type byte | value | version uint16 | CRC64 of all before it uint64     little endian
const (
	payloadFooterBytes = 2 + 8
	// payloadVersion is Redis 7.0's. Receivers take every version up to their own.
	payloadVersion = 10
	// maxPayloadVersion is the newest whose strings are known to look the same, Redis 8.10's. Valkey counts from minValkeyVersion on
	// since its version 9.
	maxPayloadVersion = 15
	minValkeyVersion  = 80
	maxValkeyVersion  = 81
)

// ErrPayload is for a payload that is damaged or of a version not known; the reply is Redis's.
var ErrPayload = errors.New("ERR DUMP payload version or checksum are wrong")

// ErrNotTAT is for a sound payload of a value that is no TAT: of another type, or a string that is no integer.
var ErrNotTAT = errors.New("ERR the value is not a TAT: only a string that is an integer of nanoseconds can be restored")

// AppendPayload appends what DUMP returns for a key with this TAT: byte for byte what Redis 7.0 returns for redis-cell's key.
func AppendPayload(dst []byte, tatNanos int64) []byte {
	start := len(dst)
	dst = appendTAT(append(dst, typeString), tatNanos)
	dst = binary.LittleEndian.AppendUint16(dst, payloadVersion)
	return binary.LittleEndian.AppendUint64(dst, updateCRC(0, dst[start:]))
}

// ParsePayload reads what AppendPayload or any Redis up to 8.10 or Valkey up to 9.2 wrote. The errors are ErrPayload and ErrNotTAT.
func ParsePayload(payload []byte) (tatNanos int64, err error) {
	end := len(payload) - payloadFooterBytes
	if end < 1 {
		return 0, ErrPayload
	}
	footer := payload[end:]
	version := binary.LittleEndian.Uint16(footer)
	known := version <= maxPayloadVersion || version >= minValkeyVersion && version <= maxValkeyVersion
	if !known || binary.LittleEndian.Uint64(footer[2:]) != updateCRC(0, payload[:len(payload)-8]) {
		return 0, ErrPayload
	}
	if payload[0] != typeString {
		return 0, ErrNotTAT
	}
	in := newRDBInput(bytes.NewReader(payload[1:end]))
	digits, tooLong, err := in.string(maxTATBytes)
	if err != nil || in.consumed() != int64(end-1) {
		return 0, ErrPayload
	}
	tatNanos, ok := parseTAT(digits)
	if tooLong || !ok {
		return 0, ErrNotTAT
	}
	return tatNanos, nil
}
