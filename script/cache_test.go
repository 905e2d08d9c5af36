package script

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/cellserver/cellserver/resp"
)

// typical is a script as rate limiters have them, with a number in it.
func typical(i int) string {
	return fmt.Sprintf(`local rate, burst, now = tonumber(ARGV[1]), tonumber(ARGV[2]), %d
local function call(key) return redis.call('cl.throttle', key, burst, rate, 60, 1) end
local reply = call(KEYS[1])
if reply[1] == 1 then return {0, reply[3], reply[4]} end
return {1, reply[3], reply[5], 'limit:' .. KEYS[1] .. ':' .. now}`, i)
}

func liveBytes() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestCacheBytes: what 10,000 scripts are counted with is what they take, within a quarter, and little more than their bodies once
// they are more than are kept compiled.
func TestCacheBytes(t *testing.T) {
	const n = 10000
	for name, body := range map[string]func(i int) string{
		"short":   func(i int) string { return fmt.Sprintf("return %d", i) },
		"typical": typical,
		"long":    func(i int) string { return typical(i) + strings.Repeat(" ", 1000) },
	} {
		r := New(Options{})
		before := liveBytes()
		bodies := 0
		for i := range n {
			p, err := r.Load([]byte(body(i)))
			if err != nil {
				t.Fatal(err)
			}
			bodies += len(p.body)
		}
		taken, counted := liveBytes()-before, r.CacheBytes()
		t.Logf("%s: a script of %d bytes takes %d, is counted with %d", name, bodies/n, taken/n, counted/n)
		if counted < taken*3/4 || counted > taken*5/4 {
			t.Errorf("%s: counted with %d bytes each, they take %d", name, counted/n, taken/n)
		}
		if most := bodies + n*programBytes + maxCodeBytes; taken > most*5/4 {
			t.Errorf("%s: %d bytes each", name, taken/n)
		}
		runtime.KeepAlive(r)
	}
}

// TestCodeIsMadeAgain: scripts run as before after their code gave way to that of others, and what is kept stays within its bound.
func TestCodeIsMadeAgain(t *testing.T) {
	r := New(Options{})
	const n = 5000
	for round := range 2 {
		for i := range n {
			p, err := r.Load([]byte(fmt.Sprintf("#!lua flags=no-writes\nlocal x = function() return %d end return x()", i)))
			if err != nil {
				t.Fatal(err)
			}
			w := resp.Writer{}
			if r.Run(p, nil, nil, &echoHost{}, &w); string(w.Buf) != fmt.Sprintf(":%d\r\n", i) {
				t.Fatalf("round %d: script %d: %q", round, i, w.Buf)
			}
			if r.codeBytes > maxCodeBytes {
				t.Fatalf("%d bytes of code", r.codeBytes)
			}
		}
	}
	total := 0
	for _, p := range r.byName {
		if total += p.codeBytes; (p.code == nil) != (p.use == nil) || (p.code == nil) != (p.codeBytes == 0) {
			t.Fatalf("%+v", p)
		}
	}
	if total != r.codeBytes || r.used.Len() == n {
		t.Errorf("%d bytes of code are counted with %d; %d of %d scripts have some", total, r.codeBytes, r.used.Len(), n)
	}
}

// TestLargestScript: code that is larger than all that is kept is kept alone.
func TestLargestScript(t *testing.T) {
	r := New(Options{})
	small, err := r.Load([]byte("return 1"))
	if err != nil {
		t.Fatal(err)
	}
	large, err := r.Load([]byte("local a, b = 'four' " + strings.Repeat("b=#a ", 200000) + "return b"))
	if err != nil {
		t.Fatal(err)
	}
	if large.codeBytes <= maxCodeBytes || small.code != nil || large.code == nil {
		t.Errorf("%d bytes; %v, %v", large.codeBytes, small.code == nil, large.code == nil)
	}
	for range 2 {
		for p, want := range map[*Program]string{small: ":1\r\n", large: ":4\r\n"} {
			w := resp.Writer{}
			if r.Run(p, nil, nil, &echoHost{}, &w); string(w.Buf) != want {
				t.Errorf("%q, want %q", w.Buf, want)
			}
		}
	}
}

// TestScriptLimits: the compiler takes kilobytes for each function, and for the constants time that grows with their square.
func TestScriptLimits(t *testing.T) {
	r := New(Options{})
	if _, err := r.Load([]byte(strings.Repeat("x=function()end ", maxFunctions))); err != nil {
		t.Error(err)
	}
	most := watchGrowth()
	_, err := r.Load([]byte(strings.Repeat("x=function()end ", MaxBodyBytes/16)))
	if grown := most(); err == nil || !strings.Contains(err.Error(), "too many functions") || grown > 100*MaxBodyBytes {
		t.Errorf("%.100v; grew by %d MiB", err, grown>>20)
	}
	for n, fits := range map[int]bool{maxConstants: true, maxConstants + 1: false} {
		var body strings.Builder
		for i := range n {
			fmt.Fprintf(&body, "a='%d' ", i)
		}
		if _, err := r.Load([]byte(body.String())); (err == nil) != fits {
			t.Errorf("%d constants: %v", n, err)
		}
	}
}
