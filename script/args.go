package script

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// raise ends the running function with an error that begins with the place of the call, if that was in Lua.
func raise(L *lua.LState, format string, values ...any) {
	for _, v := range values {
		if text, ok := v.(string); ok {
			L.Context().(*guard).allocate(L, 5*len(text)) // the error gets copied that often here and in argError
		}
	}
	message := fmt.Sprintf(format, values...)
	if calledByLua(L) {
		message = L.Where(1) + " " + message
	}
	L.Error(lua.LString(message), 0)
}

// calledByLua tells whether the running function was called in Lua, and not by a function such as pcall.
func calledByLua(L *lua.LState) bool {
	at := L.Where(1)
	return at != "" && !strings.HasPrefix(at, "[G]")
}

func argError(L *lua.LState, n int, function, format string, values ...any) {
	if !calledByLua(L) {
		function = "?"
	}
	raise(L, "bad argument #%d to '%s' (%s)", n, function, fmt.Sprintf(format, values...))
}

func typeError(L *lua.LState, n int, function, want string) {
	argError(L, n, function, "%s expected, got %s", want, argType(L, n))
}

func argType(L *lua.LState, n int) string {
	if n > L.GetTop() {
		return "no value"
	}
	return L.Get(n).Type().String()
}

// toText converts a string or number.
func toText(v lua.LValue) (text string, ok bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return numberText(v), true
	}
	return "", false
}

// toNumber converts a number or a string that is one.
func toNumber(v lua.LValue) (n lua.LNumber, ok bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return v, true
	case lua.LString:
		return parseNumber(string(v))
	}
	return 0, false
}

func argString(L *lua.LState, n int, function string) string {
	text, ok := toText(L.Get(n))
	if !ok {
		typeError(L, n, function, "string")
	}
	return text
}

func argNumber(L *lua.LState, n int, function string) float64 {
	number, ok := toNumber(L.Get(n))
	if !ok {
		typeError(L, n, function, "number")
	}
	return float64(number)
}

func argInt(L *lua.LState, n int, function string) int64 {
	return toInteger(argNumber(L, n, function))
}

func optInt(L *lua.LState, n int, function string, otherwise int64) int64 {
	if L.Get(n) == lua.LNil {
		return otherwise
	}
	return argInt(L, n, function)
}

func argTable(L *lua.LState, n int, function string) *lua.LTable {
	t, ok := L.Get(n).(*lua.LTable)
	if !ok {
		typeError(L, n, function, "table")
	}
	return t
}

func argFunction(L *lua.LState, n int, function string) *lua.LFunction {
	f, ok := L.Get(n).(*lua.LFunction)
	if !ok {
		typeError(L, n, function, "function")
	}
	return f
}

func argAny(L *lua.LState, n int, function string) lua.LValue {
	if L.GetTop() < n {
		argError(L, n, function, "value expected")
	}
	return L.Get(n)
}
