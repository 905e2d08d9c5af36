package script

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cellserver/cellserver/resp"
)

// echoHost answers every command with its words, and keeps what is logged.
type echoHost struct {
	reply []byte // instead of the words
	log   []string
}

func (h *echoHost) Call(words [][]byte, _ int) []byte {
	if h.reply != nil {
		return h.reply
	}
	w := resp.Writer{}
	w.Array(len(words))
	for _, word := range words {
		w.Bulk(word)
	}
	return w.Buf
}

func (h *echoHost) Log(_ int, message string) { h.log = append(h.log, message) }

func run(r *Runtime, body string) string { return string(eval(r, body, 2, &echoHost{})) }

func TestCache(t *testing.T) {
	r := New(Options{})
	const sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
	p, err := r.Load([]byte("return 1"))
	if err != nil || p.SHA() != sha {
		t.Fatal(p.SHA(), err)
	}
	for _, name := range []string{sha, strings.ToUpper(sha)} {
		if r.Lookup([]byte(name)) != p {
			t.Errorf("%s is not there", name)
		}
	}
	for _, name := range []string{"", sha[1:], sha[:38], sha + "0", sha + "00", "x" + sha[1:], "0" + sha[1:]} {
		if r.Lookup([]byte(name)) != nil {
			t.Errorf("%q is there", name)
		}
	}
	if again, err := r.Load([]byte("return 1")); again != p || err != nil || r.Count() != 1 || r.CacheBytes() == 0 {
		t.Error("a script is loaded twice, or not counted")
	}
	r.Flush()
	if r.Lookup([]byte(sha)) != nil || r.Count() != 0 || r.CacheBytes() != 0 {
		t.Error("a script outlives Flush")
	}
	if _, err := r.Load(bytes.Repeat([]byte("\n"), MaxBodyBytes)); err != nil {
		t.Error(err)
	}
	if _, err := r.Load(bytes.Repeat([]byte("\n"), MaxBodyBytes+1)); err == nil {
		t.Error("a script beyond the limit was loaded")
	}
}

