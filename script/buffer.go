package script

import (
	lua "github.com/yuin/gopher-lua"
)

// This file has the tools with which library functions build strings, so that every string asks the guard for its memory.

// bound ends a script whose string grows too long.
func (r *Runtime) bound(L *lua.LState, bytes int) {
	if bytes > r.maxStringBytes {
		raise(L, "string is longer than %d bytes", r.maxStringBytes)
	}
}

// room returns out with room for n more bytes. A function that appends more than a few bytes asks for it first. room
// doubles the buffer: append alone would grow a large one by only a quarter, and so leave five times the string as garbage.
// A string that is too long already gets no more.
func (r *Runtime) room(L *lua.LState, out []byte, n int) []byte {
	if cap(out)-len(out) >= n {
		return out
	}
	return r.grow(L, out, n)
}

// grow is the part of room that is seldom needed; the rest goes into the functions that call it.
func (r *Runtime) grow(L *lua.LState, out []byte, n int) []byte {
	r.bound(L, len(out))
	size := r.roomier(len(out), n)
	r.guard.allocate(L, size)
	return append(make([]byte, 0, size), out...)
}

// roomier is the new size of a buffer that holds this many bytes and needs n more.
func (r *Runtime) roomier(length, n int) int {
	return max(length+n, min(2*length, r.maxStringBytes), 64)
}

// pushText pushes a copy of out, the string that a function has built.
func (r *Runtime) pushText(L *lua.LState, out []byte) int {
	r.bound(L, len(out))
	r.guard.charge(L, len(out)/16)
	r.guard.allocate(L, len(out))
	L.Push(lua.LString(out))
	return 1
}
