package script

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// jsonOptions are what a script can set of cjson, for the rest of its run.
type jsonOptions struct {
	encodeInvalid  invalidNumbers
	decodeInvalid  bool
	sparseConvert  bool
	sparseRatio    int
	sparseSafe     int
	encodeMaxDepth int
	decodeMaxDepth int
	digits         int
	keepBuffer     bool
}

// invalidNumbers is what becomes of infinities and of what is no number.
type invalidNumbers int

const (
	invalidRefused invalidNumbers = iota
	invalidAllowed
	invalidNull
)

var defaultJSON = jsonOptions{
	decodeInvalid: true, sparseRatio: 2, sparseSafe: 10,
	encodeMaxDepth: 1000, decodeMaxDepth: 1000, digits: numberDigits, keepBuffer: true,
}

var jsonConstants = map[string]lua.LValue{"_NAME": lua.LString("cjson"), "_VERSION": lua.LString("2.1.0")}

type jsonEncoder struct {
	r   *Runtime
	L   *lua.LState
	out []byte
}

func (r *Runtime) jsonEncode(L *lua.LState) int {
	if L.GetTop() != 1 {
		argError(L, 1, "encode", "expected 1 argument")
	}
	e := jsonEncoder{r: r, L: L}
	e.value(L.Get(1), 0)
	return r.pushText(L, e.out)
}

func (e *jsonEncoder) refuse(v lua.LValue, why string) {
	raise(e.L, "Cannot serialise %s: %s", v.Type(), why)
}

func (e *jsonEncoder) value(v lua.LValue, depth int) {
	e.r.bound(e.L, len(e.out))
	e.r.guard.charge(e.L, 16)
	e.out = e.r.room(e.L, e.out, 2*numberBytes) // and what is around a value
	switch v := v.(type) {
	case lua.LString:
		e.text(string(v))
	case lua.LNumber:
		e.number(v)
	case lua.LBool:
		e.out = append(e.out, v.String()...)
	case *lua.LNilType:
		e.out = append(e.out, "null"...)
	case *lua.LTable:
		if depth++; depth > min(e.r.json.encodeMaxDepth, maxJSONDepth) {
			raise(e.L, "Cannot serialise, excessive nesting (%d)", depth)
		}
		t := e.r.sandbox.real(v)
		if n := e.arrayLength(v, t); n > 0 {
			e.array(t, n, depth)
		} else {
			e.object(t, depth)
		}
	default:
		if v == e.r.sandbox.null {
			e.out = append(e.out, "null"...)
			return
		}
		e.refuse(v, "type not supported")
	}
}

// arrayLength is the largest key of a table whose keys are all positive integers, else 0.
func (e *jsonEncoder) arrayLength(v lua.LValue, t *lua.LTable) int {
	largest, count, isArray := 0.0, 0, true
	t.ForEach(func(key, _ lua.LValue) {
		n, ok := key.(lua.LNumber)
		isArray = isArray && ok && n > 0 && float64(n) == math.Floor(float64(n))
		largest = max(largest, float64(n))
		count++
	})
	if !isArray || count == 0 {
		return 0
	}
	o := e.r.json
	if o.sparseRatio > 0 && largest > float64(count*o.sparseRatio) && largest > float64(o.sparseSafe) {
		if !o.sparseConvert {
			e.refuse(v, "excessively sparse array")
		}
		return 0
	}
	return int(min(largest, math.MaxInt32))
}

func (e *jsonEncoder) array(t *lua.LTable, n, depth int) {
	e.out = append(e.out, '[')
	for i := 1; i <= n; i++ {
		if i > 1 {
			e.out = append(e.out, ',')
		}
		e.value(element(t, i), depth)
	}
	e.out = append(e.r.room(e.L, e.out, 1), ']')
}

func (e *jsonEncoder) object(t *lua.LTable, depth int) {
	e.out = append(e.out, '{')
	first := true
	for key, v := nextField(t, lua.LNil); key != lua.LNil; key, v = nextField(t, key) {
		e.out = e.r.room(e.L, e.out, 2*numberBytes)
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		switch k := key.(type) {
		case lua.LString:
			e.text(string(k))
		case lua.LNumber:
			e.out = append(e.out, '"')
			e.number(k)
			e.out = append(e.out, '"')
		default:
			e.refuse(key, "table key must be a number or string")
		}
		e.out = append(e.out, ':')
		e.value(v, depth)
	}
	e.out = append(e.r.room(e.L, e.out, 1), '}')
}

func (e *jsonEncoder) number(n lua.LNumber) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		switch e.r.json.encodeInvalid {
		case invalidRefused:
			e.refuse(n, "must not be NaN or Inf")
		case invalidNull:
			e.out = append(e.out, "null"...)
			return
		case invalidAllowed:
			if math.IsNaN(f) {
				f = math.Copysign(f, 1)
			}
		}
	}
	e.out = appendNumber(e.out, f, e.r.json.digits)
}

const hexDigits = "0123456789abcdef"

func (e *jsonEncoder) text(s string) {
	e.r.guard.charge(e.L, len(s))
	e.r.bound(e.L, len(e.out)+len(s))
	e.out = append(e.r.room(e.L, e.out, len(s)+2*numberBytes), '"')
	for i := range len(s) {
		e.out = e.r.room(e.L, e.out, 2*numberBytes)
		c := s[i]
		switch {
		case c == '"' || c == '\\' || c == '/':
			e.out = append(e.out, '\\', c)
		case '\b' <= c && c <= '\r' && c != '\v':
			e.out = append(e.out, '\\', "btn_fr"[c-'\b'])
		case c < ' ' || c == 127:
			e.out = append(e.out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			e.out = append(e.out, c)
		}
	}
	e.out = append(e.out, '"')
}
