package script

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// arithmeticEvents are for operands that are not both numbers, and without metamethods of their own.
var arithmeticEvents = map[string]lua.LGFunction{
	"__add": arithmetic("__add", func(a, b float64) float64 { return a + b }),
	"__sub": arithmetic("__sub", func(a, b float64) float64 { return a - b }),
	"__mul": arithmetic("__mul", func(a, b float64) float64 { return a * b }),
	"__div": arithmetic("__div", func(a, b float64) float64 { return a / b }),
	"__mod": arithmetic("__mod", func(a, b float64) float64 { return a - math.Floor(a/b)*b }),
	"__pow": arithmetic("__pow", math.Pow),
	"__unm": arithmetic("__unm", func(a, _ float64) float64 { return -a }),
}

// arithmetic returns a metamethod of one or two operands. The machine asks the left one first, so a table on the right is
// asked here.
func arithmetic(event string, compute func(a, b float64) float64) lua.LGFunction {
	return func(L *lua.LState) int {
		if t, ok := L.Get(2).(*lua.LTable); ok {
			if handler := L.GetMetaField(t, event); handler != lua.LNil {
				L.Insert(handler, 1)
				L.Call(2, 1)
				return 1
			}
		}
		a, okA := toNumber(L.Get(1))
		b, okB := a, okA
		if L.GetTop() > 1 {
			b, okB = toNumber(L.Get(2))
		}
		if !okA || !okB {
			wrong := L.Get(2)
			if !okA && (okB || L.Get(1).Type() != lua.LTNumber) && !isNumber(L.Get(1)) {
				wrong = L.Get(1)
			}
			raise(L, "attempt to perform arithmetic on a %s value", wrong.Type())
		}
		L.Push(lua.LNumber(compute(float64(a), float64(b))))
		return 1
	}
}

func isNumber(v lua.LValue) bool {
	_, ok := toNumber(v)
	return ok
}

// indexEvents are for values that have no fields.
var indexEvents = map[string]lua.LGFunction{
	"__index":    func(L *lua.LState) int { return refuseType(L, "index") },
	"__newindex": func(L *lua.LState) int { return refuseType(L, "index") },
}

var callEvent = map[string]lua.LGFunction{
	"__call": func(L *lua.LState) int { return refuseType(L, "call") },
}

func refuseType(L *lua.LState, action string) int {
	raise(L, "attempt to %s a %s value", action, L.Get(1).Type())
	return 0
}

// machineErrors are the texts of the machine that have a fixed counterpart in Lua.
var machineErrors = strings.NewReplacer(
	"for statement init must be a number", "'for' initial value must be a number",
	"for statement limit must be a number", "'for' limit must be a number",
	"for statement step must be a number", "'for' step must be a number",
	"attempt to call a non-function object", "attempt to call a table value",
	"__unm undefined", "attempt to perform arithmetic on a table value",
	"registry overflow", "stack overflow",
)

// machineText puts an error of the Lua machine into the words of Lua. Other texts pass.
func machineText(text string) string {
	text = machineErrors.Replace(text)
	if before, types, found := strings.Cut(text, "attempt to compare "); found {
		if a, b, _ := strings.Cut(types, " with "); a == b {
			return before + "attempt to compare two " + a + " values"
		}
	}
	if before, rest, found := strings.Cut(text, "cannot perform "); found && strings.Contains(rest, " operation between ") {
		return before + "attempt to perform arithmetic on a table value"
	}
	if before, rest, found := strings.Cut(text, "attempt to index a non-table object("); found {
		kind, _, _ := strings.Cut(rest, ")")
		return before + "attempt to index a " + kind + " value"
	}
	return text
}
