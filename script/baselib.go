package script

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func (r *Runtime) baseFunctions() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		concatName:       r.concat,
		lengthName:       length,
		"assert":         baseAssert,
		"collectgarbage": collectGarbage,
		"error":          r.error,
		"gcinfo":         func(L *lua.LState) int { L.Push(lua.LNumber(0)); return 1 },
		"getmetatable":   r.getmetatable,
		"ipairs":         r.ipairs,
		"load":           r.load,
		"loadstring":     r.loadstring,
		"next":           func(L *lua.LState) int { return r.next(L, "next") },
		"pairs":          r.pairs,
		"pcall":          r.pcall,
		"rawequal": func(L *lua.LState) int {
			L.Push(lua.LBool(L.RawEqual(argAny(L, 1, "rawequal"), argAny(L, 2, "rawequal"))))
			return 1
		},
		"rawget":       r.rawget,
		"rawset":       r.rawset,
		"select":       baseSelect,
		"setmetatable": r.setmetatable,
		"tonumber":     baseToNumber,
		"tostring":     baseToString,
		"type":         func(L *lua.LState) int { L.Push(lua.LString(argAny(L, 1, "type").Type().String())); return 1 },
		"unpack":       unpack,
		"xpcall":       r.xpcall,
	}
}

// concat is the operator .. for two or more operands.
func (r *Runtime) concat(L *lua.LState) int {
	n := L.GetTop()
	total := 0
	for i := 1; i <= n; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			total += len(v)
		case lua.LNumber:
			total += numberBytes
		default:
			return r.concatByMetatables(L, n)
		}
	}
	r.bound(L, total-n*numberBytes) // the digits of numbers are not known yet
	buffer := r.room(L, r.joined[:0], total)
	for i := 1; i <= n; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			buffer = append(buffer, v...)
		case lua.LNumber:
			buffer = appendNumber(buffer, float64(v), numberDigits)
		}
	}
	if cap(buffer) <= keptBytes {
		r.joined = buffer
	}
	r.guard.charge(L, len(buffer))
	return r.pushText(L, buffer)
}

// concatByMetatables works from right to left, as the operator does.
func (r *Runtime) concatByMetatables(L *lua.LState, n int) int {
	right := L.Get(n)
	for i := n - 1; i > 0; i-- {
		left := L.Get(i)
		a, okA := toText(left)
		b, okB := toText(right)
		if okA && okB {
			r.bound(L, len(a)+len(b))
			r.guard.charge(L, len(a)+len(b))
			r.guard.allocate(L, len(a)+len(b))
			right = lua.LString(a + b)
			continue
		}
		handler := L.GetMetaField(left, "__concat")
		if handler == lua.LNil {
			handler = L.GetMetaField(right, "__concat")
		}
		if handler == lua.LNil {
			if okA {
				left = right
			}
			raise(L, "attempt to concatenate a %s value", left.Type())
		}
		L.Push(handler)
		L.Push(left)
		L.Push(right)
		L.Call(2, 1)
		right = L.Get(-1)
		L.Pop(1)
	}
	L.Push(right)
	return 1
}

// length is the operator #.
func length(L *lua.LState) int {
	switch v := L.Get(1).(type) {
	case lua.LString:
		L.Push(lua.LNumber(len(v)))
	case *lua.LTable:
		L.Push(lua.LNumber(tableLength(v)))
	default:
		raise(L, "attempt to get length of a %s value", v.Type())
	}
	return 1
}

// tableLength goes on where the machine's array ends, by doubling and halving: any n is right that has a value, and n+1 has none.
func tableLength(t *lua.LTable) int {
	n := t.Len()
	if n < maxArrayIndex-1 {
		return n
	}
	end := 2 * n
	for t.RawGet(lua.LNumber(end)) != lua.LNil {
		n, end = end, 2*end
	}
	for end-n > 1 {
		if middle := (n + end) / 2; t.RawGet(lua.LNumber(middle)) != lua.LNil {
			n = middle
		} else {
			end = middle
		}
	}
	return n
}

func baseAssert(L *lua.LState) int {
	if lua.LVAsBool(argAny(L, 1, "assert")) {
		return L.GetTop()
	}
	message := "assertion failed!"
	if L.GetTop() > 1 {
		message = argString(L, 2, "assert")
	}
	raise(L, "%s", message)
	return 0
}

func collectGarbage(L *lua.LState) int {
	switch option := L.Get(1); option {
	case lua.LNil, lua.LString("collect"), lua.LString("stop"), lua.LString("restart"), lua.LString("step"),
		lua.LString("setpause"), lua.LString("setstepmul"):
		L.Push(lua.LNumber(0))
	case lua.LString("count"):
		L.Push(lua.LNumber(64)) // of Kb: a script can do nothing with the truth
	default:
		argError(L, 1, "collectgarbage", "invalid option '%s'", argString(L, 1, "collectgarbage"))
	}
	return 1
}

