package resp

import (
	"math"
	"strconv"
	"testing"
)

func TestParseIntegers(t *testing.T) {
	for _, test := range []struct {
		text      string
		n         int64
		ok, redis bool // whether ParseInt and ParseRedisInt take it
	}{
		{"0", 0, true, true},
		{"7", 7, true, true},
		{"-7", -7, true, true},
		{"60", 60, true, true},
		{"1000000000", 1000000000, true, true},
		{"9223372036854775807", math.MaxInt64, true, true},
		{"-9223372036854775808", math.MinInt64, true, true},
		{"+5", 5, true, false},
		{"007", 7, true, false},
		{"-007", -7, true, false},
		{"-0", 0, true, false},
		{"+0", 0, true, false},
		{"00", 0, true, false},
		{"+9223372036854775807", math.MaxInt64, true, false},
		{"000000000000000000000000000000009223372036854775807", math.MaxInt64, true, false},
		{"9223372036854775808", 0, false, false},
		{"-9223372036854775809", 0, false, false},
		{"+9223372036854775808", 0, false, false},
		{"9223372036854775810", 0, false, false},
		{"18446744073709551616", 0, false, false},
		{"18446744073709551617", 0, false, false},
		{"92233720368547758070", 0, false, false},
		{"99999999999999999999999999", 0, false, false},
		{"", 0, false, false},
		{"+", 0, false, false},
		{"-", 0, false, false},
		{"--1", 0, false, false},
		{"+-1", 0, false, false},
		{" 1", 0, false, false},
		{"1 ", 0, false, false},
		{"1.0", 0, false, false},
		{"1e3", 0, false, false},
		{"0x1", 0, false, false},
		{"1_000", 0, false, false},
		{"1\x00", 0, false, false},
		{"/", 0, false, false},
		{":", 0, false, false},
		{"\u0661", 0, false, false},
	} {
		if n, ok := ParseInt([]byte(test.text)); n != test.n || ok != test.ok {
			t.Errorf("ParseInt(%q) = %d, %v", test.text, n, ok)
		}
		want := test.n
		if !test.redis {
			want = 0
		}
		if n, ok := ParseRedisInt([]byte(test.text)); n != want || ok != test.redis {
			t.Errorf("ParseRedisInt(%q) = %d, %v", test.text, n, ok)
		}
	}
}

// FuzzParseIntegers: strconv.ParseInt in base 10 has ParseInt's rule, and
// Redis's is that the number is written as it would be printed.
func FuzzParseIntegers(f *testing.F) {
	f.Add("-9223372036854775808")
	f.Add("+09")
	f.Fuzz(func(t *testing.T, text string) {
		want, err := strconv.ParseInt(text, 10, 64)
		n, ok := ParseInt([]byte(text))
		if ok != (err == nil) || ok && n != want {
			t.Errorf("ParseInt(%q) = %d, %v", text, n, ok)
		}
		n, ok = ParseRedisInt([]byte(text))
		if ok != (err == nil && strconv.FormatInt(want, 10) == text) || ok && n != want {
			t.Errorf("ParseRedisInt(%q) = %d, %v", text, n, ok)
		}
	})
}
