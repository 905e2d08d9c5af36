package script

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// pieces are what random scripts are made of.
var pieces = strings.Split(`x|y|t|f|1|0|-1|1.5|1e308|nil|true|false|'a'|'%'|'%d'|"\0"|{}|{1,2}|{a=1}|KEYS|ARGV|_G|redis|string|table|`+
	`math|bit|cjson|cmsgpack|struct|coroutine|redis.call|redis.pcall|pcall|xpcall|error|select|unpack|next|pairs|ipairs|tostring|`+
	`tonumber|setmetatable|getmetatable|rawset|rawget|load|loadstring|string.rep|string.format|string.find|string.gsub|string.byte|`+
	`table.insert|table.remove|table.sort|table.concat|cjson.encode|cjson.decode|cmsgpack.pack|cmsgpack.unpack|struct.pack|`+
	`struct.unpack|bit.tohex|coroutine.wrap|coroutine.create|coroutine.resume|coroutine.yield|math.random|(|)|(|)|(|)|,|,|=|=|+|-|`+
	`*|/|%|..|..|==|<|#|not|and|or|.x|[1]|['a']|:rep(|;|local x =|local t =|return|if x then|end|for i = 1, 9 do|while x do|`+
	`function(...)|function()|...|repeat|until x|break|else|in|__index|goto`, "|")

// TestRandomScripts runs random scripts: none may panic, hang or leave the runtime unusable.
func TestRandomScripts(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	count := 20000
	if os.Getenv("CELLSERVER_HEAVY") == "1" {
		count = 1000000
	}
	r := New(Options{MaxStringBytes: 1 << 20, MaxGrowthBytes: 64 << 20})
	var body strings.Builder
	for range count {
		body.Reset()
		for range 1 + random.IntN(20) {
			piece := pieces[random.IntN(len(pieces))]
			body.WriteString(piece + " ")
			if random.IntN(3) == 0 && strings.ContainsAny(piece, ".") {
				body.WriteString("(" + pieces[random.IntN(25)] + ", " + pieces[random.IntN(25)] + ") ")
			}
		}
		runLimited(t, r, body.String())
		if r.Count() > 1000 {
			r.Flush()
		}
	}
	if got := run(r, "return 'fine'"); got != "$4\r\nfine\r\n" {
		t.Errorf("%q", got)
	}
}

// runLimited kills a script after a while.
func runLimited(t testing.TB, r *Runtime, body string) {
	t.Helper()
	killer := time.AfterFunc(time.Second, func() { r.Kill() })
	defer killer.Stop()
	got := eval(r, body, 3, &echoHost{})
	if len(got) == 0 {
		t.Errorf("no reply to %q", body)
	}
	if strings.Contains(string(got), "internal error") {
		t.Errorf("%q: %q", body, got)
	}
}

func FuzzScript(f *testing.F) {
	f.Add("return 1")
	f.Add("local t = setmetatable({}, {__index = function(t, k) return k end}) return t.x .. 1")
	r := New(Options{MaxStringBytes: 1 << 20, MaxGrowthBytes: 64 << 20})
	f.Fuzz(func(t *testing.T, body string) {
		runLimited(t, r, body)
		r.Flush()
	})
}
