package script

import (
	lua "github.com/yuin/gopher-lua"
)

// This file has long tables: those with more elements than the machine keeps in an array, made by us from a reply, from JSON and
// so on. The machine puts elements from maxArrayIndex on into two hash maps, at 200 bytes and a microsecond each, 10 times what
// KEYS took to find them.
//
// A long table has all its elements in the array nevertheless. There the machine does not look for them; it asks the metatable,
// s.long, which no script sees. The first change beyond the machine's array makes an ordinary table of it.

// add sets element i of a table that is being made, the elements before it being set.
func (r *Runtime) add(L *lua.LState, t *lua.LTable, i int, v lua.LValue) {
	switch {
	case i == maxArrayIndex && v != lua.LNil && t.RawGetInt(i-1) != lua.LNil:
		t.Metatable = r.sandbox.long
		t.Append(v)
	case i > maxArrayIndex && v != lua.LNil && t.Metatable == r.sandbox.long:
		t.Append(v)
	default:
		r.shorten(L, t)
		t.RawSetInt(i, v)
	}
}

// element returns element i of any table.
func element(t *lua.LTable, i int) lua.LValue {
	if v := t.RawGetInt(i); v != lua.LNil || i < maxArrayIndex && i > 0 {
		return v
	}
	return t.RawGet(lua.LNumber(i))
}

// nextField returns the field behind a key, as next does.
func nextField(t *lua.LTable, key lua.LValue) (nextKey, v lua.LValue) {
	if n, ok := key.(lua.LNumber); ok && n >= maxArrayIndex-1 && n < 1<<31 && n == lua.LNumber(int(n)) {
		if v := t.RawGetInt(int(n) + 1); v != lua.LNil {
			return n + 1, v
		}
	}
	return t.Next(key)
}

// shorten makes an ordinary table of a long one.
func (r *Runtime) shorten(L *lua.LState, t *lua.LTable) {
	if t.Metatable != r.sandbox.long {
		return
	}
	const bytes = 250 // that a field takes
	n := t.Len() - maxArrayIndex + 1
	r.guard.allocate(L, n*bytes)
	rest := make([]lua.LValue, n)
	for i := n - 1; i >= 0; i-- {
		rest[i] = t.Remove(maxArrayIndex + i)
	}
	t.Metatable = lua.LNil
	for i, v := range rest {
		t.RawSetInt(maxArrayIndex+i, v)
		rest[i] = nil
		r.guard.charge(L, 1)
	}
}

// longEvents are the metamethods of long tables.
func (r *Runtime) longEvents() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"__index": func(L *lua.LState) int {
			v := lua.LValue(lua.LNil)
			if n, ok := L.Get(2).(lua.LNumber); ok && n >= maxArrayIndex && n == lua.LNumber(int(n)) {
				v = L.Get(1).(*lua.LTable).RawGetInt(int(n))
			}
			L.Push(v)
			return 1
		},
		"__newindex": func(L *lua.LState) int {
			t := L.Get(1).(*lua.LTable)
			r.shorten(L, t)
			L.RawSet(t, L.Get(2), L.Get(3))
			return 0
		},
	}
}
