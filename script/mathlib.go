package script

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

var mathConstants = map[string]lua.LValue{"pi": lua.LNumber(math.Pi), "huge": lua.LNumber(math.Inf(1))}

func (r *Runtime) mathFunctions() map[string]lua.LGFunction {
	functions := map[string]lua.LGFunction{
		"frexp": mathFrexp,
		"ldexp": func(L *lua.LState) int {
			return pushNumber(L, math.Ldexp(argNumber(L, 1, "ldexp"), int(argInt(L, 2, "ldexp"))))
		},
		"max":        func(L *lua.LState) int { return extreme(L, "max", func(a, b float64) bool { return a > b }) },
		"min":        func(L *lua.LState) int { return extreme(L, "min", func(a, b float64) bool { return a < b }) },
		"modf":       mathModf,
		"random":     r.mathRandom,
		"randomseed": func(L *lua.LState) int { r.random = seeded(uint32(argInt(L, 1, "randomseed"))); return 0 },
	}
	for name, f := range map[string]func(float64) float64{
		"abs": math.Abs, "acos": math.Acos, "asin": math.Asin, "atan": math.Atan, "ceil": math.Ceil, "cos": math.Cos,
		"cosh": math.Cosh, "exp": math.Exp, "floor": math.Floor, "log": math.Log, "log10": math.Log10, "sin": math.Sin,
		"sinh": math.Sinh, "sqrt": math.Sqrt, "tan": math.Tan, "tanh": math.Tanh,
		"deg": func(x float64) float64 { return x / (math.Pi / 180) },
		"rad": func(x float64) float64 { return x * (math.Pi / 180) },
	} {
		functions[name] = func(L *lua.LState) int { return pushNumber(L, f(argNumber(L, 1, name))) }
	}
	for name, f := range map[string]func(a, b float64) float64{
		"atan2": math.Atan2, "fmod": math.Mod, "mod": math.Mod, "pow": math.Pow,
	} {
		functions[name] = func(L *lua.LState) int { return pushNumber(L, f(argNumber(L, 1, name), argNumber(L, 2, name))) }
	}
	return functions
}

func pushNumber(L *lua.LState, f float64) int {
	L.Push(lua.LNumber(f))
	return 1
}

func extreme(L *lua.LState, name string, better func(a, b float64) bool) int {
	best := argNumber(L, 1, name)
	for i := 2; i <= L.GetTop(); i++ {
		if n := argNumber(L, i, name); better(n, best) {
			best = n
		}
	}
	return pushNumber(L, best)
}

func mathFrexp(L *lua.LState) int {
	fraction, exponent := math.Frexp(argNumber(L, 1, "frexp"))
	pushNumber(L, fraction)
	return 1 + pushNumber(L, float64(exponent))
}

func mathModf(L *lua.LState) int {
	f := argNumber(L, 1, "modf")
	whole, fraction := math.Modf(f)
	if math.IsInf(f, 0) {
		whole, fraction = f, math.Copysign(0, f)
	}
	pushNumber(L, whole)
	return 1 + pushNumber(L, fraction)
}

func (r *Runtime) mathRandom(L *lua.LState) int {
	f := float64(r.random.next()%math.MaxInt32) / math.MaxInt32
	low, high := 1.0, 0.0
	switch L.GetTop() {
	case 0:
		return pushNumber(L, f)
	case 1:
		high = float64(int32(argInt(L, 1, "random")))
	case 2:
		low, high = float64(int32(argInt(L, 1, "random"))), float64(int32(argInt(L, 2, "random")))
	default:
		raise(L, "wrong number of arguments")
	}
	if low > high {
		argError(L, L.GetTop(), "random", "interval is empty")
	}
	return pushNumber(L, math.Floor(f*(high-low+1))+low)
}

// rand48 is the generator of POSIX's lrand48: the same on every machine, so that scripts draw what they draw on Redis.
type rand48 uint64

// unseeded is the state in which Redis starts.
const unseeded rand48 = 0x1234abcd330e

func seeded(seed uint32) rand48 { return rand48(seed)<<16 | 0x330e }

// next returns 31 random bits.
func (x *rand48) next() uint32 {
	*x = (*x*0x5deece66d + 0xb) & (1<<48 - 1)
	return uint32(*x >> 17)
}
