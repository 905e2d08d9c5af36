package script

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/cellserver/cellserver/resp"
)

// replyConverter appends a script's result as a reply. Tables are looked at as they are, without metatables.
type replyConverter struct {
	r       *Runtime
	w       *resp.Writer
	start   int // of the reply in w
	tooLong bool
}

func (c *replyConverter) value(v lua.LValue, depth int) {
	if !c.room(0) || !c.r.guard.work(1) {
		return
	}
	switch v := v.(type) {
	case lua.LString:
		c.text(string(v), c.w.BulkString)
	case lua.LNumber:
		c.w.Int(toInteger(float64(v)))
	case lua.LBool:
		switch {
		case c.r.version == 3:
			c.w.Bool(bool(v))
		case bool(v):
			c.w.Int(1)
		default:
			c.w.Null()
		}
	case *lua.LTable:
		if depth == maxReplyDepth {
			c.w.Error("ERR reached lua stack limit")
			return
		}
		if !c.typed(v, depth) {
			c.array(v, depth)
		}
	default:
		c.w.Null()
	}
}

// text appends a text by a function of w.
func (c *replyConverter) text(s string, write func(string)) {
	if c.room(len(s)) {
		write(s)
	}
}

// room makes room for a text, or what is as short as a number, and what is around it. It tells whether there is some.
func (c *replyConverter) room(bytes int) bool {
	length, n := len(c.w.Buf), bytes+2*numberBytes
	if c.tooLong = c.tooLong || length-c.start+bytes > c.r.maxStringBytes; c.tooLong || length+n <= cap(c.w.Buf) {
		return !c.tooLong
	}
	size := c.r.roomier(length, n)
	if !c.r.guard.fits(size) {
		return false
	}
	c.w.Buf = append(make([]byte, 0, size), c.w.Buf...)
	return true
}

// typed appends a table that stands for another type, such as {ok="PONG"}.
func (c *replyConverter) typed(t *lua.LTable, depth int) bool {
	if text, ok := t.RawGetString("err").(lua.LString); ok {
		c.text(string(text), c.w.Error)
		return true
	}
	if text, ok := t.RawGetString("ok").(lua.LString); ok {
		c.text(string(text), c.w.Simple)
		return true
	}
	if n, ok := t.RawGetString("double").(lua.LNumber); ok {
		c.w.Double(float64(n))
		return true
	}
	if m, ok := t.RawGetString("map").(*lua.LTable); ok {
		c.w.Map(fields(m))
		m.ForEach(func(key, v lua.LValue) {
			c.value(key, depth+1)
			c.value(v, depth+1)
		})
		return true
	}
	if set, ok := t.RawGetString("set").(*lua.LTable); ok {
		c.w.Set(fields(set))
		set.ForEach(func(key, _ lua.LValue) { c.value(key, depth+1) })
		return true
	}
	if digits, ok := t.RawGetString("big_number").(lua.LString); ok {
		c.text(string(digits), c.w.BigNumber)
		return true
	}
	if verbatim, ok := t.RawGetString("verbatim_string").(*lua.LTable); ok {
		format, okFormat := verbatim.RawGetString("format").(lua.LString)
		text, okText := verbatim.RawGetString("string").(lua.LString)
		if okFormat && okText {
			c.text(string(text), func(s string) { c.w.Verbatim((string(format) + "   ")[:3], s) })
			return true
		}
	}
	return false
}

func fields(t *lua.LTable) (n int) {
	t.ForEach(func(_, _ lua.LValue) { n++ })
	return n
}

func (c *replyConverter) array(t *lua.LTable, depth int) {
	n := 0
	for element(t, n+1) != lua.LNil {
		n++
	}
	c.w.Array(n)
	for i := 1; i <= n; i++ {
		c.value(element(t, i), depth+1)
	}
}
