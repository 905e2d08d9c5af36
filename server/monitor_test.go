package server

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var feedTime = regexp.MustCompile(`^\d{10}\.\d{6} `)

// fed reads one line of the feed and returns it without its time, which it checks for its form.
func (c *client) fed() string {
	c.t.Helper()
	line := c.reply()
	at := feedTime.FindString(line)
	if at == "" {
		c.t.Fatalf("%s does not begin with a time", line)
	}
	return strings.TrimPrefix(line, at)
}

// TestMonitor has the feed as redis-server 7.0.15 writes it: what is shown, what is hidden and how words are quoted.
func TestMonitor(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		m, c := dial(t, s), dial(t, s)
		m.expect("MONITOR", "OK")
		source := func(db int) string { return fmt.Sprintf("[%d %s] ", db, c.LocalAddr()) }
		for _, row := range []struct {
			words []string
			shown string
		}{
			{[]string{"CL.THROTTLE", "k", "15", "30", "60", "2"}, source(0) + `"CL.THROTTLE" "k" "15" "30" "60" "2"`},
			{[]string{"cl.throttle", "k", "x", "30", "60"}, source(0) + `"cl.throttle" "k" "x" "30" "60"`},
			{[]string{"get", "x"}, source(0) + `"get" "x"`},
			{[]string{"SELECT", "5"}, source(5) + `"SELECT" "5"`},
			{[]string{"EXISTS", "a", "b", "c", "d"}, source(5) + `"EXISTS" "a" "b" "c" "d"`},
			{[]string{"SELECT", "0"}, source(0) + `"SELECT" "0"`},
			{[]string{"ECHO", "a\"\\\n\r\t\a\b\x01\xff z\x7f"}, source(0) + `"ECHO" "a\"\\\n\r\t\a\b\x01\xff z\x7f"`},
			{[]string{"ECHO", ""}, source(0) + `"ECHO" ""`},
			{[]string{"AUTH", "secret"}, source(0) + `"AUTH" "(redacted)"`},
			{[]string{"AUTH", "default", "secret"}, source(0) + `"AUTH" "(redacted)" "(redacted)"`},
			{[]string{"HELLO", "2", "AUTH", "default", "secret", "SETNAME", "n"}, source(0) + `"HELLO" "2" "AUTH" "(redacted)" "(redacted)" "SETNAME" "n"`},
			{[]string{"CLIENT", "ID"}, source(0) + `"CLIENT" "ID"`},
			{[]string{"CLIENT", "LIST"}, ""},
			{[]string{"CONFIG", "GET", "save"}, ""},
			{[]string{"NOSUCH"}, ""},
			{[]string{"GET"}, ""},
			{[]string{"PING"}, source(0) + `"PING"`},
			{[]string{"PUBLISH", "ch", "m"}, source(0) + `"PUBLISH" "ch" "m"`},
		} {
			c.do(row.words...)
			if row.shown == "" {
				continue // the next row shows that nothing came
			}
			if got := m.fed(); got != row.shown {
				t.Errorf("got %s, want %s", got, row.shown)
			}
		}
		// What a monitor may do itself.
		m.expect("GET x", "-ERR Replica can't interact with the keyspace")
		m.expect("CL.THROTTLE k 1 1 1", "-ERR Replica can't interact with the keyspace")
		if got := c.run("CLIENT LIST"); !strings.Contains(got, "flags=O") {
			t.Error(got)
		}
		m.expect("PING", "PONG")
		if got, want := m.fed(), fmt.Sprintf(`[0 %s] "PING"`, m.LocalAddr()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		m.expect("RESET", "RESET")
		c.run("PING")
		m.expect("GET x", "nil")
		if n := s.monitors.Load(); n != 0 {
			t.Errorf("%d monitors are left", n)
		}
	})
}

