package script

import (
	"strconv"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

// jsonKind is what a token is, by cjson's name for it in errors.
type jsonKind string

const (
	jsonObjectBegin jsonKind = "T_OBJ_BEGIN"
	jsonObjectEnd   jsonKind = "T_OBJ_END"
	jsonArrayBegin  jsonKind = "T_ARR_BEGIN"
	jsonArrayEnd    jsonKind = "T_ARR_END"
	jsonString      jsonKind = "T_STRING"
	jsonNumber      jsonKind = "T_NUMBER"
	jsonBoolean     jsonKind = "T_BOOLEAN"
	jsonNull        jsonKind = "T_NULL"
	jsonColon       jsonKind = "T_COLON"
	jsonComma       jsonKind = "T_COMMA"
	jsonEnd         jsonKind = "T_END"
)

type jsonToken struct {
	kind  jsonKind // or what is wrong
	at    int      // from 0
	value lua.LValue
}

type jsonDecoder struct {
	r  *Runtime
	L  *lua.LState
	in string
	at int
}

func (r *Runtime) jsonDecode(L *lua.LState) int {
	if L.GetTop() != 1 {
		argError(L, 1, "decode", "expected 1 argument")
	}
	d := jsonDecoder{r: r, L: L, in: argString(L, 1, "decode")}
	if len(d.in) >= 2 && (d.in[0] == 0 || d.in[1] == 0) {
		raise(L, "JSON parser does not support UTF-16 or UTF-32")
	}
	v := d.value(d.next(), 0)
	if t := d.next(); t.kind != jsonEnd {
		d.unexpected("the end", t)
	}
	L.Push(v)
	return 1
}

func (d *jsonDecoder) unexpected(wanted string, t jsonToken) {
	raise(d.L, "Expected %s but found %s at character %d", wanted, t.kind, t.at+1)
}

func (d *jsonDecoder) value(t jsonToken, depth int) lua.LValue {
	switch t.kind {
	case jsonString, jsonNumber, jsonBoolean:
		return t.value
	case jsonNull:
		return d.r.sandbox.null
	case jsonObjectBegin, jsonArrayBegin:
		if depth++; depth > min(d.r.json.decodeMaxDepth, maxJSONDepth) {
			raise(d.L, "Found too many nested data structures (%d) at character %d", depth, d.at)
		}
		if t.kind == jsonObjectBegin {
			return d.object(depth)
		}
		return d.array(depth)
	}
	d.unexpected("value", t)
	return lua.LNil
}

func (d *jsonDecoder) object(depth int) lua.LValue {
	table := d.L.CreateTable(0, 0)
	t := d.next()
	if t.kind == jsonObjectEnd {
		return table
	}
	for {
		if t.kind != jsonString {
			d.unexpected("object key string", t)
		}
		key := t.value
		if t = d.next(); t.kind != jsonColon {
			d.unexpected("colon", t)
		}
		table.RawSet(key, d.value(d.next(), depth))
		switch t = d.next(); t.kind {
		case jsonObjectEnd:
			return table
		case jsonComma:
			t = d.next()
		default:
			d.unexpected("comma or object end", t)
		}
	}
}

func (d *jsonDecoder) array(depth int) lua.LValue {
	table := d.L.CreateTable(0, 0)
	t := d.next()
	if t.kind == jsonArrayEnd {
		return table
	}
	for i := 1; ; i++ {
		d.r.add(d.L, table, i, d.value(t, depth))
		switch t = d.next(); t.kind {
		case jsonArrayEnd:
			return table
		case jsonComma:
			t = d.next()
		default:
			d.unexpected("comma or array end", t)
		}
	}
}

func (d *jsonDecoder) next() jsonToken {
	for d.at < len(d.in) && strings.IndexByte(" \t\n\r", d.in[d.at]) >= 0 {
		d.at++
	}
	d.r.guard.charge(d.L, 16)
	t := jsonToken{at: d.at}
	if d.at == len(d.in) {
		t.kind = jsonEnd
		return t
	}
	switch c := d.in[d.at]; {
	case strings.IndexByte("{}[]:,", c) >= 0:
		t.kind = map[byte]jsonKind{'{': jsonObjectBegin, '}': jsonObjectEnd, '[': jsonArrayBegin, ']': jsonArrayEnd,
			':': jsonColon, ',': jsonComma}[c]
		d.at++
	case c == '"':
		d.text(&t)
	case d.word("true"), d.word("false"):
		t.kind, t.value = jsonBoolean, lua.LBool(c == 't')
	case d.word("null"):
		t.kind = jsonNull
	default:
		d.number(&t)
	}
	return t
}

func (d *jsonDecoder) word(w string) bool {
	if !strings.HasPrefix(d.in[d.at:], w) {
		return false
	}
	d.at += len(w)
	return true
}

const jsonInvalidToken jsonKind = "invalid token"

// number takes what C's strtod takes, if it begins like a number: hexadecimal, inf and nan too, unless they are refused.
func (d *jsonDecoder) number(t *jsonToken) {
	t.kind = jsonInvalidToken
	rest := d.in[d.at:]
	if !d.r.json.decodeInvalid && strings.IndexByte("-0123456789", rest[0]) < 0 {
		return
	}
	digits := strings.TrimLeft(rest[:1], "+-")
	if digits == "" && len(rest) > 1 {
		digits = rest[1:2]
	}
	if digits == "" || strings.IndexByte("0123456789iInN", digits[0]) < 0 {
		return
	}
	if !d.r.json.decodeInvalid && isInvalidNumber(rest) {
		t.kind = "invalid number"
		return
	}
	length := numberLength(rest)
	n, ok := parseNumber(rest[:length])
	if !ok {
		return
	}
	t.kind, t.value = jsonNumber, n
	d.at += length
}

// isInvalidNumber tells what cjson takes though JSON does not: leading zeros, hexadecimal, -inf and -nan.
func isInvalidNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	if strings.HasPrefix(s, "0") {
		return len(s) > 1 && strings.IndexByte("0123456789xX", s[1]) >= 0
	}
	return s == "" || s[0] > '9'
}

