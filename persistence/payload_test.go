package persistence

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

// TestPayload has what Redis 7.0.15 answers to DUMP.
func TestPayload(t *testing.T) {
	for tat, want := range map[int64]string{
		1900000000000000000: "\x00\x131900000000000000000\n\x00\x92\xa37Y\xf9\xc3\xae+",
		5:                   "\x00\xc0\x05\n\x00c/_f\x83/\xb3Q",
	} {
		if got := AppendPayload([]byte("x"), tat); string(got) != "x"+want {
			t.Errorf("payload of %d is %q, want %q", tat, got[1:], want)
		}
	}
	for _, tat := range []int64{0, 127, 128, -129, math.MaxInt16, math.MaxInt16 + 1, math.MaxInt32, math.MinInt32, math.MaxInt32 + 1,
		math.MaxInt64, math.MinInt64} {
		if got, err := ParsePayload(AppendPayload(nil, tat)); err != nil || got != tat {
			t.Errorf("%d comes back as %d, %v", tat, got, err)
		}
	}
}

// payload makes one with a valid footer.
func payload(version uint16, value string) []byte {
	p := binary.LittleEndian.AppendUint16([]byte(value), version)
	return binary.LittleEndian.AppendUint64(p, updateCRC(0, p))
}

func TestParsePayloadRefuses(t *testing.T) {
	sound := AppendPayload(nil, later)
	for i := range sound {
		damaged := append([]byte{}, sound...)
		damaged[i]++
		if _, err := ParsePayload(damaged); err != ErrPayload {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if _, err := ParsePayload(sound[:i]); err != ErrPayload {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
	for _, c := range []struct {
		payload []byte
		want    error
	}{
		{payload(1, "\x00\xc0\x05"), nil},
		{payload(maxPayloadVersion, "\x00\xc0\x05"), nil},
		{payload(maxPayloadVersion+1, "\x00\xc0\x05"), ErrPayload},
		{payload(minValkeyVersion-1, "\x00\xc0\x05"), ErrPayload},
		{payload(minValkeyVersion, "\x00\xc0\x05"), nil},
		{payload(maxValkeyVersion, "\x00\xc0\x05"), nil},
		{payload(maxValkeyVersion+1, "\x00\xc0\x05"), ErrPayload},
		{payload(10, ""), ErrPayload},
		{payload(10, "\x00"), ErrPayload},
		{payload(10, "\x00\xc0\x05\x05"), ErrPayload},
		{payload(10, "\x00\xc4"), ErrPayload},
		{payload(10, "\x00\xc3\x09\x1b\x01aa\xe0\x0e\x00\x01aa"), ErrNotTAT}, // longer than any TAT
		{payload(10, "\x00\xc3\x04\x04\x0011"), ErrPayload},
		{payload(10, "\x00\x00"), ErrNotTAT},
		{payload(10, "\x00\x0205"), ErrNotTAT},
		{payload(10, "\x01\x01\x01a"), ErrNotTAT},
	} {
		if _, err := ParsePayload(c.payload); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.payload, err, c.want)
		}
	}
}

func FuzzParsePayload(f *testing.F) {
	f.Add([]byte("\x00\x131900000000000000000"), uint16(10))
	f.Add([]byte("\x00\xc3\x09\x1b\x01aa\xe0\x0e\x00\x01aa"), uint16(12))
	f.Fuzz(func(t *testing.T, value []byte, version uint16) {
		tat, err := ParsePayload(payload(version, string(value)))
		if err != nil && err != ErrPayload && err != ErrNotTAT {
			t.Fatal(err)
		}
		if again, err2 := ParsePayload(AppendPayload(nil, tat)); err == nil && (err2 != nil || again != tat) {
			t.Errorf("%d comes back as %d, %v", tat, again, err2)
		}
	})
}
