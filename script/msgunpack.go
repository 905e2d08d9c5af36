package script

import (
	"encoding/binary"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// maxMsgpackNesting bounds the recursion of unpacking; Redis's ends where Lua's stack does.
const maxMsgpackNesting = 2000

// msgpackUnpack returns the values of a string: all, or limit from an offset on, then after the next offset, -1 at the end.
func (r *Runtime) msgpackUnpack(L *lua.LState, limit int64, tellsOffset bool) int {
	function := "unpack"
	offset := int64(0)
	if tellsOffset {
		function = "unpack_one"
		at := 2
		if limit != 1 || L.GetTop() > 2 {
			function, at = "unpack_limit", 3
		}
		offset = optInt(L, at, function, 0)
	}
	data := argString(L, 1, function)
	if offset < 0 || limit < 0 {
		raise(L, "Invalid request to unpack with offset of %d and limit of %d.", offset, len(data))
	}
	if offset > int64(len(data)) {
		raise(L, "Start offset %d greater than input length %d.", offset, len(data))
	}
	u := msgpackUnpacker{r: r, L: L, in: data[offset:]}
	all := limit == 0
	if tellsOffset && !all {
		L.Push(lua.LNil) // the place of the next offset
	}
	base := L.GetTop()
	n := 0
	for ; u.in != "" && (all || int64(n) < limit); n++ {
		if n+2 > maxCStack { // of which the data is one
			raise(L, "stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)")
		}
		L.Push(u.value(0))
	}
	if !tellsOffset || all {
		return n
	}
	if n+2 > maxCStack {
		raise(L, "stack overflow (in function mp_unpack_full)")
	}
	next := len(data) - len(u.in)
	if u.in == "" {
		next = -1
	}
	L.Replace(base, lua.LNumber(next))
	return n + 1
}

type msgpackUnpacker struct {
	r  *Runtime
	L  *lua.LState
	in string
}

func (u *msgpackUnpacker) take(n int) string {
	if n > len(u.in) {
		raise(u.L, "Missing bytes in input.")
	}
	b := u.in[:n]
	u.in = u.in[n:]
	return b
}

// unsigned takes a number of 1, 2, 4 or 8 bytes.
func (u *msgpackUnpacker) unsigned(bytes int) uint64 {
	var b [8]byte
	copy(b[8-bytes:], u.take(bytes))
	return binary.BigEndian.Uint64(b[:])
}

func (u *msgpackUnpacker) value(depth int) lua.LValue {
	if depth == maxMsgpackNesting {
		raise(u.L, "Bad data format in input.")
	}
	u.r.guard.charge(u.L, 16)
	tag := u.take(1)[0]
	switch {
	case tag < 0x80:
		return lua.LNumber(tag)
	case tag < 0x90:
		return u.table(int(tag&15), depth)
	case tag < 0xa0:
		return u.array(int(tag&15), depth)
	case tag < 0xc0:
		return lua.LString(u.take(int(tag & 31)))
	case tag >= 0xe0:
		return lua.LNumber(int8(tag))
	}
	switch tag {
	case 0xc0:
		return lua.LNil
	case 0xc2, 0xc3:
		return lua.LBool(tag == 0xc3)
	case 0xca:
		return lua.LNumber(math.Float32frombits(uint32(u.unsigned(4))))
	case 0xcb:
		return lua.LNumber(math.Float64frombits(u.unsigned(8)))
	case 0xcc, 0xcd, 0xce:
		return lua.LNumber(u.unsigned(1 << (tag - 0xcc)))
	case 0xcf:
		return lua.LNumber(int64(u.unsigned(8))) // so does cmsgpack
	case 0xd0, 0xd1, 0xd2, 0xd3:
		bytes := 1 << (tag - 0xd0)
		unused := 64 - 8*bytes
		return lua.LNumber(int64(u.unsigned(bytes)<<unused) >> unused)
	case 0xd9, 0xda, 0xdb:
		return lua.LString(u.take(int(u.unsigned(1 << (tag - 0xd9)))))
	case 0xdc, 0xdd:
		return u.array(int(u.unsigned(2<<(tag-0xdc))), depth)
	case 0xde, 0xdf:
		return u.table(int(u.unsigned(2<<(tag-0xde))), depth)
	}
	raise(u.L, "Bad data format in input.")
	return lua.LNil
}

func (u *msgpackUnpacker) array(n, depth int) lua.LValue {
	t := u.L.CreateTable(min(n, len(u.in), 64), 0) // there may be less than the head promises
	for i := range n {
		u.r.add(u.L, t, i+1, u.value(depth+1))
	}
	return t
}

func (u *msgpackUnpacker) table(n, depth int) lua.LValue {
	t := u.L.NewTable()
	for range n {
		key := u.value(depth + 1)
		v := u.value(depth + 1)
		if number, ok := key.(lua.LNumber); key == lua.LNil || ok && math.IsNaN(float64(number)) {
			text := "table index is nil"
			if ok {
				text = "table index is NaN"
			}
			u.L.Error(lua.LString(text), 0)
		}
		t.RawSet(key, v)
	}
	return t
}
