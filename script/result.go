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
	if c.tooLong = c.tooLong || len(c.w.Buf)-c.start > c.r.maxStringBytes; c.tooLong {
		return
	}
	switch v := v.(type) {
	case lua.LString:
		c.w.BulkString(string(v))
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

// typed appends a table that stands for another type, such as {ok="PONG"}.
func (c *replyConverter) typed(t *lua.LTable, depth int) bool {
	if text, ok := t.RawGetString("err").(lua.LString); ok {
		c.w.Error(string(text))
		return true
	}
	if text, ok := t.RawGetString("ok").(lua.LString); ok {
		c.w.Simple(string(text))
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
		c.w.BigNumber(string(digits))
		return true
	}
	if verbatim, ok := t.RawGetString("verbatim_string").(*lua.LTable); ok {
		format, okFormat := verbatim.RawGetString("format").(lua.LString)
		text, okText := verbatim.RawGetString("string").(lua.LString)
		if okFormat && okText {
			c.w.Verbatim((string(format) + "   ")[:3], string(text))
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
	for t.RawGet(lua.LNumber(n+1)) != lua.LNil {
		n++
	}
	c.w.Array(n)
	for i := 1; i <= n; i++ {
		c.value(t.RawGet(lua.LNumber(i)), depth+1)
	}
}
