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
			{[]string{"EVAL", "return redis.pcall('nosuch').err", "0"}, `"ERR Unknown Redis command called from script"`},
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