func (r *Runtime) error(L *lua.LState) int {
	v := L.Get(1)
	level := optInt(L, 2, "error", 1)
	if text, ok := toText(v); ok && level > 0 {
		r.guard.allocate(L, 2*len(text))
		if at := r.where(L, int(min(level, maxStackLevel))); at != "" && !strings.HasPrefix(at, "[G]") {
			text = at + " " + text
		}
		v = lua.LString(text)
	}
	L.Error(v, 0)
	return 0
}

func (r *Runtime) getmetatable(L *lua.LState) int {
	switch v := argAny(L, 1, "getmetatable").(type) {
	case lua.LString:
		L.Push(r.sandbox.strings)
	case *lua.LTable:
		if v == r.sandbox.env {
			L.Push(r.sandbox.missing)
		} else if r.sandbox.isFrozen(v) || v.Metatable == r.sandbox.long {
			L.Push(lua.LNil)
		} else {
			L.Push(L.GetMetatable(v))
		}
	default:
		L.Push(lua.LNil)
	}
	return 1
}

func (r *Runtime) setmetatable(L *lua.LState) int {
	t := argTable(L, 1, "setmetatable")
	meta := L.Get(2)
	if _, ok := meta.(*lua.LTable); !ok && (meta != lua.LNil || L.GetTop() < 2) {
		argError(L, 2, "setmetatable", "nil or table expected")
	}
	r.refuseFrozen(L, t)
	r.shorten(L, t)
	if L.GetMetaField(t, "__metatable") != lua.LNil {
		raise(L, "cannot change a protected metatable")
	}
	L.SetMetatable(t, meta)
	L.Push(t)
	return 1
}

func (r *Runtime) refuseFrozen(L *lua.LState, t *lua.LTable) {
	if r.sandbox.isFrozen(t) {
		L.Error(lua.LString("Attempt to modify a readonly table"), 0)
	}
}

func (r *Runtime) rawget(L *lua.LState) int {
	t := argTable(L, 1, "rawget")
	key := argAny(L, 2, "rawget")
	if n, ok := key.(lua.LNumber); ok && n == lua.LNumber(int(n)) {
		L.Push(element(r.sandbox.real(t), int(n)))
	} else {
		L.Push(r.sandbox.real(t).RawGet(key))
	}
	return 1
}

func (r *Runtime) rawset(L *lua.LState) int {
	t := argTable(L, 1, "rawset")
	key, v := argAny(L, 2, "rawset"), argAny(L, 3, "rawset")
	r.refuseFrozen(L, t)
	r.shorten(L, t)
	L.RawSet(t, key, v)
	L.Push(t)
	return 1
}

