package script

import (
	"strings"
	"testing"
	"time"

	"github.com/cellserver/cellserver/resp"
)

const killedText = "-ERR Script killed by user with SCRIPT KILL... script: "

// endless are scripts that do not end by themselves, or not within minutes: in Lua, in each loop of the machine that passes the
// guard by, and in library functions.
var endless = []string{
	"while true do end",
	"repeat until false",
	"for i = 1, math.huge do end",
	"for i = 1, 0, 0 do end while true do end",
	"while true do pcall(function() while true do end end) end",
	"while true do pcall(error) end",
	"while true do xpcall(function() error('x') end, function() end) end",
	"while true do xpcall(error, error) end",

	// Tail calls.
	"local function f() return f() end f()",
	"local function f(...) return f(...) end f(1, 2, 3)",
	"local f, g f = function() return g() end g = function() return f() end f()",
	"local function f() return pcall(f) end while true do f() end",
	"local function f(n) if n == 0 then error('x') end return f(n - 1) end while true do pcall(f, 1e7) end",
	"local function f(n) if n == 0 then return pcall(error) end return f(n - 1) end while true do f(1e7) end",
	"local t = setmetatable({}, {__call = function(t) return t() end}) t()",
	"local f f = function() return select(2, pcall(f)) end while true do f() end",
	"local c = coroutine.wrap(function() local function f() return f() end f() end) c()",

	// Coroutines.
	"coroutine.wrap(function() while true do end end)()",
	"while true do coroutine.wrap(function() coroutine.yield() end)() end",
	"local c = coroutine.wrap(function() while true do coroutine.yield() end end) while true do c() end",
	"local f f = function() local c = coroutine.create(f) while true do coroutine.resume(c) end end f()",
	"local c = coroutine.create(function() while true do pcall(coroutine.yield) end end) while true do coroutine.resume(c) end",

	// Metamethods.
	"local t = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) while true do pcall(function() return t[1] end) end",
	"local t = {} for i = 1, 90 do t = setmetatable({}, {__index = t}) end while true do local x = t.x end",
	"local t = setmetatable({}, {__lt = function() return true end}) while t < t do end",
	"local t = setmetatable({}, {__concat = function(a) return a end}) while true do t = t .. 'x' end",
	"local t = setmetatable({}, {__eq = function() return true end}) local u = setmetatable({}, getmetatable(t)) while t == u do end",
	"local t = setmetatable({}, {__tostring = function(t) return tostring(t) end}) while true do pcall(tostring, t) end",
	"local t = setmetatable({}, {__newindex = function(t, k, v) t[k] = v end}) while true do pcall(function() t.x = 1 end) end",

	// Tables that take long at each step.
	"local t = {} for i = 1, 1e6 do local k = 'k' .. i t[k] = 1 t[k] = nil end while true do next(t) end",
	"local t = {} for i = 1, 32000 do t[i] = 1 end for i = 1, 32000 do t[i] = nil end while true do local n = #t end",
	"local t = {} for i = 1, 2e5 do t[i] = i end while true do table.insert(t, 1, 0) end",
	"local t = {} for i = 1, 2e5 do t[i] = i end while true do table.remove(t, 1) end",
	"local t = {} for i = 1, 100 do t[i] = i end while true do pcall(table.sort, t, function() return true end) end",
	"local t = {} for i = 1, 3e4 do t[i] = i % 7 end while true do table.sort(t, function(a, b) return a < b end) end",
	"local t = {} for i = 1, 1e5 do t[i] = i % 7 end while true do table.sort(t) end",
	"local t = {} for i = 1, 2e5 do t[i] = i end while true do table.maxn(t) table.foreach(t, type) table.foreachi(t, type) end",
	"local t = {} for i = 1, 2e5 do t[i] = i end while true do cjson.encode(t) cmsgpack.pack(t) table.concat(t) end",
	"local t = {} while true do for k in pairs(t) do end t[{}] = 1 if #t > 1e5 then t = {} end end",

	// Strings.
	"local s = string.rep('a', 2^25) local t = string.rep('a', 2^25) while s <= t do end",
	"local s, t = string.rep('a', 2^25), {} while true do t[s .. 'b'] = nil end",
	"string.find(string.rep('a', 60), string.rep('a*', 30) .. 'b')",
	"string.gsub(string.rep('x', 1e5), '.-.-.-b', '')",
	"while true do string.gsub(string.rep('x', 1e6), '', '') end",
	"string.find(string.rep('a', 1e6), '[' .. string.rep('b', 1e6) .. ']')",
	"while true do string.gsub(string.rep('x', 1e5), '.', function() return 'y' end) end",
	"for x in string.gmatch(string.rep('x', 1e6), '.-.-.-b') do end",
	"while true do string.rep('x', 1e6) end",
	"local s = string.rep('%5d', 1000) local t = {} for i = 1, 1000 do t[i] = i end while true do string.format(s, unpack(t)) end",
	"while true do struct.unpack(string.rep('x', 1e6), string.rep('a', 1e6)) end",
	"while true do cjson.decode(string.rep(' ', 1e6) .. '[' .. string.rep('1,', 1e5) .. '1]') end",
	"while true do pcall(cmsgpack.unpack, string.rep('\\145', 1e6)) end",
	"while true do redis.sha1hex(string.rep('x', 1e7)) end",

	// Others.
	"while true do redis.call('x') end",
	"load(function() return ' ' end)",
	"load(math.random)",
	"while true do loadstring(string.rep('x = function() end ', 1000)) end",
	"while true do setmetatable({}, {__index = pcall}).x = 1 end",
	"local t = {} for i = 1, 30 do t = {t, t} end return t",
	"local t = {} for i = 1, 1000 do t = {t, t} end return t",
	"local t = {{}, {}} for i = 1, 30 do t = {map = {[t] = t, [{t}] = t}} end return t",
}

