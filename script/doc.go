// Package script runs Lua scripts as Redis 7.0 does: EVAL, EVALSHA and SCRIPT
// stand on it. It knows nothing of the server. Commands go out through a
// [Host], the reply goes to a resp.Writer.
//
// # A run
//
//	body -> Load: shebang, parse, rewrite, compile -> Program, cached by SHA1, its code for as long as there is room
//	Run: KEYS, ARGV -> function call -> redis.call -> Host.Call -> RESP bytes -> Lua value
//	                                 -> result -> RESP in the client's version
//
// One [Runtime] has one Lua state and one goroutine at a time in it, so that a
// run costs no setup. Nothing a script does is seen by the next: globals and
// libraries are read-only, and what can be set (RESP version, cjson's options)
// is set anew before each run. Only math.random goes on, as in Redis.
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
// The machine asks its context before each instruction whether to go on: that
// is our hook (guard.go). It sees [Runtime.Kill] at once, and looks at how much
// memory the process has from the system. That takes a microsecond, so a script
// has a credit between two looks: each instruction is charged with the most that it
// can take, and a library function asks before it takes memory, or works for
// long. A script ends with an error when it was killed, when a string passes
// [Options].MaxStringBytes, when the process would grow by MaxGrowthBytes, or
// where a stack, a pattern, a nesting or the script itself passes the limits in
// limits.go. Nobody is asked for the time: how long a script may run is for the
// server to say, by Kill.
//
// What a large script has used the runtime keeps as garbage, for minutes where
// the server is idle: [Runtime.Run] tells when it is time for GiveBack.
package script
