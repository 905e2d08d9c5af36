package script

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// directive is one of string.format's: %[flags][width][.precision]verb. Width and precision have two digits at most.
type directive struct {
	flags     string
	width     int
	precision int // -1: none
	verb      byte
}

func (r *Runtime) format(L *lua.LState) int {
	template := argString(L, 1, "format")
	var out []byte
	argument := 1
	for i := 0; i < len(template); i++ {
		out = r.room(L, out, 1)
		if template[i] != '%' {
			out = append(out, template[i])
			continue
		}
		if i++; i < len(template) && template[i] == '%' {
			out = append(out, '%')
			continue
		}
		d, length := parseDirective(L, template[i:])
		i += length
		argument++
		out = d.append(L, r.room(L, out, d.longest(L.Get(argument))), argument)
		r.bound(L, len(out))
		r.guard.charge(L, 64)
	}
	return r.pushText(L, out)
}

// longest is how long the text of a value may get.
func (d directive) longest(v lua.LValue) int {
	const plain = 512 // a number of 309 digits with 99 behind the point
	text, _ := v.(lua.LString)
	n := plain + len(text)
	if d.verb == 'q' {
		for _, escaped := range []string{"\x00", "\n", "\r", `"`, `\`} {
			n += 3 * strings.Count(string(text), escaped)
		}
	}
	return n
}

// parseDirective returns the directive at the beginning of s and the index of its verb.
func parseDirective(L *lua.LState, s string) (d directive, verbAt int) {
	i := 0
	for i < len(s) && strings.IndexByte("-+ #0", s[i]) >= 0 {
		i++
	}
	if d.flags = s[:i]; len(d.flags) > 5 {
		raise(L, "invalid format (repeated flags)")
	}
	number := func() (n int) {
		for end := i + 2; i < len(s) && i < end && '0' <= s[i] && s[i] <= '9'; i++ {
			n = n*10 + int(s[i]-'0')
		}
		return n
	}
	d.width, d.precision = number(), -1
	if i < len(s) && s[i] == '.' {
		i++
		d.precision = number()
	}
	if i < len(s) && '0' <= s[i] && s[i] <= '9' {
		raise(L, "invalid format (width or precision too long)")
	}
	if i < len(s) {
		d.verb = s[i]
	}
	return d, i
}

func (d directive) append(L *lua.LState, out []byte, argument int) []byte {
	if d.verb != 0 && strings.IndexByte("cdiouxXeEfgGqs", d.verb) >= 0 && argument > L.GetTop() {
		argError(L, argument, "format", "no value")
	}
	switch d.verb {
	case 'c':
		c := byte(argInt(L, argument, "format"))
		text := string([]byte{c})
		if c == 0 {
			text = "" // Lua measures the result as a C string
		}
		return d.pad(out, "", text, false)
	case 'd', 'i':
		return d.appendInteger(out, argInt(L, argument, "format"))
	case 'o', 'u', 'x', 'X':
		f := argNumber(L, argument, "format")
		n := uint64(toInteger(f))
		if f >= 1<<63 && f < 1<<64 {
			n = uint64(f)
		}
		return d.appendUnsigned(out, n)
	case 'e', 'E', 'f', 'g', 'G':
		return d.appendFloat(out, argNumber(L, argument, "format"))
	case 'q':
		return appendQuoted(out, argString(L, argument, "format"))
	case 's':
		text := argString(L, argument, "format")
		if d.precision < 0 && len(text) >= 100 {
			return append(out, text...) // Lua does not format long strings
		}
		if text, _, _ = strings.Cut(text, "\x00"); d.precision >= 0 {
			text = text[:min(len(text), d.precision)]
		}
		return d.pad(out, "", text, false)
	}
	option := ""
	if d.verb != 0 {
		option = string([]byte{d.verb})
	}
	raise(L, "invalid option '%%%s' to 'format'", option)
	return out
}

func (d directive) has(flag byte) bool { return strings.IndexByte(d.flags, flag) >= 0 }

// pad appends sign and digits in the directive's width.
func (d directive) pad(out []byte, sign, text string, zeros bool) []byte {
	missing := max(d.width-len(sign)-len(text), 0)
	switch {
	case d.has('-'):
		out = append(append(out, sign...), text...)
		return append(out, bytes.Repeat([]byte(" "), missing)...)
	case d.has('0') && zeros:
		out = append(out, sign...)
		out = append(out, bytes.Repeat([]byte("0"), missing)...)
		return append(out, text...)
	}
	out = append(out, bytes.Repeat([]byte(" "), missing)...)
	return append(append(out, sign...), text...)
}

func (d directive) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case d.has('+'):
		return "+"
	case d.has(' '):
		return " "
	}
	return ""
}

// digits applies the precision of an integer: so many digits at least.
func (d directive) digits(text string) string {
	if d.precision == 0 && text == "0" {
		return ""
	}
	return strings.Repeat("0", max(d.precision-len(text), 0)) + text
}

func (d directive) appendInteger(out []byte, n int64) []byte {
	text := strings.TrimPrefix(strconv.FormatInt(n, 10), "-")
	return d.pad(out, d.sign(n < 0), d.digits(text), d.precision < 0)
}

func (d directive) appendUnsigned(out []byte, n uint64) []byte {
	prefix, text := "", ""
	switch d.verb {
	case 'o':
		text = d.digits(strconv.FormatUint(n, 8))
		if d.has('#') && !strings.HasPrefix(text, "0") {
			text = "0" + text
		}
	case 'u':
		text = d.digits(strconv.FormatUint(n, 10))
	default:
		text = d.digits(strconv.FormatUint(n, 16))
		if d.has('#') && n != 0 {
			prefix = "0x"
		}
		if d.verb == 'X' {
			prefix, text = strings.ToUpper(prefix), strings.ToUpper(text)
		}
	}
	return d.pad(out, prefix, text, d.precision < 0)
}

func (d directive) appendFloat(out []byte, f float64) []byte {
	precision := d.precision
	if precision < 0 {
		precision = 6
	}
	finite := !math.IsNaN(f) && !math.IsInf(f, 0)
	var text string
	switch {
	case !finite:
		text = strings.TrimPrefix(string(appendFloat(nil, f, 'g', 0)), "-")
	case d.has('#'):
		text = strings.TrimLeft(fmt.Sprintf("%#.*"+string(d.verb|0x20), precision, f), "-") // as in C: keeps the point
	case d.verb|0x20 == 'g' && precision == 0:
		text = strconv.FormatFloat(math.Abs(f), 'g', 1, 64)
	default:
		text = strconv.FormatFloat(math.Abs(f), d.verb|0x20, precision, 64)
	}
	if d.verb < 'a' {
		text = strings.ToUpper(text)
	}
	return d.pad(out, d.sign(math.Signbit(f)), text, finite)
}

// appendQuoted appends a string as Lua can read it again.
func appendQuoted(out []byte, s string) []byte {
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\', '\n':
			out = append(out, '\\', c)
		case '\r':
			out = append(out, `\r`...)
		case 0:
			out = append(out, `\000`...)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
