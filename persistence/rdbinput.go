package persistence

import (
	"encoding/binary"
	"errors"
	"io"
	"strconv"
)

const (
	// inputBytes is how much is read at once. It holds the longest string that is looked at, MaxKeyBytes compressed badly.
	inputBytes = 128 << 10
	// MaxKeyBytes is the longest key that is loaded: the keyspace's limit. Longer ones are counted and left out.
	MaxKeyBytes = 1<<16 - 1
	// maxTATBytes is the longest string that can be an int64.
	maxTATBytes = len("-9223372036854775808")
)

var (
	errNotALength = errors.New("an encoded string where a length should be")
	errTruncated  = errors.New("unexpected end of file")
)

// rdbInput reads the parts that an RDB file is made of. It holds inputBytes whatever lengths the file claims.
type rdbInput struct {
	source   io.Reader
	buf      []byte
	pos, end int    // buf[pos:end] is to be read
	hashed   int    // buf[:hashed] is in crc
	crc      uint64 // of what was read before buf[hashed]
	before   int64  // bytes read before buf[0]
	refilled func(consumed int64) error
	trouble  error  // of source or refilled, not of what source holds
	scratch  []byte // an integer's digits or an uncompressed string
}

func newRDBInput(source io.Reader) *rdbInput {
	return &rdbInput{source: source, buf: make([]byte, inputBytes), refilled: func(int64) error { return nil }}
}

// consumed is the offset of the next byte.
func (in *rdbInput) consumed() int64 { return in.before + int64(in.pos) }

// checksum is the CRC64 of all bytes consumed.
func (in *rdbInput) checksum() uint64 {
	in.crc = updateCRC(in.crc, in.buf[in.hashed:in.pos])
	in.hashed = in.pos
	return in.crc
}

// next returns the next n bytes, at most inputBytes. They are good until the next call.
func (in *rdbInput) next(n int) ([]byte, error) {
	for in.end-in.pos < n {
		if err := in.fill(); err != nil {
			return nil, err
		}
	}
	in.pos += n
	return in.buf[in.pos-n : in.pos], nil
}

func (in *rdbInput) fill() error {
	if in.pos > 0 {
		in.checksum()
		in.before += int64(in.pos)
		in.end = copy(in.buf, in.buf[in.pos:in.end])
		in.pos, in.hashed = 0, 0
	}
	n, err := io.ReadAtLeast(in.source, in.buf[in.end:], 1)
	in.end += n
	if errors.Is(err, io.EOF) {
		return errTruncated
	}
	if err == nil {
		err = in.refilled(in.before)
	}
	in.trouble = err
	return err
}

func (in *rdbInput) skip(n uint64) error {
	for n > 0 {
		step := min(n, inputBytes)
		if _, err := in.next(int(step)); err != nil {
			return err
		}
		n -= step
	}
	return nil
}

func (in *rdbInput) byte() (byte, error) {
	b, err := in.next(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

func (in *rdbInput) uint32() (uint32, error) {
	b, err := in.next(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (in *rdbInput) uint64() (uint64, error) {
	b, err := in.next(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// length reads a length or, if that is what stands there, the first byte of a string in a special form.
func (in *rdbInput) length() (n uint64, special byte, err error) {
	first, err := in.byte()
	if err != nil {
		return 0, 0, err
	}
	switch {
	case first < length14Bits:
		return uint64(first), 0, nil
	case first < length32Bits:
		low, err := in.byte()
		return uint64(first&0x3f)<<8 | uint64(low), 0, err
	case first == length32Bits:
		b, err := in.next(4)
		if err != nil {
			return 0, 0, err
		}
		return uint64(binary.BigEndian.Uint32(b)), 0, nil
	case first == length64Bits:
		b, err := in.next(8)
		if err != nil {
			return 0, 0, err
		}
		return binary.BigEndian.Uint64(b), 0, nil
	case first >= lengthSpecial && first <= stringLZF:
		return 0, first, nil
	}
	return 0, 0, errors.New("unknown form of length 0x" + strconv.FormatUint(uint64(first), 16))
}

// plainLength reads what can only be a length.
func (in *rdbInput) plainLength() (uint64, error) {
	n, special, err := in.length()
	if err == nil && special != 0 {
		err = errNotALength
	}
	return n, err
}

// skipLengths passes over count lengths.
func (in *rdbInput) skipLengths(count int) error {
	for range count {
		if _, err := in.plainLength(); err != nil {
			return err
		}
	}
	return nil
}

// string reads a string of at most maxBytes, which is at most MaxKeyBytes. It is good until the next call. A longer one is
// passed over and reported as tooLong.
func (in *rdbInput) string(maxBytes int) (s []byte, tooLong bool, err error) {
	n, special, err := in.length()
	switch {
	case err != nil:
		return nil, false, err
	case special == stringLZF:
		return in.compressed(maxBytes)
	case special != 0:
		s, err = in.integer(special)
		return s, len(s) > maxBytes, err
	case n > uint64(maxBytes):
		return nil, true, in.skip(n)
	}
	s, err = in.next(int(n))
	return s, false, err
}

func (in *rdbInput) integer(form byte) ([]byte, error) {
	b, err := in.next(1 << (form & 3))
	if err != nil {
		return nil, err
	}
	var n int64
	switch form {
	case stringInt8:
		n = int64(int8(b[0]))
	case stringInt16:
		n = int64(int16(binary.LittleEndian.Uint16(b)))
	case stringInt32:
		n = int64(int32(binary.LittleEndian.Uint32(b)))
	}
	in.scratch = strconv.AppendInt(in.scratch[:0], n, 10)
	return in.scratch, nil
}

// compressed reads the rest of an LZF string. LZF never takes more than 33 bytes for 32, so what is longer is damaged.
func (in *rdbInput) compressed(maxBytes int) (s []byte, tooLong bool, err error) {
	stored, err := in.plainLength()
	if err != nil {
		return nil, false, err
	}
	size, err := in.plainLength()
	if err != nil {
		return nil, false, err
	}
	if size > uint64(maxBytes) {
		return nil, true, in.skip(stored)
	}
	if stored > size+size/32+1 {
		return nil, false, errLZF
	}
	compressed, err := in.next(int(stored))
	if err != nil {
		return nil, false, err
	}
	in.scratch, err = appendLZF(in.scratch[:0], compressed, int(size))
	return in.scratch, false, err
}

// skipStrings passes over count strings of any length. A count that is a lie ends with the file, for no string is empty there.
func (in *rdbInput) skipStrings(count uint64) error {
	for range count {
		n, special, err := in.length()
		switch {
		case err != nil:
			return err
		case special == stringLZF:
			if n, err = in.plainLength(); err == nil {
				err = in.skipLengths(1)
			}
		case special != 0:
			n = 1 << (special & 3)
		}
		if err == nil {
			err = in.skip(n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