// TestMonitorSeesSteps: commands of scripts and transactions are in the feed in the order of redis-server 7.0.15.
func TestMonitorSeesSteps(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		m, c := dial(t, s), dial(t, s)
		m.expect("MONITOR", "OK")
		script := "redis.call('select', 2) redis.call('get', KEYS[1]) redis.pcall('nosuch') return 1"
		c.do("EVAL", script, "1", "k")
		c.do("EVALSHA", strings.Repeat("0", shaDigits), "0")
		for _, words := range [][]string{{"MULTI"}, {"GET", "a"}, {"EVAL", "return redis.call('get', 'b')", "0"}, {"CONFIG", "GET", "hz"}, {"CL.PROBE", "c", "1", "1", "1"}, {"EXEC"}} {
			c.do(words...)
		}
		c.do("PING")
		from := fmt.Sprintf("[0 %s] ", c.LocalAddr())
		for _, want := range []string{
			from + `"EVAL" "` + script + `" "1" "k"`, `[2 lua] "select" "2"`, `[2 lua] "get" "k"`,
			from + `"EVALSHA" "` + strings.Repeat("0", shaDigits) + `" "0"`,
			from + `"MULTI"`, from + `"GET" "a"`, from + `"EVAL" "return redis.call('get', 'b')" "0"`, `[0 lua] "get" "b"`,
			from + `"CL.PROBE" "c" "1" "1" "1"`, from + `"EXEC"`, from + `"PING"`,
		} {
			if got := m.fed(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}

// TestMonitorOfALongScript: the feed of a script that does too much is not kept in memory, and its monitors are closed.
func TestMonitorOfALongScript(t *testing.T) {
	s := startServer(t, func(c *Config) { c.OutputLimits.PubSub.HardBytes = 0 })
	m, c := dial(t, s), dial(t, s)
	m.expect("MONITOR", "OK")
	c.do("EVAL", "local word = string.rep('x', 60000) for i = 1, 1200 do redis.call('exists', word) end", "0")
	for err := error(nil); err == nil; {
		_, err = m.in.ReadString('\n') // ends when the server has closed the connection
	}
	eventually(t, "the monitor is closed", func() bool { return s.monitors.Load() == 0 })
	c.expect("PING", "PONG")
}

// TestMonitorSeesAll: two monitors, on different loops, see each connection's commands in order, pipelined over all
// shards; when the last is gone the loops gather nothing.
func TestMonitorSeesAll(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		monitors := []*client{dial(t, s), dial(t, s)}
		for _, m := range monitors {
			m.expect("MONITOR", "OK")
		}
		const clients, calls = 6, 300
		want := make(map[string][]string)
		for i := range clients {
			c := dial(t, s)
			var b strings.Builder
			for n := range calls {
				key := fmt.Sprintf("%d:%d", i, n)
				b.WriteString(encode("CL.THROTTLE", key, "15", "30", "60"))
				from := c.LocalAddr().String()
				want[from] = append(want[from], fmt.Sprintf(`"CL.THROTTLE" "%s" "15" "30" "60"`, key))
			}
			c.send(b.String())
		}
		for i, m := range monitors {
			got := make(map[string][]string)
			for range clients * calls {
				head, command, _ := strings.Cut(m.fed(), "] ")
				from := strings.TrimPrefix(head, "[0 ")
				got[from] = append(got[from], command)
			}
			for from := range want {
				if !slices.Equal(got[from], want[from]) {
					t.Errorf("monitor %d does not see the commands of %s in order", i, from)
				}
			}
			m.Close()
		}
		eventually(t, "the monitors are gone", func() bool { return s.monitors.Load() == 0 })
	})
}

// TestSlowMonitor closes a monitor that does not read.
func TestSlowMonitor(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.OutputLimits.PubSub.HardBytes = 1 << 20
		})
		deaf, c := dial(t, s), dial(t, s)
		deaf.expect("MONITOR", "OK")
		payload := strings.Repeat("x", 100<<10)
		for range 200 {
			c.send(encode("EXISTS", payload[:60<<10]))
			c.reply()
		}
		eventually(t, "the monitor is closed", func() bool { return s.monitors.Load() == 0 })
	})
}
