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

// The errors for sound payloads of what is no limiter's key.
const notTAT = "ERR the value is not a TAT: "

var (
	// ErrNotTAT is for a value of another type, or a string that is no TAT.
	ErrNotTAT = errors.New(notTAT + "a limiter key holds a decimal number of Unix nanoseconds and nothing else")
	// ErrNoExpiry is for a TAT without an expiry.
	ErrNoExpiry = errors.New(notTAT + "a limiter key has an expiry, which is its TAT, and this one has none")
	// ErrOtherExpiry is for a TAT with another expiry.
	ErrOtherExpiry = errors.New(notTAT + "a limiter key expires when its TAT is reached, and this one does not. Do the servers' clocks agree?")
)

// AppendPayload appends what DUMP returns for a key with this TAT: byte for byte what Redis 7.0 returns for redis-cell's key.
func AppendPayload(dst []byte, tatNanos int64) []byte {
	start := len(dst)
	dst = appendTAT(append(dst, typeString), tatNanos)
	dst = binary.LittleEndian.AppendUint16(dst, payloadVersion)
	return binary.LittleEndian.AppendUint64(dst, updateCRC(0, dst[start:]))
}

// ParsePayload reads what AppendPayload or any Redis up to 8.10 or Valkey up to 9.2 wrote of a limiter's key that expires at expiryMillis,
// [NoExpiry] if never. For a key that has expired, whatever it was, the TAT is 0. The errors are ErrPayload and those for other keys.
func ParsePayload(payload []byte, expiryMillis, nowNanos int64) (tatNanos int64, err error) {
	value, err := payloadString(payload)
	if err == ErrPayload {
		return 0, err
	}
	tatNanos, v := judge(value, expiryMillis, nowNanos)
	switch {
	case v == alive:
		return tatNanos, nil
	case v == hasExpired:
		return 0, nil
	case tatNanos == 0:
		return 0, ErrNotTAT
	case expiryMillis == NoExpiry:
		return 0, ErrNoExpiry
	}
	return 0, ErrOtherExpiry
}

// payloadString returns the string that a payload is of. Another value, or a string longer than any TAT, is ErrNotTAT.
func payloadString(payload []byte) (value []byte, err error) {
	end := len(payload) - payloadFooterBytes
	if end < 1 {
		return nil, ErrPayload
	}
	footer := payload[end:]
	version := binary.LittleEndian.Uint16(footer)
	known := version <= maxPayloadVersion || version >= minValkeyVersion && version <= maxValkeyVersion
	if !known || binary.LittleEndian.Uint64(footer[2:]) != updateCRC(0, payload[:len(payload)-8]) {
		return nil, ErrPayload
	}
	in := newRDBInput(bytes.NewReader(payload[:end]))
	kind, err := in.byte()
	if err == nil && kind == opKeyMetadata {
		if err = in.skipKeyMetadata(); err == nil {
			kind, err = in.byte()
		}
	}
	if err != nil {
		return nil, ErrPayload
	}
	if kind != typeString {
		return nil, ErrNotTAT
	}
	value, tooLong, err := in.string(maxTATBytes)
	if err != nil || in.consumed() != int64(end) {
		return nil, ErrPayload
	}
	if tooLong {
		return nil, ErrNotTAT
	}
	return value, nil
}
