package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func (r *Runtime) stringFunctions() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"byte":    stringByte,
		"char":    stringChar,
		"dump":    func(L *lua.LState) int { raise(L, "unable to dump given function"); return 0 },
		"find":    func(L *lua.LState) int { return r.find(L, "find") },
		"format":  r.format,
		"gfind":   r.gmatch,
		"gmatch":  r.gmatch,
		"gsub":    r.gsub,
		"len":     func(L *lua.LState) int { return pushNumber(L, float64(len(argString(L, 1, "len")))) },
		"lower":   func(L *lua.LState) int { return r.mapBytes(L, "lower", toLower) },
		"match":   func(L *lua.LState) int { return r.find(L, "match") },
		"rep":     r.stringRep,
		"reverse": r.stringReverse,
		"sub":     stringSub,
		"upper":   func(L *lua.LState) int { return r.mapBytes(L, "upper", toUpper) },
	}
}

// position turns an index, which may count from the end, into one from 1 on; 0 is before the beginning.
func position(i int64, length int) int64 {
	if i < 0 {
		i += int64(length) + 1
	}
	return max(i, 0)
}

func stringByte(L *lua.LState) int {
	s := argString(L, 1, "byte")
	first := position(optInt(L, 2, "byte", 1), len(s))
	last := position(optInt(L, 3, "byte", first), len(s))
	first, last = max(first, 1), min(last, int64(len(s)))
	if last-first+1+int64(L.GetTop()) > maxCStack {
		raise(L, "stack overflow (string slice too long)")
	}
	for i := first; i <= last; i++ {
		pushNumber(L, float64(s[i-1]))
	}
	return int(max(last-first+1, 0))
}

func stringChar(L *lua.LState) int {
	b := make([]byte, L.GetTop())
	for i := range b {
		c := argInt(L, i+1, "char")
		if c < 0 || c > 255 {
			argError(L, i+1, "char", "invalid value")
		}
		b[i] = byte(c)
	}
	L.Push(lua.LString(b))
	return 1
}

func toLower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func toUpper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c
}

func (r *Runtime) mapBytes(L *lua.LState, function string, f func(byte) byte) int {
	s := argString(L, 1, function)
	b := r.room(L, nil, len(s))
	for i := range len(s) {
		b = append(b, f(s[i]))
	}
	return r.pushText(L, b)
}

func (r *Runtime) stringRep(L *lua.LState) int {
	s := argString(L, 1, "rep")
	n := int64(int32(argInt(L, 2, "rep"))) // Redis's Lua has an int here
	if n <= 0 || s == "" {
		L.Push(lua.LString(""))
		return 1
	}
	if n > int64(r.maxStringBytes/len(s)) {
		r.bound(L, r.maxStringBytes+1)
	}
	r.guard.charge(L, len(s)*int(n))
	r.guard.allocate(L, len(s)*int(n))
	L.Push(lua.LString(strings.Repeat(s, int(n))))
	return 1
}

func (r *Runtime) stringReverse(L *lua.LState) int {
	s := argString(L, 1, "reverse")
	b := r.room(L, nil, len(s))
	for i := len(s) - 1; i >= 0; i-- {
		b = append(b, s[i])
	}
	return r.pushText(L, b)
}

func stringSub(L *lua.LState) int {
	s := argString(L, 1, "sub")
	first := max(position(argInt(L, 2, "sub"), len(s)), 1)
	last := min(position(optInt(L, 3, "sub", -1), len(s)), int64(len(s)))
	if first > last {
		L.Push(lua.LString(""))
	} else {
		L.Push(lua.LString(s[first-1 : last]))
	}
	return 1
}
