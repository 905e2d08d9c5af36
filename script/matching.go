package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// find is string.find and string.match.
func (r *Runtime) find(L *lua.LState, function string) int {
	text, pattern := argString(L, 1, function), argString(L, 2, function)
	start := int(min(max(position(optInt(L, 3, function, 1), len(text))-1, 0), int64(len(text))))
	if function == "find" && (lua.LVAsBool(L.Get(4)) || isPlain(pattern)) {
		r.guard.charge(L, len(text)-start)
		at := strings.Index(text[start:], pattern)
		if at < 0 {
			L.Push(lua.LNil)
			return 1
		}
		pushNumber(L, float64(start+at+1))
		return 1 + pushNumber(L, float64(start+at+len(pattern)))
	}
	anchored := strings.HasPrefix(pattern, "^")
	m := matcher{r: r, L: L, text: text, pattern: strings.TrimPrefix(pattern, "^")}
	if !anchored {
		m.pattern = pattern
	}
	for s := start; s <= len(text); s++ {
		m.captures = m.captures[:0]
		if end := m.match(s, 0); end >= 0 {
			if function == "match" {
				return m.push(s, end, true)
			}
			pushNumber(L, float64(s+1))
			pushNumber(L, float64(end))
			return 2 + m.push(s, end, false)
		}
		if anchored {
			break
		}
	}
	L.Push(lua.LNil)
	return 1
}

func (r *Runtime) gmatch(L *lua.LState) int {
	text, pattern := argString(L, 1, "gmatch"), argString(L, 2, "gmatch")
	next := 0
	L.Push(L.NewFunction(func(L *lua.LState) int {
		m := matcher{r: r, L: L, text: text, pattern: pattern}
		for s := next; s <= len(text); s++ {
			m.captures = m.captures[:0]
			if end := m.match(s, 0); end >= 0 {
				if next = end; end == s {
					next++
				}
				return m.push(s, end, true)
			}
		}
		next = len(text) + 1
		L.Push(lua.LNil)
		return 1
	}))
	return 1
}

func (r *Runtime) gsub(L *lua.LState) int {
	text, pattern := argString(L, 1, "gsub"), argString(L, 2, "gsub")
	replacement := L.Get(3)
	switch replacement.Type() {
	case lua.LTString, lua.LTNumber, lua.LTTable, lua.LTFunction:
	default:
		argError(L, 3, "gsub", "string/function/table expected")
	}
	limit := optInt(L, 4, "gsub", int64(len(text))+1)
	m := matcher{r: r, L: L, text: text, pattern: strings.TrimPrefix(pattern, "^")}
	anchored := len(m.pattern) < len(pattern)
	var out []byte
	count, s := int64(0), 0
	for count < limit {
		m.captures = m.captures[:0]
		end := m.match(s, 0)
		if end >= 0 {
			count++
			out = m.replace(out, replacement, s, end)
		}
		if end > s {
			s = end
		} else if s < len(text) {
			out = append(r.room(L, out, 1), text[s])
			s++
		} else {
			break
		}
		r.bound(L, len(out))
		if anchored {
			break
		}
	}
	if s < len(text) {
		out = m.append(out, text[s:])
	}
	return r.pushText(L, out) + pushNumber(L, float64(count))
}

// replace appends what takes the place of a match.
func (m *matcher) replace(out []byte, replacement lua.LValue, start, end int) []byte {
	var v lua.LValue
	switch by := replacement.(type) {
	case *lua.LTable:
		v = m.L.GetTable(by, m.captured(0, start, end))
	case *lua.LFunction:
		m.L.Push(by)
		n := m.push(start, end, true)
		m.L.Call(n, 1)
		v = m.L.Get(-1)
		m.L.Pop(1)
	default:
		template, _ := toText(by)
		return m.expand(out, template, start, end)
	}
	if lua.LVIsFalse(v) {
		return m.append(out, m.text[start:end])
	}
	text, ok := toText(v)
	if !ok {
		m.fail("invalid replacement value (a " + v.Type().String() + ")")
	}
	m.r.guard.charge(m.L, len(text))
	return m.append(out, text)
}

func (m *matcher) append(out []byte, text string) []byte {
	m.r.bound(m.L, len(out)+len(text))
	return append(m.r.room(m.L, out, len(text)), text...)
}

// expand appends a template, in which %0 is the match and %1 to %9 are its captures.
func (m *matcher) expand(out []byte, template string, start, end int) []byte {
	m.r.guard.charge(m.L, len(template))
	for i := 0; i < len(template); i++ {
		out = m.r.room(m.L, out, 1)
		if template[i] != '%' {
			out = append(out, template[i])
			continue
		}
		i++
		switch {
		case i == len(template):
			return append(out, 0) // Lua reads the zero byte at the end
		case template[i] < '0' || template[i] > '9':
			out = append(out, template[i])
		case template[i] == '0':
			out = m.append(out, m.text[start:end])
		default:
			text, _ := toText(m.captured(int(template[i]-'1'), start, end))
			out = m.append(out, text)
		}
	}
	return out
}
