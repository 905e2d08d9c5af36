package script

import (
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cellserver/cellserver/resp"
)

// watchGrowth returns a function that ends the watch and tells by how much the process had grown at most.
func watchGrowth() (most func() int64) {
	var peak atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	g := newGuard(0) // for its samples
	before := g.mappedBytes()
	go func() {
		defer close(stopped)
		for {
			peak.Store(max(peak.Load(), g.mappedBytes()-before))
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	}()
	return func() int64 { close(stop); <-stopped; return peak.Load() }
}

// TestGrowth runs scripts that take memory in large pieces, most of it garbage at once: one for each way to make a long string or
// a large table. What the process has from the system stays within the bound.
func TestGrowth(t *testing.T) {
	o := Options{MaxStringBytes: 8 << 20, MaxGrowthBytes: 128 << 20}
	r := New(o)
	const prefix = "local s, h, t = string.rep('x', 2^23), string.rep('x', 2^22 - 8), {} for i = 1, 20 do "
	for _, body := range []string{
		prefix + "t[i] = h .. h end", prefix + "t[i] = h .. i .. h end", prefix + "t[i] = setmetatable({}, {__concat = function() return h .. h end}) .. h end",
		prefix + "t[i] = s:rep(1) end", prefix + "t[i] = s:upper() end", prefix + "t[i] = s:reverse() end",
		prefix + "t[i] = table.concat({h, h}) end", prefix + "t[i] = h:gsub('^', h) end", prefix + "t[i] = h:gsub('^', function() return h end) end",
		prefix + "t[i] = ('y'):gsub('y', h .. '%0') end",
		prefix + "t[i] = ('%s%s'):format(h, h) end", prefix + "t[i] = ('%q'):format(h) end", prefix + "t[i] = (h .. '%99d'):format(i) end",
		prefix + "t[i] = cjson.encode({h, 1}) end", prefix + "t[i] = cjson.decode('\"' .. h .. '\"') end",
		prefix + "t[i] = cmsgpack.pack({h, 1}) end", prefix + "t[i] = struct.pack('s', h) end",
		prefix + "t[i] = select(2, pcall(error, h, 1)) end", prefix + "t[i] = select(2, pcall(assert, false, h)) end",
		prefix + "t[i] = select(2, pcall(function() error(h .. i, 2) end)) end",
		prefix + "t[i] = redis.call('echo', h) end", prefix + "t[i] = redis.sha1hex(s) end", prefix + "redis.log(3, h, h) end",
		prefix + "pcall(function() return cjson.null[s] end) end", prefix + "tonumber(s) tonumber(s, 36) end",
		prefix + "loadstring(s) load(function() t[1] = not t[1] return t[1] and s end) end",
		"local h = string.rep('\\221\\127\\255\\255\\255', 2^20) for i = 1, 30 do pcall(cmsgpack.unpack, h) end",
		"local t = {} for i = 1, 100 do t[i] = {} t[i][32767] = 1 t[i] = nil end",
		"local h = string.rep('x', 2^22 - 8) return {h}", "local h = string.rep('x', 2^22 - 8) error(h)",
	} {
		most := watchGrowth()
		reply := run(r, body)
		if grown := most(); grown > o.MaxGrowthBytes {
			t.Errorf("%s: grew by %d MiB: %.100q", body, grown>>20, reply)
		}
		if strings.HasPrefix(reply, "-") && !strings.Contains(reply, "not enough memory") && !strings.HasPrefix(reply, "-ERR user_script:1: x") {
			t.Errorf("%s: %.200q", body, reply)
		}
		r.GiveBack()
	}
}

// TestArgumentsCount: what a script is given counts as well.
func TestArgumentsCount(t *testing.T) {
	r := New(Options{MaxStringBytes: 1 << 20, MaxGrowthBytes: 64 << 20})
	p, err := r.Load([]byte("return 1"))
	if err != nil {
		t.Fatal(err)
	}
	w := resp.Writer{}
	word := make([]byte, 64<<20)
	debug.FreeOSMemory() // what other tests have left would be room for the script
	r.Run(p, nil, [][]byte{word}, &echoHost{}, &w)
	if !strings.HasPrefix(string(w.Buf), "-ERR not enough memory script: "+p.SHA()+", on @user_script:1.") {
		t.Errorf("%.200q", w.Buf)
	}
}

// TestDebt: the first script that leaves much memory behind asks for it to be given back, those after it count from where that
// one began, and once it was given back the account is settled.
func TestDebt(t *testing.T) {
	r := New(Options{})
	r.GiveBack()
	g := r.guard
	before := g.mappedBytes()
	do := func(body string) (owes bool) {
		p, err := r.Load([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		_, owes = r.Run(p, nil, nil, &echoHost{}, &resp.Writer{})
		return owes
	}
	if do("return #string.rep('x', 2^20)") {
		t.Error("a small script makes debts")
	}
	const large = "local t = {} for i = 1, 3 do t[i] = string.rep('x', 2^26) end return 1"
	if !do(large) {
		t.Fatal("192 MB were taken, and nothing is owed")
	}
	limit := g.limit
	if do(large) {
		t.Error("two ask for the memory to be given back")
	}
	if g.limit != limit || g.debts.Load() != 2 {
		t.Errorf("the second counts to %d, the first to %d; %d debts", g.limit, limit, g.debts.Load())
	}
	r.GiveBack()
	if left := g.mappedBytes() - before; left > debtBytes || g.debts.Load() != 0 {
		t.Errorf("%d MiB are left, %d debts", left>>20, g.debts.Load())
	}
	if !do(large) {
		t.Error("nothing is owed after it was given back once")
	}
	r.GiveBack()
}
