package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// The limits of Lua's patterns.
const (
	maxCaptures     = 32
	maxPatternDepth = 200 // of recursion: Redis's Lua calls deeper ones too complex
)

// The lengths of captures that are none.
const (
	captureOpen     = -1
	capturePosition = -2
)

// matcher matches a pattern of Lua at one place of a text after the other. It backtracks, so each step is charged.
type matcher struct {
	r        *Runtime
	L        *lua.LState
	text     string
	pattern  string
	depth    int
	captures []capture
}

type capture struct{ start, length int }

func (m *matcher) fail(text string) {
	raise(m.L, "%s", text)
}

// match matches the pattern from p on at s and returns the end of the match, or -1.
func (m *matcher) match(s, p int) int {
	if m.depth++; m.depth > maxPatternDepth {
		m.fail("pattern too complex")
	}
	defer func() { m.depth-- }()
	m.r.guard.charge(m.L, 1)
	for p < len(m.pattern) {
		m.r.guard.charge(m.L, 16)
		switch m.pattern[p] {
		case '(':
			if p+1 < len(m.pattern) && m.pattern[p+1] == ')' {
				return m.open(s, p+2, capturePosition)
			}
			return m.open(s, p+1, captureOpen)
		case ')':
			return m.close(s, p+1)
		case '$':
			if p+1 == len(m.pattern) {
				if s == len(m.text) {
					return s
				}
				return -1
			}
		case '%':
			if p+1 < len(m.pattern) {
				if end, next, known := m.escape(s, p); known {
					if end < 0 {
						return -1
					}
					s, p = end, next
					continue
				}
			}
		}
		end := m.classEnd(p)
		suffix := byte(0)
		if end < len(m.pattern) {
			suffix = m.pattern[end]
		}
		switch suffix {
		case '?':
			if m.single(s, p, end) {
				if e := m.match(s+1, end+1); e >= 0 {
					return e
				}
			}
			p = end + 1
		case '*':
			return m.longest(s, p, end)
		case '+':
			if !m.single(s, p, end) {
				return -1
			}
			return m.longest(s+1, p, end)
		case '-':
			return m.shortest(s, p, end)
		default:
			if !m.single(s, p, end) {
				return -1
			}
			s, p = s+1, end
		}
	}
	return s
}

// escape handles %b, %f and %1 to %9: it returns where they end in the text, or -1, and where the pattern goes on. Others are
// classes, not known here.
func (m *matcher) escape(s, p int) (end, next int, known bool) {
	switch c := m.pattern[p+1]; {
	case c == 'b':
		return m.balanced(s, p+2), p + 4, true
	case c == 'f':
		end = m.frontier(s, p+2)
		return end, m.classEnd(p + 2), true
	case '0' <= c && c <= '9':
		return m.backReference(s, c), p + 2, true
	}
	return 0, 0, false
}

func (m *matcher) balanced(s, p int) int {
	if p+1 >= len(m.pattern) {
		m.fail("unbalanced pattern")
	}
	if s >= len(m.text) || m.text[s] != m.pattern[p] {
		return -1
	}
	begin, end := m.pattern[p], m.pattern[p+1]
	depth := 1
	for i := s + 1; i < len(m.text); i++ {
		m.r.guard.charge(m.L, 1)
		switch m.text[i] {
		case end:
			if depth--; depth == 0 {
				return i + 1
			}
		case begin:
			depth++
		}
	}
	return -1
}

func (m *matcher) frontier(s, p int) int {
	if p >= len(m.pattern) || m.pattern[p] != '[' {
		m.fail("missing '[' after '%f' in pattern")
	}
	end := m.classEnd(p)
	var before, after byte
	if s > 0 {
		before = m.text[s-1]
	}
	if s < len(m.text) {
		after = m.text[s]
	}
	if m.inSet(before, p, end-1) || !m.inSet(after, p, end-1) {
		return -1
	}
	return s
}

func (m *matcher) backReference(s int, digit byte) int {
	i := int(digit) - '1'
	if i < 0 || i >= len(m.captures) || m.captures[i].length == captureOpen {
		m.fail("invalid capture index")
	}
	c := m.captures[i]
	length := max(c.length, 0)
	if len(m.text)-s < length || m.text[c.start:c.start+length] != m.text[s:s+length] {
		return -1
	}
	return s + length
}

func (m *matcher) open(s, p, length int) int {
	if len(m.captures) == maxCaptures {
		m.fail("too many captures")
	}
	m.captures = append(m.captures, capture{s, length})
	end := m.match(s, p)
	if end < 0 {
		m.captures = m.captures[:len(m.captures)-1]
	}
	return end
}

