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
	for _, tat := range []int64{later, later + 1, math.MaxInt64} {
		if got, err := ParsePayload(AppendPayload(nil, tat), ExpiryMillis(tat), now); err != nil || got != tat {
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
	const laterMillis = later / 1e6
	sound := AppendPayload(nil, later)
	for i := range sound {
		damaged := append([]byte{}, sound...)
		damaged[i]++
		if _, err := ParsePayload(damaged, laterMillis, now); err != ErrPayload {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if _, err := ParsePayload(sound[:i], laterMillis, now); err != ErrPayload {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
	const tat = "\x00\x131900000100000000000"
	for _, c := range []struct {
		payload []byte
		want    error
	}{
		{payload(1, tat), nil},
		{payload(maxPayloadVersion, tat), nil},
		{payload(maxPayloadVersion+1, tat), ErrPayload},
		{payload(minValkeyVersion-1, tat), ErrPayload},
		{payload(minValkeyVersion, tat), nil},
		{payload(maxValkeyVersion, tat), nil},
		{payload(maxValkeyVersion+1, tat), ErrPayload},
		{payload(13, "\xf3\x01\x01\x02\x03\x04\x05\x03abc\x00"+tat), nil}, // with a module's metadata
		{payload(13, "\xf3\x01\x01\x02\x03"), ErrPayload},
		{payload(13, "\xf3\x00"), ErrPayload},
		{payload(10, ""), ErrPayload},
		{payload(10, "\x00"), ErrPayload},
		{payload(10, tat+"\x05"), ErrPayload},
		{payload(10, "\x00\xc4"), ErrPayload},
		{payload(10, "\x00\xc3\x09\x1b\x01aa\xe0\x0e\x00\x01aa"), ErrNotTAT}, // longer than any TAT
		{payload(10, "\x00\xc3\x04\x04\x0011"), ErrPayload},
		{payload(10, "\x00\x00"), ErrNotTAT},
		{payload(10, "\x00\xc0\x05"), ErrNotTAT},
		{payload(10, "\x00\x0205"), ErrNotTAT},
		{payload(10, "\x00\x141900000100000000000x"), ErrNotTAT},
		{payload(10, "\x01\x01\x01a"), ErrNotTAT},
	} {
		if _, err := ParsePayload(c.payload, laterMillis, now); !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.payload, err, c.want)
		}
		if _, err := ParsePayload(c.payload, 1, now); err != nil && c.want != ErrPayload {
			t.Errorf("%q, expired: %v", c.payload, err)
		}
	}
}

// TestParsePayloadComparesTheExpiry with the TAT.
func TestParsePayloadComparesTheExpiry(t *testing.T) {
	const laterMillis, nowMillis = later / 1e6, now / 1e6
	for _, c := range []struct {
		tat, expiry, want int64
		err               error
	}{
		{later, laterMillis, later, nil},
		{later, laterMillis + 1000, later, nil},
		{later, laterMillis - 1000, later, nil},
		{later, laterMillis + 1001, 0, ErrOtherExpiry},
		{later, laterMillis - 1001, 0, ErrOtherExpiry},
		{later, NoExpiry, 0, ErrNoExpiry},
		{5, NoExpiry, 0, ErrNotTAT},
		{5, laterMillis, 0, ErrNotTAT},
		{5, nowMillis - 1, 0, nil},
		{later, nowMillis - 1, 0, nil},
		{now, nowMillis, 0, nil},
		{now - second, nowMillis, 0, nil},
	} {
		if got, err := ParsePayload(AppendPayload(nil, c.tat), c.expiry, now); got != c.want || err != c.err {
			t.Errorf("%d until %d: %d, %v", c.tat, c.expiry, got, err)
		}
	}
}

func FuzzParsePayload(f *testing.F) {
	f.Add([]byte("\x00\x131900000100000000000"), uint16(10), int64(1900000100000))
	f.Add([]byte("\x00\xc3\x09\x1b\x01aa\xe0\x0e\x00\x01aa"), uint16(12), int64(NoExpiry))
	f.Fuzz(func(t *testing.T, value []byte, version uint16, expiry int64) {
		tat, err := ParsePayload(payload(version, string(value)), expiry, now)
		switch err {
		case nil:
			if tat != 0 && tat <= now {
				t.Error(tat)
			}
		case ErrPayload, ErrNotTAT, ErrNoExpiry, ErrOtherExpiry:
		default:
			t.Fatal(err)
		}
	})
}
