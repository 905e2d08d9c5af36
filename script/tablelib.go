package script

import (
	"sort"

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

// tableSort sorts a copy: the order function may change the table.
func (r *Runtime) tableSort(L *lua.LState) int {
	t := argTable(L, 1, "sort")
	var order *lua.LFunction
	if L.Get(2) != lua.LNil {
		order = argFunction(L, 2, "sort")
	}
	r.refuseFrozen(L, t)
	r.shorten(L, t)
	length := tableLength(t)
	r.guard.allocate(L, valueBytes*length)
	values := make([]lua.LValue, length)
	for i := range values {
		r.guard.charge(L, 1)
		values[i] = t.RawGet(lua.LNumber(i + 1))
	}
	sort.Sort(&sorter{r: r, L: L, values: values, order: order})
	for i, v := range values {
		r.guard.charge(L, 1)
		t.RawSet(lua.LNumber(i+1), v)
	}
	return 0
}

type sorter struct {
	r      *Runtime
	L      *lua.LState
	values []lua.LValue
	order  *lua.LFunction // nil: by <
}

func (s *sorter) Len() int      { return len(s.values) }
func (s *sorter) Swap(i, j int) { s.values[i], s.values[j] = s.values[j], s.values[i] }
func (s *sorter) Less(i, j int) bool {
	s.r.guard.charge(s.L, 16)
	a, b := s.values[i], s.values[j]
	if s.order == nil {
		if comparable(a, b) {
			return s.L.LessThan(a, b)
		}
		text := "attempt to compare " + a.Type().String() + " with " + b.Type().String()
		s.L.Error(lua.LString(machineText(text)), 0)
	}
	s.L.Push(s.order)
	s.L.Push(a)
	s.L.Push(b)
	s.L.Call(2, 1)
	less := lua.LVAsBool(s.L.Get(-1))
	s.L.Pop(1)
	return less
}

// comparable tells whether < has a meaning; of tables their metatables know.
func comparable(a, b lua.LValue) bool {
	t := a.Type()
	return t == b.Type() && (t == lua.LTNumber || t == lua.LTString || t == lua.LTTable)
}