func (m *matcher) close(s, p int) int {
	i := len(m.captures) - 1
	for i >= 0 && m.captures[i].length != captureOpen {
		i--
	}
	if i < 0 {
		m.fail("invalid pattern capture")
	}
	m.captures[i].length = s - m.captures[i].start
	end := m.match(s, p)
	if end < 0 {
		m.captures[i].length = captureOpen
	}
	return end
}

func (m *matcher) longest(s, p, end int) int {
	n := 0
	for m.single(s+n, p, end) {
		m.r.guard.charge(m.L, 1)
		n++
	}
	for ; n >= 0; n-- {
		if e := m.match(s+n, end+1); e >= 0 {
			return e
		}
	}
	return -1
}

func (m *matcher) shortest(s, p, end int) int {
	for {
		if e := m.match(s, end+1); e >= 0 {
			return e
		}
		if !m.single(s, p, end) {
			return -1
		}
		s++
	}
}

// classEnd returns the end of the character class that begins at p.
func (m *matcher) classEnd(p int) int {
	c := m.pattern[p]
	p++
	if c == '%' {
		if p == len(m.pattern) {
			m.fail("malformed pattern (ends with '%')")
		}
		return p + 1
	}
	if c != '[' {
		return p
	}
	if p < len(m.pattern) && m.pattern[p] == '^' {
		p++
	}
	for first := true; first || p >= len(m.pattern) || m.pattern[p] != ']'; first = false {
		if p >= len(m.pattern) {
			m.fail("malformed pattern (missing ']')")
		}
		if m.pattern[p] == '%' {
			p++
		}
		p++
	}
	return p + 1
}

// single tells whether one character of the text is in the class from p to end.
func (m *matcher) single(s, p, end int) bool {
	if s >= len(m.text) {
		return false
	}
	c := m.text[s]
	switch m.pattern[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pattern[p+1])
	case '[':
		return m.inSet(c, p, end-1)
	}
	return m.pattern[p] == c
}

// inSet is for [set], whose ']' is at last.
func (m *matcher) inSet(c byte, p, last int) bool {
	found := true
	if p++; p < last && m.pattern[p] == '^' {
		found = false
		p++
	}
	for ; p < last; p++ {
		switch {
		case m.pattern[p] == '%':
			p++
			if inClass(c, m.pattern[p]) {
				return found
			}
		case p+2 < last && m.pattern[p+1] == '-':
			if m.pattern[p] <= c && c <= m.pattern[p+2] {
				return found
			}
			p += 2
		case m.pattern[p] == c:
			return found
		}
	}
	return !found
}

// inClass is for %a and the like, in the C locale.
func inClass(c, class byte) bool {
	var in bool
	letter := toLower(c) >= 'a' && toLower(c) <= 'z'
	digit := '0' <= c && c <= '9'
	switch toLower(class) {
	case 'a':
		in = letter
	case 'c':
		in = c < ' ' || c == 127
	case 'd':
		in = digit
	case 'l':
		in = 'a' <= c && c <= 'z'
	case 'p':
		in = c > ' ' && c < 127 && !letter && !digit
	case 's':
		in = c == ' ' || '\t' <= c && c <= '\r'
	case 'u':
		in = 'A' <= c && c <= 'Z'
	case 'w':
		in = letter || digit
	case 'x':
		in = digit || toLower(c) >= 'a' && toLower(c) <= 'f'
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	return in != ('A' <= class && class <= 'Z')
}

// captured returns capture i; where there are none, the whole match is the first.
func (m *matcher) captured(i, start, end int) lua.LValue {
	if i >= len(m.captures) {
		if i != 0 {
			m.fail("invalid capture index")
		}
		return lua.LString(m.text[start:end])
	}
	c := m.captures[i]
	switch c.length {
	case capturePosition:
		return lua.LNumber(c.start + 1)
	case captureOpen:
		m.fail("unfinished capture")
	}
	return lua.LString(m.text[c.start : c.start+c.length])
}

// push pushes all captures, or the whole match where there are none and the match is wanted.
func (m *matcher) push(start, end int, whole bool) int {
	n := len(m.captures)
	if n == 0 && whole {
		n = 1
	}
	for i := range n {
		m.L.Push(m.captured(i, start, end))
	}
	return n
}

// isPlain tells whether a pattern is a text like any other.
func isPlain(pattern string) bool { return !strings.ContainsAny(pattern, "^$*+?.([%-") }
