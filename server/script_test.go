package server

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// idiom is how most Java clients call CL.THROTTLE.
const idiom = "return redis.call('cl.throttle',KEYS[1],ARGV[1],ARGV[2],ARGV[3],ARGV[4])"

// TestScripts goes through EVAL and its relatives.
func TestScripts(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, configure))
		sha := c.do("SCRIPT", "LOAD", idiom)
		sha = strings.Trim(sha, `"`)
		for _, step := range []struct {
			words []string
			want  string
		}{
			{[]string{"EVAL", idiom, "1", "user123", "15", "30", "60", "1"}, "[0 16 15 -1 2]"},
			{[]string{"EVALSHA", sha, "1", "user123", "15", "30", "60", "1"}, "[0 16 14 -1 4]"},
			{[]string{"EVALSHA", strings.ToUpper(sha), "1", "user123", "15", "30", "60", "1"}, "[0 16 13 -1 6]"},
			{[]string{"EVAL", idiom + "[1]", "1", "user123", "15", "30", "60", "1"}, "0"},
			{[]string{"EVAL", "local a = redis.call('cl.throttle', KEYS[1], 1, 1, 60, 1) local b = redis.call('CL.THROTTLE', KEYS[2], 1, 1, 60, 1) return {a, b}", "2", "x", "y"}, "[[0 2 1 -1 60] [0 2 1 -1 60]]"},
			{[]string{"EVAL", "return redis.call('cl.throttle', 'undeclared:' .. ARGV[1], 15.0, 30, 60)", "0", "7"}, "[0 16 15 -1 2]"},
			{[]string{"EVAL", "redis.call('select', 3) redis.call('cl.throttle', 'x', 1, 1, 60) return redis.call('dbsize')", "0"}, "1"},
			{[]string{"DBSIZE"}, "4"},
			{[]string{"EVAL", "return redis.call('del', 'x', 'y', 'undeclared:7', 'user123')", "0"}, "4"},
			{[]string{"EVAL", idiom, "0"}, "-ERR Lua redis lib command arguments must be strings or integers*"},
			{[]string{"EVAL_RO", idiom, "1", "user123", "15", "30", "60", "1"}, "-ERR Write commands are not allowed from read-only scripts. script: " + sha + ", on @user_script:1."},
			{[]string{"EVALSHA_RO", sha, "1", "user123", "15", "30", "60", "1"}, "-ERR Write commands are not allowed from read-only scripts. script: " + sha + ", on @user_script:1."},
			{[]string{"EVAL_RO", "return redis.call('cl.probe', KEYS[1], 15, 30, 60)", "1", "user123"}, "[0 16 15 -1 2]"},
			{[]string{"EVAL", "return redis.pcall('nosuch').err", "0"}, `"ERR Unknown Redis command called from script: 'nosuch' (cellserver holds limiter keys only)"`},
			{[]string{"EVAL", "return redis.call('HMSET', 'k', 'tokens', 1)", "0"}, "-ERR Unknown Redis command called from script: 'HMSET' (cellserver holds limiter keys only) script: ac67d9a20fb4e1d66a1fbfcb271f8a0e5aee85ae, on @user_script:1."},
			{[]string{"EVAL", "return redis.pcall(ARGV[1]).err", "0", strings.Repeat("\r\n", 200)}, `"ERR Unknown Redis command called from script: '` + strings.Repeat(" ", 128) + `' (cellserver holds limiter keys only)"`},
			{[]string{"EVAL", "return redis.pcall('client', 'nosuch').err", "0"}, `"ERR Unknown Redis command called from script: 'CLIENT nosuch'"`},
			{[]string{"EVAL", "return redis.call('multi')", "0"}, "-ERR This Redis command is not allowed from script*"},
			{[]string{"EVAL", "return 1", "x"}, "-ERR value is not an integer or out of range"},
			{[]string{"EVAL", "return 1", "-1"}, "-ERR Number of keys can't be negative"},
			{[]string{"EVAL", "return 1", "2", "a"}, "-ERR Number of keys can't be greater than number of args"},
			{[]string{"EVALSHA", "abc", "0"}, "-NOSCRIPT No matching script. Please use EVAL."},
			{[]string{"EVAL", "return", "0"}, "nil"},
			{[]string{"EVAL", "retrun", "0"}, "-ERR Error compiling script*"},
			{[]string{"SCRIPT", "EXISTS", sha, "abc"}, "[1 0]"},
			{[]string{"SCRIPT", "KILL"}, "-NOTBUSY No scripts in execution right now."},
			{[]string{"SCRIPT", "FLUSH", "NOW"}, "-ERR SCRIPT FLUSH only support SYNC|ASYNC option"},
			{[]string{"SCRIPT", "FLUSH", "ASYNC"}, "OK"},
			{[]string{"EVALSHA", sha, "1", "user123", "15", "30", "60", "1"}, "-NOSCRIPT No matching script. Please use EVAL."},
		} {
			if got := c.do(step.words...); !fits(step.want, got) {
				t.Errorf("%q: got %s, want %s", step.words, got, step.want)
			}
		}
		c.run("MULTI")
		c.do("EVAL", idiom, "1", "m", "15", "30", "60", "1")
		if got := c.run("EXEC"); got != "[[0 16 15 -1 2]]" {
			t.Error("EVAL in a transaction:", got)
		}
	})
}

