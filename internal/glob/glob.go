package glob

// Match says whether all of text fits a pattern, by Redis's rules: * any run of bytes, ? any one
// byte, [abc] [a-z] [^a] one of a class or none of it, \x the byte x. A class that is not closed ends with the pattern.
//
// Its time is bounded by len(pattern) * len(text): where a later * fails to match there is no going back before it.
// (Redis's own recursion takes exponential time for a pattern like a*a*a*a*b.)
func Match(pattern, text []byte) bool {
	afterStar, retry := -1, 0 // where to go on after the last *, and where in text it was tried last
	p, t := 0, 0
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			afterStar, retry = p, t
			continue
		}
		if p < len(pattern) {
			if width, ok := matchOne(pattern[p:], text[t]); ok {
				p += width
				t++
				continue
			}
		}
		if afterStar < 0 {
			return false
		}
		retry++
		p, t = afterStar, retry
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches one byte against the first element of a pattern and returns how long that element is.
func matchOne(pattern []byte, b byte) (width int, ok bool) {
	switch {
	case pattern[0] == '?':
		return 1, true
	case pattern[0] == '[':
		return matchClass(pattern, b)
	case pattern[0] == '\\' && len(pattern) > 1:
		return 2, pattern[1] == b
	}
	return 1, pattern[0] == b
}

func matchClass(pattern []byte, b byte) (width int, ok bool) {
	i := 1
	negated := i < len(pattern) && pattern[i] == '^'
	if negated {
		i++
	}
	found := false
	for i < len(pattern) && pattern[i] != ']' {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			found = found || pattern[i+1] == b
			i += 2
		case i+2 < len(pattern) && pattern[i+1] == '-':
			low, high := min(pattern[i], pattern[i+2]), max(pattern[i], pattern[i+2])
			found = found || low <= b && b <= high
			i += 3
		default:
			found = found || pattern[i] == b
			i++
		}
	}
	return min(i+1, len(pattern)), found != negated
}
