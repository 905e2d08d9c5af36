package script

import (
	"math"
	"math/bits"

	lua "github.com/yuin/gopher-lua"
)

// bitFunctions is the library of Lua BitOp: on 32 bits, with signed results.
var bitFunctions = map[string]lua.LGFunction{
	"tobit":   func(L *lua.LState) int { return pushBits(L, argBits(L, 1, "tobit")) },
	"bnot":    func(L *lua.LState) int { return pushBits(L, ^argBits(L, 1, "bnot")) },
	"bswap":   func(L *lua.LState) int { return pushBits(L, bits.ReverseBytes32(argBits(L, 1, "bswap"))) },
	"band":    bitFold("band", func(a, b uint32) uint32 { return a & b }),
	"bor":     bitFold("bor", func(a, b uint32) uint32 { return a | b }),
	"bxor":    bitFold("bxor", func(a, b uint32) uint32 { return a ^ b }),
	"lshift":  bitShift("lshift", func(a uint32, n int) uint32 { return a << n }),
	"rshift":  bitShift("rshift", func(a uint32, n int) uint32 { return a >> n }),
	"arshift": bitShift("arshift", func(a uint32, n int) uint32 { return uint32(int32(a) >> n) }),
	"rol":     bitShift("rol", bits.RotateLeft32),
	"ror":     bitShift("ror", func(a uint32, n int) uint32 { return bits.RotateLeft32(a, -n) }),
	"tohex":   bitHex,
}

// argBits takes a number modulo 2^32, rounded to even. As in Lua BitOp, which adds 2^52+2^51 and takes the lower half of the
// sum, numbers beyond 2^51 give what their lower bits happen to be.
func argBits(L *lua.LState, n int, function string) uint32 {
	return uint32(math.Float64bits(argNumber(L, n, function) + 1<<52 + 1<<51))
}

func pushBits(L *lua.LState, b uint32) int { return pushNumber(L, float64(int32(b))) }

func bitFold(name string, f func(a, b uint32) uint32) lua.LGFunction {
	return func(L *lua.LState) int {
		result := argBits(L, 1, name)
		for i := 2; i <= L.GetTop(); i++ {
			result = f(result, argBits(L, i, name))
		}
		return pushBits(L, result)
	}
}

func bitShift(name string, f func(a uint32, n int) uint32) lua.LGFunction {
	return func(L *lua.LState) int {
		return pushBits(L, f(argBits(L, 1, name), int(argBits(L, 2, name)&31)))
	}
}

func bitHex(L *lua.LState) int {
	b := argBits(L, 1, "tohex")
	n := int32(8)
	if L.GetTop() > 1 {
		n = int32(argBits(L, 2, "tohex"))
	}
	digits := "0123456789abcdef"
	if n < 0 {
		digits = "0123456789ABCDEF"
		n = -n
	}
	if n > 8 || n < 0 {
		n = 8
	}
	text := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		text[i] = digits[b&15]
		b >>= 4
	}
	L.Push(lua.LString(text))
	return 1
}