// TestScriptsAreAtomic: of scripts and calls on many connections that take one token each if there are two, none sees the
// state in the middle of another.
func TestScriptsAreAtomic(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		const moveOne = `local from, to = redis.call('exists', KEYS[1]), redis.call('exists', KEYS[2])
			if from + to ~= 1 then return redis.error_reply('BROKEN ' .. from .. to) end
			if from == 1 then redis.call('rename', KEYS[1], KEYS[2]) else redis.call('rename', KEYS[2], KEYS[1]) end
			return 1`
		dial(t, s).run("CL.THROTTLE a 15 1 3600")
		var running sync.WaitGroup
		for range 4 {
			c := dial(t, s)
			running.Go(func() {
				for range 100 {
					if got := c.do("EVAL", moveOne, "2", "a", "b"); got != "1" {
						t.Error(got)
						return
					}
					if got := c.run("EXISTS a b"); got != "1" {
						t.Error("EXISTS:", got)
					}
				}
			})
		}
		running.Wait()
	})
}

// TestBusy: while a script runs for long all other connections are answered, with BUSY or by the few commands that may run,
// and SCRIPT KILL ends it. Afterwards all goes on.
func TestBusy(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.BusyReplyThresholdMillis = 50
		})
		others := make([]*client, 8)
		for i := range others {
			others[i] = dial(t, s)
			others[i].run("PING")
		}
		c := dial(t, s)
		c.send(encode("EVAL", "while true do end", "0") + encode("PING"))
		eventually(t, "a script runs for long", s.busy.Load)
		fresh := dial(t, s)
		for i, other := range append(others, fresh) {
			for _, step := range []struct{ send, want string }{
				{"CL.THROTTLE k 15 30 60", "-" + errBusy},
				{"PING", "-" + errBusy},
				{"NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: "},
				{"HELLO 2", "[*"},
				{"SHUTDOWN SAVE", "-" + errBusy},
				{"WATCH k", "-" + errBusy},
			} {
				if got := other.run(step.send); !fits(step.want, got) {
					t.Errorf("connection %d: %s: got %s, want %s", i, step.send, got, step.want)
				}
			}
		}
		fresh.run("MULTI")
		if got := fresh.run("EXEC"); got != "-EXECABORT Transaction discarded because of: "+errBusy {
			t.Error("EXEC of an empty transaction:", got)
		}
		fresh.run("MULTI")
		if got := fresh.run("GET k"); got != "-"+errBusy {
			t.Error("in a transaction:", got)
		}
		if got := others[0].run("SCRIPT KILL"); got != "OK" {
			t.Error("SCRIPT KILL:", got)
		}
		if got := c.reply(); !strings.HasPrefix(got, "-ERR Error running script") && !strings.Contains(got, "killed by user") {
			t.Error("the script's reply:", got)
		}
		if got := c.reply(); got != "PONG" {
			t.Error("the command behind the script:", got)
		}
		if got := fresh.run("EXEC"); !strings.HasPrefix(got, "-EXECABORT") {
			t.Error("EXEC:", got)
		}
		for _, other := range others {
			if got := other.run("CL.THROTTLE k 15 30 60 0"); got != "[0 16 16 -1 0]" {
				t.Error("afterwards:", got)
			}
		}
	})
}

// TestScriptThatWroteIsNotKilled: half of its effects would be left.
func TestScriptThatWroteIsNotKilled(t *testing.T) {
	s := startServer(t, func(c *Config) { c.BusyReplyThresholdMillis = 20 })
	c, other := dial(t, s), dial(t, s)
	c.send(encode("EVAL", "redis.call('cl.throttle', 'k', 1, 1, 60) local n = 0 for i = 1, 3e6 do n = n + 1 end return 1", "0"))
	eventually(t, "a script runs for long", s.busy.Load)
	if got := other.run("SCRIPT KILL"); !strings.HasPrefix(got, "-UNKILLABLE") {
		t.Error(got)
	}
	if got := c.reply(); got != "1" {
		t.Error(got)
	}
}

// TestEndDuringScript: an orderly end does not wait for a script that never ends.
func TestEndDuringScript(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.BusyReplyThresholdMillis = 20
		})
		c := dial(t, s)
		c.send(encode("EVAL", "while true do end", "0"))
		eventually(t, "a script runs for long", s.busy.Load)
		began := time.Now()
		restart(t, s)
		if took := time.Since(began); took > patience/2 {
			t.Errorf("the end took %v", took)
		}
	})
}

