package script

import (
	"encoding/binary"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxStructInteger is the most bytes of an integer: the library's own limit.
const maxStructInteger = 32

func (r *Runtime) structFunctions() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{"pack": r.structPack, "unpack": r.structUnpack, "size": structSize}
}

// structFormat reads a format of Roberto Ierusalimschy's struct library. Native is 64 bits, little endian.
type structFormat struct {
	L         *lua.LState
	function  string
	rest      string
	bigEndian bool
	align     int // 1: none
}

// next returns the next option that stands for data, with its size. Byte order, alignment and blanks it handles itself.
func (f *structFormat) next() (option byte, size int, ok bool) {
	for f.rest != "" {
		option, f.rest = f.rest[0], f.rest[1:]
		switch option {
		case ' ':
		case '>':
			f.bigEndian = true
		case '<':
			f.bigEndian = false
		case '!':
			a := f.number(8)
			if a == 0 || a&(a-1) != 0 {
				raise(f.L, "alignment %d is not a power of 2", a)
			}
			f.align = a
		default:
			return option, f.size(option), true
		}
	}
	return 0, 0, false
}

func (f *structFormat) size(option byte) int {
	switch option {
	case 'B', 'b', 'x':
		return 1
	case 'H', 'h':
		return 2
	case 'L', 'l', 'T', 'd':
		return 8
	case 'f':
		return 4
	case 'c':
		return f.number(1)
	case 'i', 'I':
		n := f.number(4)
		if n > maxStructInteger {
			raise(f.L, "integral size %d is larger than limit of %d", n, maxStructInteger)
		}
		return n
	case 's':
		return 0
	}
	if f.function == "size" {
		return 0 // the library looks at sizes only
	}
	argError(f.L, 1, f.function, "invalid format option '%c'", option)
	return 0
}

func (f *structFormat) number(otherwise int) int {
	if f.rest == "" || f.rest[0] < '0' || f.rest[0] > '9' {
		return otherwise
	}
	n := 0
	for f.rest != "" && '0' <= f.rest[0] && f.rest[0] <= '9' {
		n = n*10 + int(f.rest[0]-'0')
		if n > math.MaxInt32 {
			raise(f.L, "integral size overflow")
		}
		f.rest = f.rest[1:]
	}
	return n
}

// padding is how many bytes bring data of a size to its alignment. Strings have none.
func (f *structFormat) padding(at int, option byte, size int) int {
	align := min(size, f.align)
	if size == 0 || option == 'c' || align <= 1 {
		return 0
	}
	return (align - at&(align-1)) & (align - 1)
}

func (r *Runtime) structPack(L *lua.LState) int {
	f := structFormat{L: L, function: "pack", rest: argString(L, 1, "pack"), align: 1}
	var out []byte
	argument := 1
	for option, size, ok := f.next(); ok; option, size, ok = f.next() {
		out = r.room(L, out, 2*maxStructInteger)
		out = append(out, make([]byte, f.padding(len(out), option, size))...)
		if option == 'x' {
			out = append(out, 0)
			continue
		}
		argument++
		switch option {
		case 's', 'c':
			text := f.text(argument)
			if option == 's' || size == 0 {
				size = len(text)
			}
			if len(text) < size {
				argError(L, argument+1, "pack", "string too short")
			}
			r.bound(L, len(out)+size)
			out = append(r.room(L, out, size+1), text[:size]...)
			if option == 's' {
				out = append(out, 0)
			}
		case 'f':
			out = f.append(out, uint64(math.Float32bits(float32(f.float(argument)))), 4)
		case 'd':
			out = f.append(out, math.Float64bits(f.float(argument)), 8)
		default:
			out = f.append(out, integerBits(f.float(argument)), size)
		}
		r.guard.charge(L, size)
	}
	return r.pushText(L, out)
}

// text and float are arguments, of which a missing one counts as nil.
func (f *structFormat) text(argument int) string {
	if argument > f.L.GetTop() {
		argError(f.L, argument, f.function, "string expected, got nil")
	}
	return argString(f.L, argument, f.function)
}