func TestFlags(t *testing.T) {
	r := New(Options{})
	p, err := r.Load([]byte("#!lua flags=no-writes,allow-oom\nreturn 1"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Flags, (Flags{NoWrites: true}); got != want {
		t.Errorf("%+v", got)
	}
}

func TestLog(t *testing.T) {
	host := echoHost{}
	eval(New(Options{}), "redis.log(redis.LOG_WARNING, 'a', 1.5, {}, 'b')", 2, &host)
	if len(host.log) != 1 || host.log[0] != "a 1.5 b" {
		t.Errorf("%q", host.log)
	}
}

// TestNothingIsLeft runs scripts that try to leave something behind, and then ones that would see it.
func TestNothingIsLeft(t *testing.T) {
	r := New(Options{})
	const look = "return {cjson.encode(1/3), redis.call('x', #KEYS, #ARGV)}"
	fresh := run(r, look)
	for _, body := range []string{
		"cjson.encode_number_precision(3)", "redis.setresp(3)", "KEYS[9] = 'x' ARGV[1] = nil",
		"x = 1", "string.rep = nil", "getmetatable('').__index.x = 1", "rawset(_G, 'x', 1)", "setmetatable(_G, nil)",
		"table.insert(redis, 1)", "table.sort(string)", "local c = coroutine.wrap(function() coroutine.yield(1) end) c()",
		"error({})", "local function f() return 1 + f() end f()", "pcall(coroutine.wrap(function() error('x') end))",
		"coroutine.wrap(function() pcall(coroutine.yield) end)()",
		"setmetatable({}, {__index = function() coroutine.yield() end}).x()",
	} {
		run(r, body)
		if got := run(r, look); got != fresh {
			t.Errorf("after %s\n got %q\nwant %q", body, got, fresh)
		}
		if got := run(r, "return rawget(_G, 'x') or ('x').x"); got != "$-1\r\n" {
			t.Errorf("after %s: %q", body, got)
		}
	}
}

// TestRandomGoesOn: the numbers are those of Redis 7.0.15, whose scripts draw from one sequence until the server ends.
func TestRandomGoesOn(t *testing.T) {
	const draw = "return tostring(math.random())"
	r := New(Options{})
	for i, step := range []struct{ body, want string }{
		{draw, "0.39646477363839"}, {draw, "0.84048536971234"},
		{"math.randomseed(7) " + draw, "0.26644419658298"}, {draw, "0.68203523041775"},
		{"return {string.rep('x', 2^40)}", ""}, // ends with an error
		{draw, "0.26549059351231"},
	} {
		if got := run(r, step.body); step.want != "" && !strings.HasSuffix(got, "\r\n"+step.want+"\r\n") {
			t.Errorf("step %d: %q, want %s", i, got, step.want)
		}
		r.Flush()
		r.sandbox = newSandbox(r) // as after a script that was killed
	}
	if got := run(New(Options{}), draw); !strings.Contains(got, "0.39646477363839") {
		t.Errorf("a new server begins with %q", got)
	}
}

// TestGreed runs scripts that want too much. Each soon ends with the error, and the next one runs.
func TestGreed(t *testing.T) {
	r := New(Options{MaxStringBytes: 8 << 20, MaxGrowthBytes: 64 << 20})
	type script struct{ body, want string }
	greedy := []script{
		{"local s = 'x' while true do s = s .. s end", "string is longer than"},
		{"local s = 'x' while true do s = table.concat({s, s}) end", "string is longer than"},
		{"return #string.rep('x', 8 * 1024 * 1024)", ":8388608"},
		{"return string.rep('x', 8 * 1024 * 1024 + 1)", "string is longer than"},
		{"return string.rep('abc', 2^31 - 1)", "string is longer than"},
		{"return string.gsub(string.rep('x', 1e6), 'x', 'xxxxxxxxxx')", "string is longer than"},
		{"return string.format(string.rep('%99d', 2e5), unpack({}))", "bad argument"},
		{"local t = {} for i = 1, 1e9 do t[i] = string.rep('x', 1000) end", "not enough memory"},
		{"local t = {} while true do t = {t, {}, {}} end", "not enough memory"},
		{"local t = {} for i = 1, 40 do t = {t, t} end return t", "too long"},
		{"local t = {} for i = 1, 40 do t = {t, t} end return cjson.encode(t)", "string is longer than"},
		{"cjson.encode_max_depth(2^31-1) local t = {} for i = 1, 1e5 + 1 do t = {t} end return cjson.encode(t)", "excessive nesting (100001)"},
		{"cjson.decode_max_depth(2^31-1) return cjson.decode(string.rep('[', 1e5 + 1))", "too many nested data structures (100001)"},
		{"local t = {1} t[1] = t return t", "reached lua stack limit"},
		{"local function f() return 1 + f() end f()", "stack overflow"},
		{"local function f() return {pcall(f)} end f() return 1", ":1\r\n"},
		{"local f f = function() return coroutine.wrap(f)() end f()", "C stack overflow"},
		{"return string.find(string.rep('a', 300), string.rep('(', 40))", "too many captures"},
		{"return string.match(string.rep('a', 300), string.rep('a?', 300))", "pattern too complex"},
		{"return unpack({}, 1, 7997) == nil", ":1"},
		{"return unpack({}, 1, 7998)", "too many results to unpack"},
		{"return cmsgpack.unpack('\\221\\255\\255\\255\\255')", "Missing bytes"},
		{"return loadstring(string.rep('(', 1e4) .. '1' .. string.rep(')', 1e4)) == nil", ":1"},
		{"return loadstring('return ' .. string.rep('not ', 1001) .. ' 1') == nil", ":1"},
		{"return loadstring('return ' .. string.rep('1 + ', 1e4) .. '1') == nil", ":1"},
		{"return {redis.call(unpack({}, 1, 1))}", "must be strings or integers"},
		{"local s, t = string.rep('x', 2^20), {} for i = 1, 7990 do t[i] = s end return redis.call(unpack(t))", "string is longer than"},
		{"local s, t = string.rep('x', 2^20), {} for i = 1, 7989 do t[i] = s end redis.log(3, unpack(t))", "string is longer than"},
		{"return cjson.encode(string.rep('\\1', 2^22))", "string is longer than"},
		{"return tonumber(string.rep('0', 65535) .. '7')", ":7"},
		{"return tonumber(string.rep('0', 65536) .. '7') == nil", ":1"},
		{"return tonumber(string.rep('0', 65535) .. '7', 8)", ":7"},
		{"return tonumber(string.rep('0', 65536) .. '7', 8) == nil", ":1"},
		{"return select(2, pcall(function() return cjson.null.x end))", "attempt to index a userdata value"},
		{"return select(2, pcall(function() return coroutine.create(function() end).x end))", "attempt to index a thread value"},
	}
	if os.Getenv("CELLSERVER_HEAVY") == "1" {
		greedy = append(greedy, []script{
			{"local t = {} for i = 1, 1e6 do t[i] = {} t[i][131000] = 1 end", "not enough memory"},
			{"local t = {} while true do t[#t + 1] = coroutine.create(function() end) end", "not enough memory"},
			{"local t = {} while true do pcall(function() while true do t[#t + 1] = {} end end) end", "not enough memory"},
		}...)
	}
	for _, c := range greedy {
		start := time.Now()
		got := run(r, c.body)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %.300q", c.body, got)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s: %v", c.body, took)
		}
		if got := run(r, "return 'fine'"); got != "$4\r\nfine\r\n" {
			t.Fatalf("after %s: %q", c.body, got)
		}
	}
}

