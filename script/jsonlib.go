package script

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

func (r *Runtime) jsonFunctions() map[string]lua.LGFunction {
	o := &r.json
	return map[string]lua.LGFunction{
		"encode":           r.jsonEncode,
		"decode":           r.jsonDecode,
		"encode_max_depth": jsonSetting("encode_max_depth", integerSetting(&o.encodeMaxDepth, 1, math.MaxInt32)),
		"decode_max_depth": jsonSetting("decode_max_depth", integerSetting(&o.decodeMaxDepth, 1, math.MaxInt32)),
		"encode_number_precision": jsonSetting("encode_number_precision",
			integerSetting(&o.digits, 1, numberDigits)),
		"encode_keep_buffer": jsonSetting("encode_keep_buffer", booleanSetting(&o.keepBuffer)),
		"encode_sparse_array": jsonSetting("encode_sparse_array", booleanSetting(&o.sparseConvert),
			integerSetting(&o.sparseRatio, 0, math.MaxInt32), integerSetting(&o.sparseSafe, 0, math.MaxInt32)),
		"encode_invalid_numbers": jsonSetting("encode_invalid_numbers", invalidSetting(&o.encodeInvalid)),
		"decode_invalid_numbers": jsonSetting("decode_invalid_numbers", booleanSetting(&o.decodeInvalid)),
		"new":                    r.jsonNew,
	}
}

// setting changes an option to argument n, if that is given, and pushes what it is then.
type setting func(L *lua.LState, n int, function string)

func jsonSetting(function string, settings ...setting) lua.LGFunction {
	return func(L *lua.LState) int {
		if L.GetTop() > len(settings) {
			argError(L, len(settings)+1, function, "found too many arguments")
		}
		L.SetTop(len(settings))
		for i, set := range settings {
			set(L, i+1, function)
		}
		return len(settings)
	}
}

func integerSetting(target *int, low, high int64) setting {
	return func(L *lua.LState, n int, function string) {
		if L.Get(n) != lua.LNil {
			v := argInt(L, n, function)
			if v < low || v > high {
				argError(L, n, function, "expected integer between %d and %d", low, high)
			}
			*target = int(v)
		}
		pushNumber(L, float64(*target))
	}
}

func booleanSetting(target *bool) setting {
	return func(L *lua.LState, n int, function string) {
		switch v := L.Get(n); v {
		case lua.LNil:
		case lua.LTrue, lua.LFalse:
			*target = v == lua.LTrue
		default:
			switch text := argString(L, n, function); text {
			case "on", "off":
				*target = text == "on"
			default:
				argError(L, n, function, "invalid option '%s'", text)
			}
		}
		L.Push(lua.LBool(*target))
	}
}

func invalidSetting(target *invalidNumbers) setting {
	return func(L *lua.LState, n int, function string) {
		if L.Get(n) == lua.LString("null") {
			*target = invalidNull
			L.Push(lua.LString("null"))
			return
		}
		allowed := *target == invalidAllowed
		given := L.Get(n) != lua.LNil
		booleanSetting(&allowed)(L, n, function)
		if given {
			*target = invalidRefused
			if allowed {
				*target = invalidAllowed
			}
		} else if *target == invalidNull {
			L.Pop(1)
			L.Push(lua.LString("null"))
		}
	}
}

// jsonNew returns a library like cjson. Its options are those of cjson itself.
func (r *Runtime) jsonNew(L *lua.LState) int {
	t := L.NewTable()
	r.sandbox.real(r.sandbox.globals.RawGetString("cjson").(*lua.LTable)).ForEach(t.RawSet)
	L.Push(t)
	return 1
}