// TestScriptsUnderLoad: calls and scripts from many connections, none of which is lost.
func TestScriptsUnderLoad(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		var running sync.WaitGroup
		for worker := range 6 {
			c := dial(t, s)
			running.Go(func() {
				for i := range 60 {
					key := fmt.Sprintf("w%d:%d", worker, i)
					c.send(encode("CL.THROTTLE", key, "15", "30", "60") + encode("EVAL", idiom, "1", key, "15", "30", "60", "1") + encode("GET", key))
					for _, want := range []string{"[0 16 15 -1 2]", "[0 16 14 -1 4]", `"*"`} {
						if got := c.reply(); !fits(want, got) {
							t.Errorf("%s: got %s, want %s", key, got, want)
						}
					}
				}
			})
		}
		running.Wait()
	})
}

// TestScriptTimeIsItsOwn: the time that a script spends in Lua is booked on EVAL, not on the command that it calls next.
func TestScriptTimeIsItsOwn(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, configure))
		c.run("CONFIG SET slowlog-log-slower-than 20000")
		c.run("CONFIG SET latency-monitor-threshold 20")
		const loop = "for i = 1, 1e6 do local n = i % 7 end "
		if got := c.do("EVAL", loop+"redis.call('cl.throttle', 'k', 15, 30, 60) "+loop+"redis.call('get', 'k') "+loop, "0"); got != "nil" {
			t.Fatal(got)
		}
		if got := c.run("SLOWLOG GET"); !fits(`[[* ["EVAL" *] *]]`, got) || strings.Contains(got, "cl.throttle\"") {
			t.Error("SLOWLOG:", got)
		}
		stats := c.run("INFO commandstats")
		for _, name := range []string{"cl.throttle", "get", "eval"} {
			calls, usec := 0, 0
			_, line, _ := strings.Cut(stats, "cmdstat_"+name+":")
			if _, err := fmt.Sscanf(line, "calls=%d,usec=%d", &calls, &usec); err != nil || calls != 1 || (usec >= 20000) != (name == "eval") {
				t.Errorf("%s: %d calls of %d µs, %v", name, calls, usec, err)
			}
		}
	})
}

// TestScriptsAreCounted: INFO and MEMORY STATS tell how much memory the scripts take.
func TestScriptsAreCounted(t *testing.T) {
	c := dial(t, startServer(t, func(*Config) {}))
	figures := func() (figures [4]int) {
		info, stats := c.run("INFO memory"), c.run("MEMORY STATS")
		for i, field := range []struct{ in, name string }{
			{info, "number_of_cached_scripts:"}, {info, "used_memory_scripts_eval:"}, {info, "used_memory_scripts:"}, {stats, `"lua.caches" `},
		} {
			_, rest, _ := strings.Cut(field.in, field.name)
			if _, err := fmt.Sscan(rest, &figures[i]); err != nil {
				t.Fatalf("%s: %v in %q", field.name, err, field.in)
			}
		}
		return figures
	}
	if got := figures(); got != [4]int{} {
		t.Error("no script:", got)
	}
	const n = 100
	for i := range n {
		c.do("EVAL", fmt.Sprint("return ", i), "0")
	}
	got := figures()
	if got[0] != n || got[1] < n*500 || got[1] > n*2000 || got[2] != got[1] || got[3] != got[1] {
		t.Error("many scripts:", got)
	}
	c.run("SCRIPT FLUSH")
	if got := figures(); got != [4]int{} {
		t.Error("after SCRIPT FLUSH:", got)
	}
}

// TestStrangersWhileBusy: while a script runs for long, who a client is and what it may do is asked as ever.
func TestStrangersWhileBusy(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.BusyReplyThresholdMillis, c.RequirePass = 50, "secret"
		})
		admin, c := dial(t, s), dial(t, s)
		dialogue{{"AUTH secret", "OK"}, {"ACL SETUSER u on nopass +@all -script -shutdown ~*", "OK"}}.run(t, admin)
		c.expect("AUTH secret", "OK")
		c.send(encode("EVAL", "while true do end", "0"))
		eventually(t, "a script runs for long", s.busy.Load)
		for range 4 { // on all loops
			stranger, user := dial(t, s), dial(t, s)
			for _, command := range []string{"PING", "SCRIPT KILL", "SHUTDOWN NOSAVE", "MULTI", "WATCH k", "CL.THROTTLE k 15 30 60"} {
				stranger.expect(command, "-NOAUTH Authentication required.")
			}
			user.expect("AUTH u x", "OK")
			dialogue{
				{"SCRIPT KILL", "-NOPERM *"}, {"SHUTDOWN NOSAVE", "-NOPERM *"}, {"PING", "-" + errBusy},
				{"MULTI", "OK"}, {"UNWATCH", "QUEUED"}, {"SCRIPT KILL", "-NOPERM *"}, {"EXEC", "-EXECABORT *: BUSY *"},
			}.run(t, user)
		}
		admin.expect("SCRIPT KILL", "OK")
		if got := c.reply(); !strings.Contains(got, "killed by user") {
			t.Error(got)
		}
	})
}
