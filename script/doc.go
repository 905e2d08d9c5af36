// Package script runs Lua scripts as Redis 7.0 does: EVAL, EVALSHA and SCRIPT are built on it. It knows nothing of the
// server. Commands go out through a [Host], the reply goes to a resp.Writer.
//
// # A run
//
//	body -> Load: shebang, parse, rewrite, compile -> Program, cached by SHA1, its code for as long as there is room
//	Run: KEYS, ARGV -> function call -> redis.call -> Host.Call -> RESP bytes -> Lua value
//	                                 -> result -> RESP in the client's version
//
// One [Runtime] has one Lua state and one goroutine at a time in it, so that a
// run costs no setup. No script sees what another has done: globals and libraries are read-only, and settings (RESP
// version, cjson's options) are reset before each run. Only the state of math.random carries over, as in Redis.
//
// # The machine
//
// The Lua machine is github.com/yuin/gopher-lua. It differs from Lua 5.1 in
// many details (number formats, patterns, errors, lengths) and its libraries
// trust the script. Therefore all libraries here are our own, and the syntax
// tree is rewritten before it is compiled: a..b and #a become calls of hidden
// functions that format, measure and bound as Redis's Lua does. What is called
// protected runs on a thread of its own (protect.go), and lists from replies
// have a form of their own where they are long (longtable.go).
//
// # Bounds
//
// Before each instruction the machine checks its context for whether to go on: that is our hook (guard.go). The hook
// sees [Runtime.Kill] at once, and looks at how much memory the process has from the system. That takes a microsecond,
// so a script has a credit between two looks: each instruction is charged with the most that it can take, and a library
// function asks before it takes memory, or works for long. A script ends with an error when it is killed, when a string
// passes [Options].MaxStringBytes, when the process would grow by MaxGrowthBytes, or when a stack, a pattern, a nesting
// or the script itself passes the limits in limits.go. Time is not checked here: the server decides how long a script
// may run, and calls Kill.
//
// The Go runtime keeps the memory of a large script as garbage, for minutes if the server is idle: [Runtime.Run] tells
// when to call GiveBack.
package script
