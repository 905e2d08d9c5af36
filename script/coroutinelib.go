package script

import (
	lua "github.com/yuin/gopher-lua"
)

// machineCoroutines are the machine's functions: they need what it does not export.
var machineCoroutines = func() map[string]lua.LGFunction {
	L := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer L.Close()
	L.Push(L.NewFunction(lua.OpenCoroutine))
	L.Call(0, 1)
	functions := map[string]lua.LGFunction{}
	L.Get(-1).(*lua.LTable).ForEach(func(name, f lua.LValue) {
		functions[name.String()] = f.(*lua.LFunction).GFunction
	})
	return functions
}()

func (r *Runtime) coroutineFunctions() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"create":  func(L *lua.LState) int { return r.createCoroutine(L, "create") },
		"resume":  r.resume,
		"running": coroutineRunning,
		"status":  coroutineStatus,
		"wrap":    r.wrap,
		"yield":   r.yield,
	}
}

func argThread(L *lua.LState, function string) *lua.LState {
	thread, ok := L.Get(1).(*lua.LState)
	if !ok {
		argError(L, 1, function, "coroutine expected")
	}
	return thread
}

// coroutineRunning does not push L: that may be the thread of a protected call within the coroutine.
func coroutineRunning(L *lua.LState) int {
	if current := L.G.CurrentThread; current != L.G.MainThread {
		L.Push(current)
	} else {
		L.Push(lua.LNil)
	}
	return 1
}

func coroutineStatus(L *lua.LState) int {
	thread := argThread(L, "status")
	text := "suspended"
	switch {
	case thread.Dead:
		text = "dead"
	case thread == L.G.CurrentThread:
		text = "running"
	case thread.Parent != nil:
		text = "normal"
	}
	L.Push(lua.LString(text))
	return 1
}

const (
	// coroutineBytes is what a coroutine takes when it is made, most of it its stack of calls.
	coroutineBytes = 64 << 10
	// callBytes is what one call takes of such a stack.
	callBytes = 88
)

// createCoroutine makes a coroutine of a function in Lua, as Redis's Lua does, and puts it under the same guard.
func (r *Runtime) createCoroutine(L *lua.LState, function string) int {
	if f, ok := L.Get(1).(*lua.LFunction); !ok || f.IsG {
		argError(L, 1, function, "Lua function expected")
	}
	r.guard.allocate(L, coroutineBytes)
	L.SetTop(1)
	n := machineCoroutines["create"](L)
	L.Get(-1).(*lua.LState).SetContext(r.guard)
	return n
}

func (r *Runtime) resume(L *lua.LState) int {
	thread := argThread(L, "resume")
	problem := ""
	switch {
	case thread.Dead:
		problem = "cannot resume dead coroutine"
	case L.G.CurrentThread == thread:
		problem = "cannot resume running coroutine"
	case thread.Parent != nil || thread == L.G.MainThread:
		problem = "cannot resume normal coroutine"
	case r.nested == maxNested:
		problem = "C stack overflow"
	}
	if L.GetTop() > maxCStack {
		raise(L, "too many arguments to resume")
	}
	if problem != "" {
		L.Push(lua.LFalse)
		L.Push(lua.LString(problem))
		return 2
	}
	nested, current := r.nested, L.G.CurrentThread
	r.nested++
	n := machineCoroutines["resume"](L)
	r.nested, L.G.CurrentThread = nested, current // the machine takes L, where a protected call may run, for the coroutine
	if n+1 > maxCStack {
		raise(L, "too many results to resume")
	}
	if L.Get(-n) == lua.LFalse {
		if text, ok := L.Get(-n + 1).(lua.LString); ok && n > 1 {
			L.Pop(1)
			L.Push(lua.LString(machineText(string(text))))
		}
	}
	return n
}

func (r *Runtime) wrap(L *lua.LState) int {
	r.createCoroutine(L, "wrap")
	thread := L.Get(-1)
	L.Push(L.NewFunction(func(L *lua.LState) int {
		L.Insert(thread, 1)
		n := r.resume(L)
		if L.Get(-n) == lua.LTrue {
			return n - 1
		}
		problem := L.Get(-1)
		if text, ok := toText(problem); ok {
			raise(L, "%s", text)
		}
		L.Error(problem, 0)
		return 0
	}))
	return 1
}

func (r *Runtime) yield(L *lua.LState) int {
	if L.Parent == nil {
		L.Error(lua.LString("attempt to yield across metamethod/C-call boundary"), 0)
	}
	return machineCoroutines["yield"](L)
}
