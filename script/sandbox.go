package script

import (
	lua "github.com/yuin/gopher-lua"
)

// sandbox is a Lua state with read-only globals and libraries.
//
// The machine has no read-only tables. What scripts see instead are empty tables ("frozen"), whose metatable looks up in the
// real table and refuses writes: a write to a field that a table has itself would ask no metatable.
type sandbox struct {
	L       *lua.LState
	globals *lua.LTable                 // the real one
	env     *lua.LTable                 // _G, frozen
	content map[*lua.LTable]*lua.LTable // of frozen tables
	refuse  *lua.LFunction              // their __newindex
	strings *lua.LTable                 // metatable of strings, frozen
	null    *lua.LUserData              // cjson.null
	step    *lua.LFunction              // of ipairs
	missing *lua.LTable                 // metatable of _G, frozen
	long    *lua.LTable                 // metatable of long tables

	protected   *lua.LFunction // calls what is to be protected
	protections []protection   // by how many are under way
}

func newSandbox(r *Runtime) *sandbox {
	L := lua.NewState(lua.Options{
		SkipOpenLibs:     true,
		CallStackSize:    maxCalls,
		RegistrySize:     4096,
		RegistryMaxSize:  maxRegisters,
		RegistryGrowStep: 8192,
	})
	L.Options.CallStackSize, L.Options.RegistrySize = maxCoroutineCalls, 256 // for coroutines
	L.SetContext(r.guard)
	s := &sandbox{L: L, globals: L.NewTable(), content: map[*lua.LTable]*lua.LTable{}, null: L.NewUserData()}
	s.refuse = L.NewFunction(func(L *lua.LState) int {
		raise(L, "Attempt to modify a readonly table")
		return 0
	})
	s.step, s.protected = L.NewFunction(ipairsStep), L.NewFunction(protected)
	s.env = s.freeze(s.globals)
	L.Env = s.env

	missing := L.NewTable()
	missing.RawSetString("__index", L.NewFunction(func(L *lua.LState) int {
		name, _ := toText(L.Get(2))
		raise(L, "Script attempted to access nonexistent global variable '%s'", name)
		return 0
	}))
	s.globals.Metatable = missing
	s.missing = s.freeze(missing)

	s.long = L.NewTable()
	s.setFunctions(s.long, r.longEvents())

	s.setFunctions(s.globals, r.baseFunctions())
	s.globals.RawSetString("_G", s.env)
	s.globals.RawSetString("_VERSION", lua.LString("Lua 5.1"))
	s.setBasicMetatables(s.library("string", r.stringFunctions(), nil))
	s.library("table", r.tableFunctions(), nil)
	s.library("math", r.mathFunctions(), mathConstants)
	s.library("coroutine", r.coroutineFunctions(), nil)
	s.library("redis", r.redisFunctions(), redisConstants)
	s.library("bit", bitFunctions, nil)
	s.library("struct", r.structFunctions(), nil)
	s.library("cmsgpack", r.msgpackFunctions(), msgpackConstants)
	json := s.library("cjson", r.jsonFunctions(), jsonConstants)
	json.RawSetString("null", s.null)
	return s
}

// freeze returns a table through which content can be read and not be written.
func (s *sandbox) freeze(content *lua.LTable) *lua.LTable {
	meta := s.L.NewTable()
	meta.RawSetString("__index", content)
	meta.RawSetString("__newindex", s.refuse)
	frozen := s.L.CreateTable(0, 0)
	frozen.Metatable = meta
	s.content[frozen] = content
	return frozen
}

// real returns the table behind a frozen one, or the table itself.
func (s *sandbox) real(t *lua.LTable) *lua.LTable {
	if content, frozen := s.content[t]; frozen {
		return content
	}
	return t
}

func (s *sandbox) isFrozen(t *lua.LTable) bool {
	_, frozen := s.content[t]
	return frozen
}

// set sets a global variable.
func (s *sandbox) set(name string, v lua.LValue) { s.globals.RawSetString(name, v) }

// library makes a global table and returns what is behind it.
func (s *sandbox) library(name string, functions map[string]lua.LGFunction, constants map[string]lua.LValue) *lua.LTable {
	content := s.L.NewTable()
	s.setFunctions(content, functions)
	for key, v := range constants {
		content.RawSetString(key, v)
	}
	s.set(name, s.freeze(content))
	return content
}

func (s *sandbox) setFunctions(t *lua.LTable, functions map[string]lua.LGFunction) {
	for name, f := range functions {
		t.RawSetString(name, s.L.NewFunction(f))
	}
}

// setBasicMetatables gives metatables to the types that are no tables. The one of strings is Lua's; the others make the machine
// raise Lua's errors, not its own, which hold the whole key, and convert strings to numbers by Lua's rules. Scripts see none but
// that of strings.
func (s *sandbox) setBasicMetatables(stringLibrary *lua.LTable) {
	visible := s.L.NewTable()
	visible.RawSetString("__index", s.globals.RawGetString("string"))
	s.strings = s.freeze(visible)
	for _, v := range []lua.LValue{lua.LNil, lua.LTrue, lua.LNumber(0), lua.LString(""), s.L.NewFunction(nil), s.null, s.L} {
		meta := s.L.NewTable()
		s.setFunctions(meta, arithmeticEvents)
		if v.Type() == lua.LTString {
			meta.RawSetString("__index", stringLibrary)
		} else {
			s.setFunctions(meta, indexEvents)
		}
		if v.Type() != lua.LTFunction {
			s.setFunctions(meta, callEvent)
		}
		s.L.SetMetatable(v, meta)
	}
}

// reset makes the state ready for the next run, whatever the script left on the stack or in coroutines.
func (s *sandbox) reset() {
	s.L.SetTop(0)
	s.L.G.CurrentThread = s.L.G.MainThread
	for i := range s.protections {
		s.protections[i].caller = nil
	}
}
