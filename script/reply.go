package script

import (
	"bytes"
	"strconv"

	lua "github.com/yuin/gopher-lua"
)

// replyParser turns a reply, RESP2 or RESP3, into a Lua value. Replies come from our own host: what is malformed is our bug.
type replyParser struct {
	r     *Runtime
	L     *lua.LState
	guard *guard
	in    []byte
}

// valueBytes is what a value takes besides its text, tableBytes what a table with named fields takes.
const (
	valueBytes = 48
	tableBytes = 3 << 10
)

// line takes what is up to \r\n.
func (p *replyParser) line() []byte {
	end := bytes.IndexByte(p.in, '\r')
	if end < 0 || end+1 == len(p.in) {
		panic("script: the host's reply is cut short")
	}
	line := p.in[:end]
	p.in = p.in[end+2:]
	return line
}

func (p *replyParser) length(line []byte) int {
	n, err := strconv.Atoi(string(line))
	if err != nil {
		panic("script: the host's reply has a bad length")
	}
	return n
}

func (p *replyParser) bytes(n int) []byte {
	if n+2 > len(p.in) {
		panic("script: the host's reply is cut short")
	}
	b := p.in[:n]
	p.in = p.in[n+2:]
	return b
}

func (p *replyParser) value() lua.LValue {
	line := p.line()
	kind, rest := line[0], line[1:]
	p.guard.allocate(p.L, valueBytes+len(rest))
	switch kind {
	case '+':
		return p.table("ok", lua.LString(rest))
	case '-':
		return p.table("err", lua.LString(rest))
	case ':':
		n, err := strconv.ParseInt(string(rest), 10, 64)
		if err != nil {
			panic("script: the host's reply has a bad integer")
		}
		return lua.LNumber(n)
	case '$':
		n := p.length(rest)
		if n < 0 {
			return lua.LFalse
		}
		p.guard.allocate(p.L, n)
		return lua.LString(p.bytes(n))
	case '*', '>':
		return p.array(p.length(rest))
	case '_':
		return lua.LNil
	case '#':
		return lua.LBool(rest[0] == 't')
	case ',':
		n, _ := parseNumber(string(rest))
		return p.table("double", n)
	case '(':
		return p.table("big_number", lua.LString(rest))
	case '=':
		text := p.bytes(p.length(rest))
		p.guard.allocate(p.L, tableBytes+len(text))
		t := p.L.CreateTable(0, 2)
		t.RawSetString("format", lua.LString(text[:3]))
		t.RawSetString("string", lua.LString(text[4:]))
		return p.table("verbatim_string", t)
	case '%':
		t := p.L.NewTable()
		for range p.length(rest) {
			p.guard.allocate(p.L, tableBytes/8)
			key := p.value()
			p.set(t, key, p.value())
		}
		return p.table("map", t)
	case '~':
		t := p.L.NewTable()
		for range p.length(rest) {
			p.guard.allocate(p.L, tableBytes/8)
			p.set(t, p.value(), lua.LTrue)
		}
		return p.table("set", t)
	}
	panic("script: the host's reply has a type that scripts do not know")
}

// set leaves out what Lua has no key for.
func (p *replyParser) set(t *lua.LTable, key, value lua.LValue) {
	if key != lua.LNil {
		t.RawSet(key, value)
	}
}

func (p *replyParser) table(field string, v lua.LValue) lua.LValue {
	p.guard.allocate(p.L, tableBytes)
	t := p.L.CreateTable(0, 1)
	t.RawSetString(field, v)
	return t
}

func (p *replyParser) array(n int) lua.LValue {
	if n < 0 {
		return lua.LFalse
	}
	p.guard.allocate(p.L, 16*n)
	t := p.L.CreateTable(n, 0)
	for i := range n {
		p.r.add(p.L, t, i+1, p.value())
	}
	return t
}