func TestHostErrors(t *testing.T) {
	r := New(Options{})
	host := &echoHost{reply: []byte("-MY own\r\n")}
	for body, want := range map[string]string{
		"return redis.call('x')":                       "-MY own script: 0d2bb0aa8fdf1ebf97a2e4e1ce5e5ef5f0d6ff65, on @user_script:1.\r\n",
		"return redis.pcall('x')":                      "-MY own\r\n",
		"return redis.pcall('x').err":                  "$6\r\nMY own\r\n",
		"return {pcall(redis.call, 'x')}":              "*2\r\n$-1\r\n$6\r\nMY own\r\n",
		"return pcall(function() redis.call('x') end)": "$-1\r\n",
	} {
		got := string(eval(r, body, 2, host))
		if body == "return redis.call('x')" {
			p, _ := r.Load([]byte(body))
			want = "-MY own script: " + p.SHA() + ", on @user_script:1.\r\n"
		}
		if got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
}

func BenchmarkThrottle(b *testing.B) {
	r := New(Options{})
	body := []byte("return redis.call('cl.throttle',KEYS[1],ARGV[1],ARGV[2],ARGV[3],ARGV[4])")
	keys := [][]byte{[]byte("user:123456")}
	args := [][]byte{[]byte("15"), []byte("30"), []byte("60"), []byte("1")}
	host := &echoHost{reply: resp.AppendThrottle(nil, false, 16, 15, -1, 2)}
	w := resp.Writer{}
	b.ReportAllocs()
	for b.Loop() {
		p, err := r.Load(body)
		if err != nil {
			b.Fatal(err)
		}
		w.Buf = w.Buf[:0]
		r.Run(p, keys, args, host, &w)
	}
	if !bytes.Equal(w.Buf, host.reply) {
		b.Fatalf("%q", w.Buf)
	}
}

// TestLongLists: scripts reach all elements of long replies and of many arguments.
func TestLongLists(t *testing.T) {
	const n = 3 * maxArrayIndex
	w := resp.Writer{}
	w.Array(n)
	args := make([][]byte, n)
	for i := range args {
		args[i] = fmt.Append(nil, i+1)
		w.Bulk(args[i])
	}
	r := New(Options{})
	p, err := r.Load([]byte(`local n, t = #ARGV, redis.call('x')
		for i = 1, n do if tonumber(ARGV[i]) ~= i or t[i] ~= ARGV[i] then return i end end
		return {n, #t, ARGV[n], tostring(t[n + 1])}`))
	if err != nil {
		t.Fatal(err)
	}
	reply := resp.Writer{}
	r.Run(p, nil, args, &echoHost{reply: w.Buf}, &reply)
	if want := "*4\r\n:98304\r\n:98304\r\n$5\r\n98304\r\n$3\r\nnil\r\n"; string(reply.Buf) != want {
		t.Errorf("%q", reply.Buf)
	}
}

// TestHoles: the length of a table with holes is a border, an element that exists with none after it.
func TestHoles(t *testing.T) {
	r := New(Options{})
	for _, table := range []string{"local t={1,2,3} t[5]=5", "local t={1,nil,3}", "local t={nil,nil,3}", "local t={} t[2]=1", "local t={1,2,3,4} t[2]=nil t[4]=nil"} {
		body := table + " return tostring((#t==0 or t[#t]~=nil) and t[#t+1]==nil)"
		if got := run(r, body); got != "$4\r\ntrue\r\n" {
			t.Errorf("%s: %q", body, got)
		}
	}
	if got := run(r, "local t={1,2,3} t[5]=5 return #t"); got != ":5\r\n" {
		t.Errorf("%q", got)
	}
}

// TestMemoryIsNotShown: what a script would see of the collector is the same at all times.
func TestMemoryIsNotShown(t *testing.T) {
	const body = "local t={} for i=1,1e4 do t[i]={} end return {gcinfo(), collectgarbage('count'), collectgarbage()}"
	if got := run(New(Options{}), body); got != "*3\r\n:0\r\n:64\r\n:0\r\n" {
		t.Errorf("%q", got)
	}
}
