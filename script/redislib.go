package script

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

var redisConstants = map[string]lua.LValue{
	"LOG_DEBUG":         lua.LNumber(LogDebug),
	"LOG_VERBOSE":       lua.LNumber(LogVerbose),
	"LOG_NOTICE":        lua.LNumber(LogNotice),
	"LOG_WARNING":       lua.LNumber(LogWarning),
	"REPL_NONE":         lua.LNumber(0),
	"REPL_AOF":          lua.LNumber(replAOF),
	"REPL_SLAVE":        lua.LNumber(replReplica),
	"REPL_REPLICA":      lua.LNumber(replReplica),
	"REPL_ALL":          lua.LNumber(replAOF | replReplica),
	"REDIS_VERSION":     lua.LString("7.0.15"),
	"REDIS_VERSION_NUM": lua.LNumber(7<<16 | 0<<8 | 15),
}

func (r *Runtime) redisFunctions() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"call":               func(L *lua.LState) int { return r.call(L, true) },
		"pcall":              func(L *lua.LState) int { return r.call(L, false) },
		"error_reply":        func(L *lua.LState) int { return singleField(L, "err") },
		"status_reply":       func(L *lua.LState) int { return singleField(L, "ok") },
		"sha1hex":            r.sha1hex,
		"log":                r.log,
		"setresp":            r.setresp,
		"set_repl":           setReplication,
		"acl_check_cmd":      r.checkACL,
		"replicate_commands": func(L *lua.LState) int { L.Push(lua.LTrue); return 1 },
		"breakpoint":         func(L *lua.LState) int { L.Push(lua.LFalse); return 1 }, // no debugger is attached
		"debug":              func(*lua.LState) int { return 0 },
	}
}

const (
	noCommandText = "ERR Please specify at least one argument for this redis lib call"
	badWordText   = "ERR Lua redis lib command arguments must be strings or integers"
)

// call is redis.call, which raises the error of a command, and redis.pcall, which returns it.
func (r *Runtime) call(L *lua.LState, raises bool) int {
	words, problem := r.takeWords(L)
	if problem != "" {
		return failed(L, problem, raises)
	}
	reply := r.host.Call(words, r.version)
	if len(reply) > 0 && reply[0] == '-' {
		line, _, _ := strings.Cut(string(reply[1:]), "\r\n")
		return failed(L, line, raises)
	}
	p := replyParser{r: r, L: L, guard: r.guard, in: reply}
	L.Push(p.value())
	return 1
}

// takeWords reads the arguments of a Lua function as a command. They are in memory that the next call reuses.
func (r *Runtime) takeWords(L *lua.LState) (words [][]byte, problem string) {
	n := L.GetTop()
	if n == 0 {
		return nil, noCommandText
	}
	total := 0
	for i := 1; i <= n; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			total += len(v)
		case lua.LNumber:
			total += 32
		default:
			return nil, badWordText
		}
	}
	r.bound(L, total)
	if cap(r.bytes) < total || cap(r.bytes) > keptBytes && total < keptBytes { // words must not move, nor keep a giant's memory
		r.guard.allocate(L, 2*total) // the reply may be as long
		r.bytes = make([]byte, 0, total+256)
	}
	buffer := r.bytes[:0]
	words = r.words[:0]
	for i := 1; i <= n; i++ {
		start := len(buffer)
		switch v := L.Get(i).(type) {
		case lua.LString:
			buffer = append(buffer, v...)
		case lua.LNumber:
			buffer = appendNumber(buffer, float64(v), redisDigits)
		}
		words = append(words, buffer[start:len(buffer):len(buffer)])
	}
	r.words = words
	return words, ""
}

// failed raises or returns an error as Redis's scripts see it.
func failed(L *lua.LState, text string, raises bool) int {
	t := L.CreateTable(0, 2)
	t.RawSetString("err", lua.LString(text))
	t.RawSetString("ignore_error_stats_update", lua.LTrue)
	if raises {
		L.Error(t, 1)
	}
	L.Push(t)
	return 1
}

// singleField is redis.error_reply and redis.status_reply.
func singleField(L *lua.LState, field string) int {
	text, ok := L.Get(1).(lua.LString)
	if L.GetTop() != 1 || !ok {
		return failedPlain(L, "ERR wrong number or type of arguments")
	}
	if field == "err" {
		return failedPlain(L, string(text))
	}
	t := L.CreateTable(0, 1)
	t.RawSetString(field, text)
	L.Push(t)
	return 1
}

// failedPlain returns an error table. A text of one word has no code, so it gets ERR; a '-' in front is dropped.
func failedPlain(L *lua.LState, text string) int {
	if rest, coded := strings.CutPrefix(text, "-"); coded {
		text = rest
	}
	if !strings.Contains(text, " ") {
		text = "ERR " + text
	}
	t := L.CreateTable(0, 1)
	t.RawSetString("err", lua.LString(text))
	L.Push(t)
	return 1
}

func (r *Runtime) sha1hex(L *lua.LState) int {
	if L.GetTop() != 1 {
		return failed(L, "ERR wrong number of arguments", true)
	}
	text, _ := toText(L.Get(1))
	r.guard.charge(L, len(text))
	r.guard.allocate(L, len(text))
	hash := sha1.Sum([]byte(text))
	L.Push(lua.LString(hex.EncodeToString(hash[:])))
	return 1
}

func (r *Runtime) log(L *lua.LState) int {
	n := L.GetTop()
	if n < 2 {
		return failed(L, "ERR redis.log() requires two arguments or more.", true)
	}
	level, ok := toNumber(L.Get(1))
	if !ok {
		return failed(L, "ERR First argument must be a number (log level).", true)
	}
	if level < LogDebug || level > LogWarning {
		return failed(L, "ERR Invalid debug level.", true)
	}
	var words []string
	total := 0
	for i := 2; i <= n; i++ {
		if text, ok := toText(L.Get(i)); ok {
			words = append(words, text)
			total += len(text) + 1
		}
	}
	r.bound(L, total)
	r.guard.allocate(L, 3*total) // and the log's line
	r.host.Log(int(level), strings.Join(words, " "))
	return 0
}

func (r *Runtime) setresp(L *lua.LState) int {
	if L.GetTop() != 1 {
		return failed(L, "ERR redis.setresp() requires one argument.", true)
	}
	version, _ := toNumber(L.Get(1))
	if version != 2 && version != 3 {
		return failed(L, "ERR RESP version must be 2 or 3.", true)
	}
	r.version = int(version)
	return 0
}

// setReplication checks its argument and does nothing: what is told on is the host's affair.
func setReplication(L *lua.LState) int {
	if L.GetTop() != 1 {
		return failed(L, "ERR redis.set_repl() requires two arguments.", true)
	}
	n, _ := toNumber(L.Get(1))
	flags := int(toInteger(float64(n)))
	if flags&^(replAOF|replReplica) != 0 {
		return failed(L, "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.", true)
	}
	return 0
}

func (r *Runtime) checkACL(L *lua.LState) int {
	words, problem := r.takeWords(L)
	if problem != "" {
		return failed(L, problem, true)
	}
	checker, ok := r.host.(ACLChecker)
	if !ok {
		L.Push(lua.LTrue)
		return 1
	}
	allowed, known := checker.CheckACL(words)
	if !known {
		return failed(L, "ERR Invalid command passed to redis.acl_check_cmd()", true)
	}
	L.Push(lua.LBool(allowed))
	return 1
}
