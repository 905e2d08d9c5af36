package script

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// numberDigits is Lua's precision for numbers as text, redisDigits that of redis.call for its arguments.
const (
	numberDigits = 14
	redisDigits  = 17
	// numberBytes is enough for any number in either.
	numberBytes = 32
)

// appendNumber appends a number in C's %.<digits>g.
func appendNumber(dst []byte, f float64, digits int) []byte {
	if i := int64(f); float64(i) == f && i > -1e14 && i < 1e14 && (i != 0 || !math.Signbit(f)) {
		return strconv.AppendInt(dst, i, 10)
	}
	return appendFloat(dst, f, 'g', digits)
}

// appendFloat is strconv.AppendFloat with C's words for infinity and for what is no number.
func appendFloat(dst []byte, f float64, format byte, digits int) []byte {
	switch {
	case math.IsNaN(f) && math.Signbit(f):
		return append(dst, "-nan"...)
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, f, format, digits, 64)
}

func numberText(n lua.LNumber) string {
	var memory [numberBytes]byte
	return string(appendNumber(memory[:0], float64(n), numberDigits))
}

// parseNumber is Lua's conversion of a string: C's strtod, the whole string but for white space around it.
func parseNumber(s string) (lua.LNumber, bool) {
	s = strings.Trim(s, " \t\n\v\f\r")
	if s == "" || len(s) > maxNumberBytes || strings.ContainsRune(s, '_') {
		return 0, false
	}
	digits := strings.TrimLeft(s, "+-")
	if len(digits) > 2 && (digits[:2] == "0x" || digits[:2] == "0X") && !strings.ContainsAny(digits, "pP") {
		s += "p0"
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !isRangeError(err) {
		return 0, false
	}
	return lua.LNumber(f), true
}

func isRangeError(err error) bool {
	e, ok := err.(*strconv.NumError)
	return ok && e.Err == strconv.ErrRange
}

// toInteger converts as C does on the machines Redis runs on: towards zero, and what does not fit becomes the least integer.
func toInteger(f float64) int64 {
	if f >= -(1<<63) && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}

// parseBase is C's strtoul, the whole string but for white space around it.
func parseBase(s string, base int) lua.LValue {
	s = strings.Trim(s, " \t\n\v\f\r")
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimLeft(s, "+-")
	if base == 16 && len(s) > 2 && (s[:2] == "0x" || s[:2] == "0X") {
		s = s[2:]
	}
	if len(s) > maxNumberBytes {
		return lua.LNil
	}
	n, err := strconv.ParseUint(s, base, 64)
	if err != nil && !isRangeError(err) {
		return lua.LNil
	}
	if negative {
		n = -n
	}
	return lua.LNumber(n)
}