// TestKill: each such script ends soon after it was killed, whatever it is doing, and leaves a working runtime.
func TestKill(t *testing.T) {
	const soon = time.Second
	r := New(Options{})
	if r.Kill() {
		t.Error("killed a script, and none runs")
	}
	for _, body := range endless {
		done := make(chan string, 1)
		go func() { done <- run(r, body) }()
		select {
		case got := <-done:
			if !strings.Contains(got, "too long") { // of a reply without end
				t.Errorf("%s: %.200q", body, got)
			}
			continue
		case <-time.After(100 * time.Millisecond):
		}
		for range 2 { // the second changes nothing
			if !r.Kill() {
				t.Fatalf("%s: not killed", body)
			}
		}
		began := time.Now()
		select {
		case got := <-done:
			if !strings.HasPrefix(got, killedText) {
				t.Errorf("%s: %.200q", body, got)
			}
			if took := time.Since(began); took > soon {
				t.Errorf("%s: goes on for %v", body, took)
			}
		case <-time.After(time.Minute):
			t.Fatal(body)
		}
	}
	if got := run(r, "return 'fine'"); got != "$4\r\nfine\r\n" {
		t.Errorf("%q", got)
	}
}

// killingHost has the script killed while its command runs.
type killingHost struct {
	echoHost
	r       *Runtime
	commits bool
	killed  bool
}

func (h *killingHost) Call(words [][]byte, version int) []byte {
	if h.commits && !h.r.Commit() {
		return []byte("-ERR too late\r\n")
	}
	h.killed = h.r.Kill()
	return h.echoHost.Call(words, version)
}

// TestKillWithinCommand: a script that is killed while it is in a command fails, even where the command is the last that it does.
func TestKillWithinCommand(t *testing.T) {
	r := New(Options{})
	for _, body := range []string{
		"return redis.call('x')", "redis.call('x')", "return redis.pcall('x')", "redis.call('x') return 1",
		"return pcall(redis.call, 'x')", "pcall(redis.call, 'x')", "return coroutine.wrap(function() return redis.call('x') end)()",
	} {
		host := &killingHost{r: r}
		if got := string(eval(r, body, 2, host)); !host.killed || !strings.HasPrefix(got, killedText) {
			t.Errorf("%s: %q", body, got)
		}
		host = &killingHost{r: r, commits: true}
		if got := string(eval(r, body, 2, host)); host.killed || strings.HasPrefix(got, "-") {
			t.Errorf("%s, which has written: %q", body, got)
		}
		if r.Committed() || r.Kill() {
			t.Errorf("after %s a script is running", body)
		}
	}
}

// TestStop: the end of the server ends scripts that SCRIPT KILL leaves alone, and a killed script can no longer commit
// itself.
func TestStop(t *testing.T) {
	r := New(Options{})
	host := &killingHost{r: r, commits: true}
	done := make(chan string, 1)
	go func() { done <- string(eval(r, "redis.call('x') while true do end", 2, host)) }()
	for !r.Committed() {
		time.Sleep(time.Millisecond)
	}
	if r.Kill() {
		t.Error("a script that has written was killed")
	}
	r.Stop()
	if got := <-done; !strings.HasPrefix(got, killedText) {
		t.Errorf("%q", got)
	}
	r.Stop() // nothing runs: nothing happens

	r.guard.begin()
	if !r.Kill() || r.Commit() {
		t.Error("a killed script commits itself")
	}
	r.guard.end()
}

// TestTailCalls: many of them, and an error behind them, take neither time nor memory.
func TestTailCalls(t *testing.T) {
	r := New(Options{})
	for _, body := range []string{
		"local function f(n) if n == 0 then error('end') end return f(n - 1) end f(2e6)",
		"local function f(n) if n == 0 then error('end') end return f(n - 1) end return select(2, pcall(f, 2e6))",
		"local function f(n) if n == 0 then return select(2, pcall(error, 'user_script:1: end')) end return f(n - 1) end return f(2e6)",
		"local function f(n) if n == 0 then error('end') end return f(n - 1) end return select(2, coroutine.resume(coroutine.create(f), 2e6))",
	} {
		most := watchGrowth()
		got := run(r, body)
		if grown := most(); grown > 64<<20 || !strings.Contains(got, "user_script:1: end") {
			t.Errorf("%s: grew by %d MiB: %.200q", body, grown>>20, got)
		}
	}
}

// BenchmarkKeys is the conversion of a reply of 100,000 keys.
func BenchmarkKeys(b *testing.B) {
	r := New(Options{})
	w := resp.Writer{}
	const n = 100_000
	w.Array(n)
	for range n {
		w.BulkString("user:12345678")
	}
	host := &echoHost{reply: w.Buf}
	b.ReportAllocs()
	for b.Loop() {
		if got := string(eval(r, "return #redis.call('KEYS', '*')", 2, host)); got != ":100000\r\n" {
			b.Fatal(got)
		}
	}
}