func (r *Runtime) next(L *lua.LState, function string) int {
	t := r.sandbox.real(argTable(L, 1, function))
	key, v := nextField(t, L.Get(2))
	for key != lua.LNil && isHidden(key) {
		key, v = nextField(t, key)
	}
	if key == lua.LNil {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(key)
	L.Push(v)
	return 2
}

// isHidden tells the names of the functions that operators became.
func isHidden(key lua.LValue) bool {
	name, ok := key.(lua.LString)
	return ok && (name == concatName || name == lengthName)
}

func (r *Runtime) pairs(L *lua.LState) int {
	t := argTable(L, 1, "pairs")
	L.Push(r.sandbox.globals.RawGetString("next"))
	L.Push(t)
	L.Push(lua.LNil)
	return 3
}

func (r *Runtime) ipairs(L *lua.LState) int {
	t := argTable(L, 1, "ipairs")
	L.Push(r.sandbox.step)
	L.Push(t)
	L.Push(lua.LNumber(0))
	return 3
}

// ipairsStep is the iterator of ipairs.
func ipairsStep(L *lua.LState) int {
	t, i := argTable(L, 1, "ipairs"), lua.LNumber(argNumber(L, 2, "ipairs"))+1
	v := element(t, int(i))
	if v == lua.LNil {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(i)
	L.Push(v)
	return 2
}

// pcall gives the text of a command's error, not its table: so does Redis's.
func (r *Runtime) pcall(L *lua.LState) int {
	if L.GetTop() == 0 {
		L.Push(lua.LFalse) // Redis's own pcall looks at the wrong place of its stack
	}
	if err := r.try(L, L.GetTop()-1); err != nil {
		if t, ok := err.(*lua.LTable); ok {
			if text, ok := toText(t.RawGetString("err")); ok {
				err = lua.LString(text)
			}
		}
		L.Push(lua.LFalse)
		L.Push(err)
		return 2
	}
	L.Insert(lua.LTrue, 1)
	return L.GetTop()
}

func (r *Runtime) xpcall(L *lua.LState) int {
	handler := argAny(L, 2, "xpcall")
	L.SetTop(1)
	err := r.try(L, 0)
	if err == nil {
		L.Insert(lua.LTrue, 1)
		return L.GetTop()
	}
	L.Push(lua.LFalse)
	for range maxNested { // an error of the handler is one for the handler
		L.Push(handler)
		L.Push(err)
		if err = r.tryWithin(L, 1, maxNestedHandlers); err == nil {
			L.SetTop(2)
			return 2
		}
	}
	L.Push(lua.LString("error in error handling"))
	return 2
}

func (r *Runtime) loadstring(L *lua.LState) int {
	code := argString(L, 1, "loadstring")
	return r.loadChunk(L, code, chunkTitle(L, 2, "loadstring", code))
}

func (r *Runtime) load(L *lua.LState) int {
	reader := argFunction(L, 1, "load")
	title := chunkTitle(L, 2, "load", "=(load)")
	var code []byte
	for {
		top := L.GetTop()
		L.Push(reader)
		if err := r.try(L, 0); err != nil {
			L.Push(lua.LNil)
			L.Push(err)
			return 2
		}
		part := L.Get(top + 1)
		L.SetTop(top)
		text, ok := toText(part)
		if part != lua.LNil && !ok {
			L.Push(lua.LNil)
			L.Push(lua.LString("reader function must return a string"))
			return 2
		}
		if text == "" {
			return r.loadChunk(L, string(code), title)
		}
		r.bound(L, len(code)+len(text))
		r.guard.charge(L, len(text))
		code = append(r.room(L, code, len(text)), text...)
	}
}

func (r *Runtime) loadChunk(L *lua.LState, code, title string) int {
	r.guard.charge(L, 100*len(code))
	r.guard.allocate(L, compileFactor*min(len(code), MaxBodyBytes)+len(code))
	proto, err := compile([]byte(code), title)
	if err != nil {
		L.Push(lua.LNil)
		L.Push(lua.LString(err.Error()))
		return 2
	}
	L.Push(L.NewFunctionFromProto(proto))
	return 1
}

// chunkTitle is the name of a chunk as it is shown: of code that is its own name the first line.
func chunkTitle(L *lua.LState, n int, function, otherwise string) string {
	name := otherwise
	if L.Get(n) != lua.LNil {
		name = argString(L, n, function)
	}
	if name != "" && (name[0] == '=' || name[0] == '@') {
		return name[1:]
	}
	const longest = 45
	line, _, cut := strings.Cut(name, "\n")
	if len(line) > longest {
		line, cut = line[:longest], true
	}
	if cut {
		line += "..."
	}
	return fmt.Sprintf("[string \"%s\"]", line)
}

func baseSelect(L *lua.LState) int {
	n := int64(L.GetTop())
	if L.Get(1) == lua.LString("#") {
		L.Push(lua.LNumber(n - 1))
		return 1
	}
	i := argInt(L, 1, "select")
	if i < 0 {
		i += n
	} else if i > n {
		i = n
	}
	if i < 1 {
		argError(L, 1, "select", "index out of range")
	}
	return int(n - i)
}

func baseToNumber(L *lua.LState) int {
	base := optInt(L, 2, "tonumber", 10)
	if base == 10 {
		if n, ok := toNumber(argAny(L, 1, "tonumber")); ok {
			L.Push(n)
			return 1
		}
		L.Push(lua.LNil)
		return 1
	}
	text := argString(L, 1, "tonumber")
	if base < 2 || base > 36 {
		argError(L, 2, "tonumber", "base out of range")
	}
	L.Push(parseBase(text, int(base)))
	return 1
}

func baseToString(L *lua.LState) int {
	v := argAny(L, 1, "tostring")
	if handler := L.GetMetaField(v, "__tostring"); handler != lua.LNil {
		L.Push(handler)
		L.Push(v)
		L.Call(1, 1)
		return 1
	}
	L.Push(lua.LString(tostring(v)))
	return 1
}

func tostring(v lua.LValue) string {
	switch v := v.(type) {
	case lua.LNumber:
		return numberText(v)
	case *lua.LUserData:
		return "userdata: (nil)" // there is but cjson.null
	}
	return v.String()
}

func unpack(L *lua.LState) int {
	t := argTable(L, 1, "unpack")
	first := optInt(L, 2, "unpack", 1)
	last := optInt(L, 3, "unpack", int64(tableLength(t)))
	if first > last {
		return 0
	}
	if n := last - first + 1; n <= 0 || n+int64(L.GetTop()) > maxCStack {
		raise(L, "too many results to unpack")
	}
	for i := first; i <= last; i++ {
		L.Push(element(t, int(i)))
	}
	return int(last - first + 1)
}
