package script

import (
	"encoding/binary"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// maxMsgpackDepth is where cmsgpack stops: deeper tables are packed as nil.
const maxMsgpackDepth = 16

var msgpackConstants = map[string]lua.LValue{
	"_NAME":        lua.LString("cmsgpack"),
	"_VERSION":     lua.LString("lua-cmsgpack 0.4.0"),
	"_COPYRIGHT":   lua.LString("Copyright (C) 2012, Salvatore Sanfilippo"),
	"_DESCRIPTION": lua.LString("MessagePack C implementation for Lua"),
}

func (r *Runtime) msgpackFunctions() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"pack":         r.msgpackPack,
		"unpack":       func(L *lua.LState) int { return r.msgpackUnpack(L, 0, false) },
		"unpack_one":   func(L *lua.LState) int { return r.msgpackUnpack(L, 1, true) },
		"unpack_limit": func(L *lua.LState) int { return r.msgpackUnpack(L, optInt(L, 2, "unpack_limit", 0), true) },
	}
}

func (r *Runtime) msgpackPack(L *lua.LState) int {
	n := L.GetTop()
	if n == 0 {
		argError(L, 0, "pack", "MessagePack pack needs input.")
	}
	p := msgpackPacker{r: r, L: L}
	for i := 1; i <= n; i++ {
		p.value(L.Get(i), 0)
	}
	return r.pushText(L, p.out)
}

type msgpackPacker struct {
	r   *Runtime
	L   *lua.LState
	out []byte
}

func (p *msgpackPacker) value(v lua.LValue, depth int) {
	p.r.bound(p.L, len(p.out))
	p.r.guard.charge(p.L, 16)
	p.out = p.r.room(p.L, p.out, numberBytes)
	switch v := v.(type) {
	case lua.LString:
		p.text(string(v))
	case lua.LBool:
		if v {
			p.out = append(p.out, 0xc3)
		} else {
			p.out = append(p.out, 0xc2)
		}
	case lua.LNumber:
		p.number(float64(v))
	case *lua.LTable:
		if depth == maxMsgpackDepth {
			p.out = append(p.out, 0xc0)
		} else {
			p.table(p.r.sandbox.real(v), depth)
		}
	default:
		p.out = append(p.out, 0xc0)
	}
}

func (p *msgpackPacker) text(s string) {
	switch n := len(s); {
	case n < 32:
		p.out = append(p.out, 0xa0|byte(n))
	case n <= math.MaxUint8:
		p.out = append(p.out, 0xd9, byte(n))
	case n <= math.MaxUint16:
		p.out = binary.BigEndian.AppendUint16(append(p.out, 0xda), uint16(n))
	default:
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xdb), uint32(n))
	}
	p.r.bound(p.L, len(p.out)+len(s))
	p.r.guard.charge(p.L, len(s))
	p.out = append(p.r.room(p.L, p.out, len(s)), s...)
}

func (p *msgpackPacker) number(f float64) {
	if i := toInteger(f); float64(i) == f && f < 1<<63 {
		p.integer(i)
	} else if float64(float32(f)) == f {
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xca), math.Float32bits(float32(f)))
	} else {
		p.out = binary.BigEndian.AppendUint64(append(p.out, 0xcb), math.Float64bits(f))
	}
}

func (p *msgpackPacker) integer(n int64) {
	switch {
	case n >= -32 && n <= math.MaxInt8:
		p.out = append(p.out, byte(n))
	case n >= 0 && n <= math.MaxUint8:
		p.out = append(p.out, 0xcc, byte(n))
	case n >= 0 && n <= math.MaxUint16:
		p.out = binary.BigEndian.AppendUint16(append(p.out, 0xcd), uint16(n))
	case n >= 0 && n <= math.MaxUint32:
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xce), uint32(n))
	case n >= 0:
		p.out = binary.BigEndian.AppendUint64(append(p.out, 0xcf), uint64(n))
	case n >= math.MinInt8:
		p.out = append(p.out, 0xd0, byte(n))
	case n >= math.MinInt16:
		p.out = binary.BigEndian.AppendUint16(append(p.out, 0xd1), uint16(n))
	case n >= math.MinInt32:
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xd2), uint32(n))
	default:
		p.out = binary.BigEndian.AppendUint64(append(p.out, 0xd3), uint64(n))
	}
}

// table packs a table whose keys are 1 to n as an array, any other as a map.
func (p *msgpackPacker) table(t *lua.LTable, depth int) {
	count, largest, isArray := 0, 0.0, true
	t.ForEach(func(key, _ lua.LValue) {
		count++
		n, ok := key.(lua.LNumber)
		isArray = isArray && ok && n > 0 && n == lua.LNumber(math.Trunc(float64(n)))
		largest = max(largest, float64(n))
	})
	if isArray && largest == float64(count) {
		p.head(count, 0x90, 0xdc)
		for i := 1; i <= count; i++ {
			p.value(element(t, i), depth+1)
		}
		return
	}
	p.head(count, 0x80, 0xde)
	for key, v := nextField(t, lua.LNil); key != lua.LNil; key, v = nextField(t, key) {
		p.value(key, depth+1)
		p.value(v, depth+1)
	}
}

// head appends the length of an array or map: in 4 bits with the tag fixed, or in 16 or 32 with the tags wide and wide+1.
func (p *msgpackPacker) head(n int, fixed, wide byte) {
	switch {
	case n < 16:
		p.out = append(p.out, fixed|byte(n))
	case n <= math.MaxUint16:
		p.out = binary.BigEndian.AppendUint16(append(p.out, wide), uint16(n))
	default:
		p.out = binary.BigEndian.AppendUint32(append(p.out, wide+1), uint32(n))
	}
}