// numberLength is how much of s C's strtod reads.
func numberLength(s string) int {
	i := 0
	skip := func(set string) (n int) {
		for i < len(s) && strings.IndexByte(set, s[i]) >= 0 {
			i++
			n++
		}
		return n
	}
	if s[0] == '-' || s[0] == '+' {
		i++
	}
	lower := strings.ToLower(s[i:min(len(s), i+8)])
	for _, word := range []string{"infinity", "inf", "nan"} {
		if strings.HasPrefix(lower, word) {
			return i + len(word)
		}
	}
	if strings.HasPrefix(lower, "0x") {
		i += 2
		skip("0123456789abcdefABCDEF")
		return i
	}
	const decimal = "0123456789"
	skip(decimal)
	if i < len(s) && s[i] == '.' {
		i++
		skip(decimal)
	}
	if end := i; i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if skip(decimal) == 0 {
			return end
		}
	}
	return i
}

func (d *jsonDecoder) text(t *jsonToken) {
	var out []byte
	for i := d.at + 1; i < len(d.in); {
		out = d.r.room(d.L, out, utf8.UTFMax)
		switch c := d.in[i]; c {
		case '"':
			d.r.guard.allocate(d.L, len(out))
			d.r.guard.charge(d.L, i-d.at)
			d.at = i + 1
			t.kind, t.value = jsonString, lua.LString(out)
			return
		case 0:
			t.kind, t.at = "unexpected end of string", i
			return
		case '\\':
			var length int
			if out, length = d.escape(out, d.in[i:]); length == 0 {
				t.kind, t.at = "invalid escape code", i
				if strings.HasPrefix(d.in[i:], `\u`) {
					t.kind = "invalid unicode escape code"
				}
				return
			}
			i += length
		default:
			out = append(out, c)
			i++
		}
	}
	t.kind, t.at = "unexpected end of string", len(d.in)
}

// escape appends the character of an escape sequence and returns the sequence's length, 0 if it is none.
func (d *jsonDecoder) escape(out []byte, s string) ([]byte, int) {
	if len(s) < 2 {
		return out, 0
	}
	if s[1] == 'u' {
		return unicodeEscape(out, s)
	}
	i := strings.IndexByte(`"\/bfnrt`, s[1])
	if i < 0 {
		return out, 0
	}
	return append(out, "\"\\/\b\f\n\r\t"[i]), 2
}

func unicodeEscape(out []byte, s string) ([]byte, int) {
	hex := func(s string) (rune, bool) {
		if len(s) < 6 || s[:2] != `\u` {
			return 0, false
		}
		n, err := strconv.ParseUint(s[2:6], 16, 16)
		return rune(n), err == nil
	}
	high, ok := hex(s)
	switch {
	case !ok || high >= 0xdc00 && high < 0xe000:
		return out, 0
	case high < 0xd800 || high >= 0xe000:
		return utf8.AppendRune(out, high), 6
	}
	low, ok := hex(s[6:])
	if !ok || low < 0xdc00 || low >= 0xe000 {
		return out, 0
	}
	return utf8.AppendRune(out, 0x10000+(high-0xd800)<<10+(low-0xdc00)), 12
}