func (f *structFormat) float(argument int) float64 {
	if argument > f.L.GetTop() {
		argError(f.L, argument, f.function, "number expected, got nil")
	}
	return argNumber(f.L, argument, f.function)
}

// integerBits is a number as 64 bits, negative or not.
func integerBits(f float64) uint64 {
	if f >= 1<<63 && f < 1<<64 {
		return uint64(f)
	}
	return uint64(toInteger(f))
}

// append appends the lower size bytes of n; beyond 8 they are zero.
func (f *structFormat) append(out []byte, n uint64, size int) []byte {
	var b [maxStructInteger]byte
	binary.LittleEndian.PutUint64(b[:], n)
	if f.bigEndian {
		for i := size - 1; i >= 0; i-- {
			out = append(out, b[i])
		}
		return out
	}
	return append(out, b[:size]...)
}

func (r *Runtime) structUnpack(L *lua.LState) int {
	f := structFormat{L: L, function: "unpack", rest: argString(L, 1, "unpack"), align: 1}
	data := argString(L, 2, "unpack")
	start := optInt(L, 3, "unpack", 1)
	if start < 1 {
		argError(L, 3, "unpack", "offset must be 1 or greater")
	}
	at := int(min(start-1, int64(len(data)+1)))
	values := 0
	for option, size, ok := f.next(); ok; option, size, ok = f.next() {
		r.guard.charge(L, size)
		if L.GetTop()+2 > maxCStack {
			raise(L, "stack overflow (too many results)")
		}
		at += f.padding(at, option, size)
		if size > len(data)-at {
			argError(L, 2, "unpack", "data string too short")
		}
		values++
		switch option {
		case 'x':
			values--
		case 'c':
			if size == 0 {
				if size, values = f.previousSize(values); size > len(data)-at {
					argError(L, 2, "unpack", "data string too short")
				}
			}
			L.Push(lua.LString(data[at : at+size]))
		case 's':
			text, _, found := strings.Cut(data[min(at, len(data)):], "\x00")
			if !found {
				raise(L, "unfinished string in data")
			}
			L.Push(lua.LString(text))
			size = len(text) + 1
		default:
			L.Push(f.number64(option, data[at:at+size]))
		}
		at += size
	}
	return values + pushNumber(L, float64(at+1))
}

// previousSize takes the number read before as the size of c0.
func (f *structFormat) previousSize(values int) (size, left int) {
	n, ok := f.L.Get(-1).(lua.LNumber)
	if values < 2 || !ok {
		raise(f.L, "format 'c0' needs a previous size")
	}
	f.L.Pop(1)
	if n < 0 || n > math.MaxInt32 {
		return math.MaxInt32, values - 1
	}
	return int(n), values - 1
}

func (f *structFormat) number64(option byte, data string) lua.LNumber {
	var b [8]byte
	for i := range min(len(data), 8) {
		if f.bigEndian {
			b[i] = data[len(data)-1-i]
		} else {
			b[i] = data[i]
		}
	}
	n := binary.LittleEndian.Uint64(b[:])
	switch option {
	case 'f':
		return lua.LNumber(math.Float32frombits(uint32(n)))
	case 'd':
		return lua.LNumber(math.Float64frombits(n))
	case 'B', 'H', 'I', 'L', 'T':
		return lua.LNumber(n)
	}
	unused := 64 - 8*min(len(data), 8)
	return lua.LNumber(int64(n<<unused) >> unused)
}

func structSize(L *lua.LState) int {
	f := structFormat{L: L, function: "size", rest: argString(L, 1, "size"), align: 1}
	total := 0
	for option, size, ok := f.next(); ok; option, size, ok = f.next() {
		total += f.padding(total, option, size)
		if option == 's' {
			argError(L, 1, "size", "option 's' has no fixed size")
		}
		if option == 'c' && size == 0 {
			argError(L, 1, "size", "option 'c0' has no fixed size")
		}
		total += size
	}
	return pushNumber(L, float64(total))
}
