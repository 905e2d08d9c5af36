package script

import (
	"bytes"
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
	sha, err := r.Load([]byte("return 1"))
	if err != nil || sha != "e0e1f9fabfc9d4800c877a703b823ac0578ff8db" {
		t.Fatal(sha, err)
	}
	if !r.Exists(sha) || !r.Exists(strings.ToUpper(sha)) || r.Count() != 1 || r.CacheBytes() == 0 {
		t.Error("a loaded script is not there")
	}
	r.Flush()
	if r.Exists(sha) || r.Count() != 0 || r.CacheBytes() != 0 {
		t.Error("a script outlives Flush")
	}
	w := resp.Writer{}
	r.Run(sha, nil, nil, &echoHost{}, &w)
	if want := "-NOSCRIPT No matching script. Please use EVAL.\r\n"; string(w.Buf) != want {
		t.Errorf("%q", w.Buf)
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
	sha, err := r.Load([]byte("#!lua flags=no-writes,allow-oom\nreturn 1"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Lookup(sha).Flags, (Flags{Shebang: true, NoWrites: true, AllowOOM: true}); got != want {
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
	fresh := run(r, "return {math.random(1000), cjson.encode(1/3), redis.call('x', #KEYS, #ARGV)}")
	for _, body := range []string{
		"math.randomseed(7) math.random()", "cjson.encode_number_precision(3)", "redis.setresp(3)", "KEYS[9] = 'x' ARGV[1] = nil",
		"x = 1", "string.rep = nil", "getmetatable('').__index.x = 1", "rawset(_G, 'x', 1)", "setmetatable(_G, nil)",
		"table.insert(redis, 1)", "table.sort(string)", "local c = coroutine.wrap(function() coroutine.yield(1) end) c()",
		"error({})", "local function f() return 1 + f() end f()", "pcall(coroutine.wrap(function() error('x') end))",
		"coroutine.wrap(function() pcall(coroutine.yield) end)()",
		"setmetatable({}, {__index = function() coroutine.yield() end}).x()",
	} {
		run(r, body)
		if got := run(r, "return {math.random(1000), cjson.encode(1/3), redis.call('x', #KEYS, #ARGV)}"); got != fresh {
			t.Errorf("after %s\n got %q\nwant %q", body, got, fresh)
		}
		if got := run(r, "return rawget(_G, 'x') or ('x').x"); got != "$-1\r\n" {
			t.Errorf("after %s: %q", body, got)
		}
	}
}

// TestGreed runs scripts that want too much. Each ends with the error, soon, and the next one runs.
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
		{"return unpack({}, 1, 7990) == nil", ":1"},
		{"return unpack({}, 1, 7991)", "too many results to unpack"},
		{"return cmsgpack.unpack('\\221\\255\\255\\255\\255')", "Missing bytes"},
		{"return loadstring(string.rep('(', 1e5) .. '1' .. string.rep(')', 1e5)) == nil", ":1"},
		{"return loadstring('return ' .. string.rep('not ', 1001) .. ' 1') == nil", ":1"},
		{"return loadstring('return ' .. string.rep('1 + ', 1e5) .. '1') == nil", ":1"},
		{"return {redis.call(unpack({}, 1, 1))}", "must be strings or integers"},
		{"local s, t = string.rep('x', 2^20), {} for i = 1, 7990 do t[i] = s end return redis.call(unpack(t))", "string is longer than"},
		{"local s, t = string.rep('x', 2^20), {} for i = 1, 7989 do t[i] = s end redis.log(3, unpack(t))", "string is longer than"},
		{"return cjson.encode(string.rep('\\1', 2^22))", "string is longer than"},
		{"return tonumber(string.rep('0', 65535) .. '7')", ":7"},
		{"return tonumber(string.rep('0', 65536) .. '7') == nil", ":1"},
		{"return tonumber(string.rep('0', 65535) .. '7', 8)", ":7"},
		{"return tonumber(string.rep('0', 65536) .. '7', 8) == nil", ":1"},
		{"return select(2, pcall(function() return cjson.null.x end))", "attempt to index a userdata value"},
		{"return select(2, pcall(function() return coroutine.create(type).x end))", "attempt to index a thread value"},
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

// TestKill kills scripts that never end, in Lua and in library functions.
func TestKill(t *testing.T) {
	r := New(Options{})
	if r.Kill() {
		t.Error("killed a script, and none runs")
	}
	for _, body := range []string{
		"while true do end",
		"while true do pcall(function() while true do end end) end",
		"while true do xpcall(function() error('x') end, function() end) end",
		"local function f() return f() end f()",
		"coroutine.wrap(function() while true do end end)()",
		"while true do coroutine.wrap(function() coroutine.yield() end)() end",
		"string.find(string.rep('a', 60), string.rep('a*', 30) .. 'b')",
		"string.gsub(string.rep('x', 1e5), '.-.-.-b', '')",
		"while true do redis.call('x') end",
		"while true do string.rep('x', 1e6) end",
		"local t = {} for i = 1, 100 do t[i] = i end while true do table.sort(t, function() return true end) end",
		"load(function() return ' ' end)",
	} {
		done := make(chan string)
		go func() { done <- run(r, body) }()
		deadline := time.After(20 * time.Second)
		for killed := false; ; {
			select {
			case got := <-done:
				if !killed || !strings.HasPrefix(got, "-ERR Script killed by user with SCRIPT KILL... script: ") {
					t.Errorf("%s: %.200q", body, got)
				}
			case <-time.After(10 * time.Millisecond):
				killed = r.Kill() || killed
				continue
			case <-deadline:
				t.Fatal(body)
			}
			break
		}
	}
	if got := run(r, "return 'fine'"); got != "$4\r\nfine\r\n" {
		t.Errorf("%q", got)
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
			sha, _ := r.Load([]byte(body))
			want = "-MY own script: " + sha + ", on @user_script:1.\r\n"
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
		sha, err := r.Load(body)
		if err != nil {
			b.Fatal(err)
		}
		w.Buf = w.Buf[:0]
		r.Run(sha, keys, args, host, &w)
	}
	if !bytes.Equal(w.Buf, host.reply) {
		b.Fatalf("%q", w.Buf)
	}
}
