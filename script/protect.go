package script

import (
	"fmt"
	"sort"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file has protected calls: those of pcall and xpcall, and that of the script itself.
//
// The machine has two faults in what it does on an error. It closes the variables of all functions on the stack, also of those
// that go on after the error was caught: their closures then see other variables than they do. And it writes a stack trace with a
// line for each tail call, of which there may be 10^9. So a protected call runs on a thread of its own, whose functions all end
// with the error, and [protected] makes the trace.

// protected is a function of Lua that calls its first argument with the others. It is the lowest on the stack of each protected
// call. An error gets the place where it was raised for a stack trace, and so no other one.
func protected(L *lua.LState) int {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case *lua.ApiError:
			problem.StackTrace = place(L)
			panic(problem)
		default:
			panic(&lua.ApiError{Type: lua.ApiErrorPanic, Object: lua.LString(fmt.Sprint(problem)), StackTrace: firstLine})
		}
	}()
	L.Call(L.GetTop()-1, lua.MultRet)
	return L.GetTop()
}

// place is where the innermost function in Lua is at the moment: @user_script:3.
func place(L *lua.LState) string {
	for level := 0; ; level++ {
		if _, more := L.GetStack(level); !more {
			return firstLine
		}
		if at := L.Where(level); !strings.HasPrefix(at, "[G]") {
			return "@" + strings.TrimSuffix(at, ":")
		}
	}
}

// protection is a thread on which protected calls run, one at a time.
type protection struct {
	thread *lua.LState
	caller *lua.LState // of the present call
}

// try calls the function below the n topmost values, which it takes from the stack, and pushes the results. Or it returns the
// error and pushes nothing. An end of the script is no error that it could catch: the next instruction ends it again.
func (r *Runtime) try(L *lua.LState, n int) lua.LValue { return r.tryWithin(L, n, maxNested-1) }

// tryWithin is try where so many coroutines and protected calls are allowed within each other.
func (r *Runtime) tryWithin(L *lua.LState, n, depth int) lua.LValue {
	if r.nested >= depth {
		L.SetTop(L.GetTop() - n - 1)
		return lua.LString("C stack overflow")
	}
	nested, protections, current := r.nested, r.protections, L.G.CurrentThread
	thread := r.protect(L)
	r.nested++
	thread.SetTop(0)
	thread.Push(r.sandbox.protected)
	L.XMoveTo(thread, n+1)
	err := thread.PCall(n+1, lua.MultRet, nil)
	r.nested, r.protections, L.G.CurrentThread = nested, protections, current
	if err == nil {
		thread.XMoveTo(L, thread.GetTop())
		return nil
	}
	object := err.(*lua.ApiError).Object
	if text, ok := object.(lua.LString); ok {
		if r.guard.fits(4 * len(text)) {
			text = lua.LString(machineText(string(text)))
		}
		return text
	}
	return object
}

// protect returns the thread for a protected call by L within those that are under way.
func (r *Runtime) protect(L *lua.LState) *lua.LState {
	s := r.sandbox
	if r.protections == len(s.protections) {
		calls := maxCalls
		if r.protections >= maxDeepProtections {
			calls = maxCoroutineCalls
		}
		s.protections = append(s.protections, protection{thread: r.newThread(L, calls)})
	}
	p := &s.protections[r.protections]
	p.caller = L
	r.protections++
	return p.thread
}

// newThread makes a thread under the same guard that has room for so many calls.
func (r *Runtime) newThread(L *lua.LState, calls int) *lua.LState {
	r.guard.allocate(L, coroutineBytes+calls*callBytes)
	options := L.Options
	L.Options.CallStackSize = calls
	thread, _ := L.NewThread()
	L.Options, thread.Options = options, options
	thread.SetContext(r.guard)
	return thread
}

// where is the place of the function at a level of the stack, as the machine's Where gives it, also beyond protected calls.
func (r *Runtime) where(L *lua.LState, level int) string {
	for {
		if _, found := L.GetStack(level); found {
			return L.Where(level)
		}
		caller := r.callerOf(L)
		if caller == nil {
			return ""
		}
		depth := sort.Search(level, func(n int) bool { _, found := L.GetStack(n); return !found })
		level -= depth - 1 // the lowest, protected, stands for pcall, which is level 0 there
		L = caller
	}
}

// callerOf returns the thread that called pcall, if L runs what was called so.
func (r *Runtime) callerOf(L *lua.LState) *lua.LState {
	for _, p := range r.sandbox.protections[:r.protections] {
		if p.thread == L {
			return p.caller
		}
	}
	return nil
}
