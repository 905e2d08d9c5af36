package resp

import "math"

// ParseInt parses an argument of CL.THROTTLE: decimal digits with an optional
// sign that fit an int64, and nothing else. It is the rule of Rust's
// str::parse::<i64>, which redis-cell follows: "+5", "007" and "-0" pass,
// " 1", "1.0", "" and "+" do not.
func ParseInt(b []byte) (n int64, ok bool) {
	limit := uint64(math.MaxInt64)
	digits := b
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		limit++
	}
	if negative || len(b) > 0 && b[0] == '+' {
		digits = b[1:]
	}
	if len(digits) == 0 {
		return 0, false
	}
	var u uint64
	for _, c := range digits {
		c -= '0'
		if c > 9 || u > math.MaxInt64/10 {
			return 0, false
		}
		u = u*10 + uint64(c)
	}
	if u > limit {
		return 0, false
	}
	if negative {
		return -int64(u), true
	}
	return int64(u), true
}

// ParseRedisInt parses an integer as Redis itself does (its string2ll): like ParseInt, but every number has only one
// spelling, without a plus, leading zeros or "-0".
func ParseRedisInt(b []byte) (n int64, ok bool) {
	digits := b
	if len(b) > 1 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || digits[0]-'1' > 8 {
		return 0, len(b) == 1 && b[0] == '0'
	}
	return ParseInt(b)
}
