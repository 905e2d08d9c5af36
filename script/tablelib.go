package script

import (
	lua "github.com/yuin/gopher-lua"
)

func (r *Runtime) tableFunctions() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"concat":   r.tableConcat,
		"foreach":  r.foreach,
		"foreachi": r.foreachi,
		"getn":     func(L *lua.LState) int { L.Push(lua.LNumber(tableLength(argTable(L, 1, "getn")))); return 1 },
		"insert":   r.tableInsert,
		"maxn":     r.maxn,
		"remove":   r.tableRemove,
		"setn":     func(L *lua.LState) int { raise(L, "'setn' is obsolete"); return 0 },
		"sort":     r.tableSort,
	}
}

func (r *Runtime) tableConcat(L *lua.LState) int {
	t := argTable(L, 1, "concat")
	separator := ""
	if L.Get(2) != lua.LNil {
		separator = argString(L, 2, "concat")
	}
	first := optInt(L, 3, "concat", 1)
	last := optInt(L, 4, "concat", int64(tableLength(t)))
	var buffer []byte
	for i := first; i <= last; i++ {
		switch v := element(t, int(i)).(type) {
		case lua.LString:
			r.bound(L, len(buffer)+len(v))
			buffer = append(r.room(L, buffer, len(v)), v...)
		case lua.LNumber:
			buffer = appendNumber(r.room(L, buffer, numberBytes), float64(v), numberDigits)
		default:
			raise(L, "invalid value (%s) at index %d in table for 'concat'", v.Type(), i)
		}
		if i < last {
			buffer = append(r.room(L, buffer, len(separator)), separator...)
		}
		r.bound(L, len(buffer))
		r.guard.charge(L, len(separator))
	}
	return r.pushText(L, buffer)
}

func (r *Runtime) foreach(L *lua.LState) int {
	t, f := argTable(L, 1, "foreach"), argFunction(L, 2, "foreach")
	t = r.sandbox.real(t)
	for key, v := nextField(t, lua.LNil); key != lua.LNil; key, v = nextField(t, key) {
		r.guard.charge(L, 1)
		if n := callEach(L, f, key, v); n > 0 {
			return n
		}
	}
	return 0
}

func (r *Runtime) foreachi(L *lua.LState) int {
	t, f := argTable(L, 1, "foreachi"), argFunction(L, 2, "foreachi")
	for i := 1; i <= tableLength(t); i++ {
		r.guard.charge(L, 1)
		if n := callEach(L, f, lua.LNumber(i), element(t, i)); n > 0 {
			return n
		}
	}
	return 0
}

// callEach leaves a result that is not nil on the stack.
func callEach(L *lua.LState, f *lua.LFunction, key, v lua.LValue) (results int) {
	L.Push(f)
	L.Push(key)
	L.Push(v)
	L.Call(2, 1)
	if L.Get(-1) != lua.LNil {
		return 1
	}
	L.Pop(1)
	return 0
}

func (r *Runtime) maxn(L *lua.LState) int {
	largest := lua.LNumber(0)
	argTable(L, 1, "maxn").ForEach(func(key, _ lua.LValue) {
		r.guard.charge(L, 1)
		if n, ok := key.(lua.LNumber); ok {
			largest = max(largest, n)
		}
	})
	L.Push(largest)
	return 1
}

func (r *Runtime) tableInsert(L *lua.LState) int {
	t := argTable(L, 1, "insert")
	end := int64(tableLength(t)) + 1
	r.refuseFrozen(L, t)
	r.shorten(L, t)
	switch L.GetTop() {
	case 2:
		t.RawSet(lua.LNumber(end), L.Get(2))
	case 3:
		at := argInt(L, 2, "insert")
		r.guard.charge(L, int(max(end-at, 0)))
		if at >= 1 && end < maxArrayIndex {
			if at < end {
				t.Insert(int(at), L.Get(3)) // moves the array at once
				return 0
			}
		} else {
			for i := end; i > at; i-- {
				r.guard.charge(L, 1)
				t.RawSet(lua.LNumber(i), t.RawGet(lua.LNumber(i-1)))
			}
		}
		t.RawSet(lua.LNumber(at), L.Get(3))
	default:
		raise(L, "wrong number of arguments to 'insert'")
	}
	return 0
}

func (r *Runtime) tableRemove(L *lua.LState) int {
	t := argTable(L, 1, "remove")
	size := int64(tableLength(t))
	at := optInt(L, 2, "remove", size)
	r.refuseFrozen(L, t)
	r.shorten(L, t)
	if at < 1 || at > size {
		return 0
	}
	removed := t.RawGet(lua.LNumber(at))
	for ; at < size; at++ {
		r.guard.charge(L, 1)
		t.RawSet(lua.LNumber(at), t.RawGet(lua.LNumber(at+1)))
	}
	t.RawSet(lua.LNumber(size), lua.LNil)
	L.Push(removed)
	return 1
}
