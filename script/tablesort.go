package script

import (
	lua "github.com/yuin/gopher-lua"
)

// This file has table.sort. It makes Lua 5.1's comparisons in Lua 5.1's order: where elements that compare equal end up, and what
// becomes of an order function that contradicts itself, is then the same as in Redis.

// tableSort sorts in place, as Lua does: the order function may look at the table, and change it.
func (r *Runtime) tableSort(L *lua.LState) int {
	t := argTable(L, 1, "sort")
	var order *lua.LFunction
	if L.Get(2) != lua.LNil {
		order = argFunction(L, 2, "sort")
	}
	r.refuseFrozen(L, t)
	r.shorten(L, t)
	s := sorter{r: r, L: L, t: t, order: order}
	s.sort(1, tableLength(t))
	return 0
}

type sorter struct {
	r     *Runtime
	L     *lua.LState
	t     *lua.LTable
	order *lua.LFunction // nil: by <
}

// sort is a quicksort of the elements first to last. It calls itself for the smaller part only, so its depth is logarithmic.
func (s *sorter) sort(first, last int) {
	for first < last {
		s.order2(first, last)
		if last-first == 1 {
			return
		}
		middle := int(uint(first+last) / 2)
		if !s.order2(first, middle) {
			s.order2(middle, last)
		}
		if last-first == 2 {
			return
		}
		pivot := s.at(middle)
		s.swap(middle, last-1)
		border := s.partition(first, last, pivot)
		s.swap(last-1, border)
		if border-first < last-border {
			s.sort(first, border-1)
			first = border + 1
		} else {
			s.sort(border+1, last)
			last = border - 1
		}
	}
}

// partition moves what is less than the pivot, which is element last-1, before what is greater, and returns where the second part
// begins. The ends of the range stop both searches, unless the order function contradicts itself.
func (s *sorter) partition(first, last int, pivot lua.LValue) (border int) {
	i, j := first, last-1
	for {
		for i++; s.less(s.at(i), pivot); i++ {
			s.refuseOrder(i > last)
		}
		for j--; s.less(pivot, s.at(j)); j-- {
			s.refuseOrder(j < first)
		}
		if j < i {
			return i
		}
		s.swap(i, j)
	}
}

func (s *sorter) refuseOrder(contradicts bool) {
	if contradicts {
		raise(s.L, "invalid order function for sorting")
	}
}

// order2 swaps two elements, i before j, if they are out of order, and tells whether they were.
func (s *sorter) order2(i, j int) (swapped bool) {
	a, b := s.at(i), s.at(j)
	if !s.less(b, a) {
		return false
	}
	s.set(i, b)
	s.set(j, a)
	return true
}

func (s *sorter) swap(i, j int) {
	a, b := s.at(i), s.at(j)
	s.set(i, b)
	s.set(j, a)
}

func (s *sorter) at(i int) lua.LValue     { return s.t.RawGet(lua.LNumber(i)) }
func (s *sorter) set(i int, v lua.LValue) { s.t.RawSet(lua.LNumber(i), v) }

func (s *sorter) less(a, b lua.LValue) bool {
	s.r.guard.charge(s.L, 16)
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
