package compat_test

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"time"
)

// The memory that a script may take, as docs/OPERATIONS.md promises it.
const (
	scriptGrowthBytes = 1 << 30
	// leftBytes is what may be left some seconds after the script.
	leftBytes = 64 << 20
)

// greedyScripts take all that they can get, each in another way.
var greedyScripts = []string{
	"local s = 'x' while true do s = s .. s end",
	"local t = {} for i = 1, 1e9 do t[i] = string.rep('x', 2^26 - i) end",
	"local s = string.rep('x', 2^25) for i = 1, 100 do redis.call('echo', s) end error('x')",
	"local s = string.rep('\\1', 2^23) local t = {} for i = 1, 1e9 do t[i] = cjson.encode({s, i}) end",
}

// heavyGreedyScripts are more of them. Most run for seconds.
var heavyGreedyScripts = []string{
	"local t = {} for i = 1, 1e9 do t[i] = tostring(i) .. 'xxxxxxxxxxxxxxxxxxxxxxxx' end",
	"local t = {} for i = 1, 1e9 do t[i] = {} t[i][32767] = 1 end",
	"local t = {} for i = 1, 1e9 do t = {} t[32767] = 1 t = {} t[32767] = 1 t = {} t[32767] = 1 t = {} t[32767] = 1 if i == 300 then error('x') end end",
	"local t = {} for i = 1, 1e9 do t['k' .. i] = i end",
	"local t = {} for i = 1, 1e9 do t[#t + 1] = coroutine.create(function() end) end",
	"local s = string.rep('x', 2^26 - 64) local t = {} for i = 1, 1e9 do t[i] = cmsgpack.pack({s, i}) end",
	"local s = string.rep('x', 2^26) local t = {} for i = 1, 1e9 do t[i] = s:upper():reverse() end",
	"local s = string.rep('x', 2^25) local t = {} for i = 1, 1e9 do t[i] = s:gsub('$', s) end",
	"local s = string.rep('x', 2^25) local t = {} for i = 1, 1e9 do t[i] = table.concat({s, s}) end",
	"local s = string.rep('x', 2^24) local t = {} for i = 1, 1e9 do t[i] = string.format('%s%q', s, s) end",
	"local s = string.rep('x', 2^25) local t = {} for i = 1, 1e9 do t[i] = struct.pack('ss', s, s) end",
	"local s = string.rep('\\221\\127\\255\\255\\255', 2^22) for i = 1, 1e3 do pcall(cmsgpack.unpack, s) end error('x')",
	"local s = '[' .. string.rep('[1],', 2^23) .. '1]' return cjson.decode(s)",
	"local s = string.rep('x', 2^26) for i = 1, 100 do pcall(error, s) pcall(assert, false, s) pcall(tonumber, s) pcall(function() return cjson.null[s] end) end error(s)",
	"local s, t = string.rep('x', 2^26), {} for i = 1, 7000 do t[i] = s end return redis.call('echo', unpack(t))",
	"local s, t = string.rep('x', 2^26), {} for i = 1, 7000 do t[i] = s end return redis.log(redis.LOG_WARNING, unpack(t))",
	"local s, t = string.rep('x', 2^22), {} for i = 1, 20 do t[i] = s end return t",
	"local function f(n, ...) if select('#', ...) > 30000 then local t = {} for i = 1, 1e9 do t[i] = {...} end end return f(n, n, n, n, n, n, n, n, n, n, n, ...) end f(1)",
	"cjson.encode_max_depth(2^31-1) local t = {} for i = 1, 99999 do t = {t} end for i = 1, 20 do cjson.encode(t) end error('x')",
}

// TestScriptMemory runs scripts that want all memory, one after the other: the process grows by no more than is promised, and
// gives it back.
func TestScriptMemory(t *testing.T) {
	scripts := greedyScripts
	if heavy {
		scripts = append(scripts, heavyGreedyScripts...)
	}
	p := start(t)
	pid := p.command.Process.Pid
	before := residentBytes(t, pid)
	nc := p.dial()
	in := bufio.NewReader(nc)
	for _, body := range scripts {
		asked := time.Now()
		_, _ = io.WriteString(nc, encode("EVAL", body, "0"))
		reply, err := readReply(in)
		if err != nil || !strings.HasPrefix(reply, "ERR ") {
			t.Fatalf("%s: %.200q %v", body, reply, err)
		}
		grown := peakResidentBytes(t, pid) - before
		t.Logf("%4d MiB, %v: %.60s: %.60s", grown>>20, time.Since(asked).Round(time.Millisecond), body, reply)
		if grown > scriptGrowthBytes {
			t.Errorf("%s: the process grew by %d MiB", body, grown>>20)
		}
	}
	ended := time.Now()
	for residentBytes(t, pid)-before > leftBytes {
		if time.Since(ended) > patience {
			t.Fatalf("%d MiB are left after %v", (residentBytes(t, pid)-before)>>20, patience)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("given back after %v", time.Since(ended).Round(time.Millisecond))
}
