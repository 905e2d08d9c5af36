package server

import (
	"fmt"
	"strings"
	"testing"
)

// logEverything has SLOWLOG keep all commands.
func logEverything(configure func(*Config)) func(*Config) {
	return func(c *Config) {
		configure(c)
		c.SlowlogLogSlowerThanMicros = 0
	}
}

// TestSlowlog: entries are as Redis's, newest first; secrets are not in them.
func TestSlowlog(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, logEverything(configure)))
		c.run("CLIENT SETNAME me")
		for command, want := range map[string]string{
			"CL.THROTTLE k +5 1 60":                  `["cl.throttle" "k" "5" "1" "60" "1"]`,
			"CL.THROTTLE k x 1 60":                   `["cl.throttle" "k"]`,
			"GET k":                                  `["GET" "k"]`,
			"MGET a b c d e f":                       `["MGET" "a" "b" "c" "d" "e" "f"]`,
			"ECHO hello":                             `["ECHO" "hello"]`,
			"AUTH joe secret":                        `["AUTH" "(redacted)" "(redacted)"]`,
			"HELLO 2 SETNAME me AUTH default secret": `["HELLO" "2" "SETNAME" "me" "AUTH" "(redacted)" "(redacted)"]`,
			"GET " + strings.Repeat("x", slowlogWordBytes):         `["GET" "` + strings.Repeat("x", slowlogWordBytes) + `"]`,
			"GET " + strings.Repeat("x", slowlogWordBytes+1):       `["GET" "` + strings.Repeat("x", slowlogWordBytes) + `... (1 more bytes)"]`,
			"EXISTS" + strings.Repeat(" k", slowlogWords-1):        `["EXISTS"` + strings.Repeat(` "k"`, slowlogWords-1) + `]`,
			"EXISTS" + strings.Repeat(" k", slowlogWords-1) + " k": `["EXISTS"` + strings.Repeat(` "k"`, slowlogWords-2) + ` "... (2 more arguments)"]`,
		} {
			c.run(command)
			got := c.run("SLOWLOG GET 1")
			if !fits(`[[* * * `+want+` "127.0.0.1:*" "me"]]`, got) {
				t.Errorf("%.50s: got %s, want %s", command, got, want)
			}
			c.run("SLOWLOG RESET")
		}
		c.do("EVAL", "redis.call('get', 'k')", "0")
		if got := c.run("SLOWLOG GET 2"); !fits(`[[* ["EVAL" *] "127.0.0.1:*" "me"] [* ["get" "k"] "127.0.0.1:*" "me"]]`, got) {
			t.Error(got)
		}
		c.run("SLOWLOG RESET")
		c.run("GET")
		c.run("FOO")
		if got := c.run("SLOWLOG LEN"); got != "1" { // SLOWLOG RESET only: what is turned down takes no time
			t.Error("SLOWLOG LEN", got)
		}
	})
}

func TestSlowlogMaxLen(t *testing.T) {
	c := dial(t, startServer(t, logEverything(func(c *Config) { c.SlowlogMaxLen = 3 })))
	for i := range 10 {
		c.run(fmt.Sprint("ECHO ", i))
	}
	if got := c.run("SLOWLOG LEN"); got != "3" {
		t.Error("SLOWLOG LEN", got)
	}
	if got := c.run("SLOWLOG GET -1"); !fits(`[[10 * ["SLOWLOG" "LEN"] *] [9 * ["ECHO" "9"] *] [8 * ["ECHO" "8"] *]]`, got) {
		t.Error("SLOWLOG GET", got)
	}
}

func TestRedacted(t *testing.T) {
	for line, want := range map[string]string{
		"acl setuser joe >x":                           "acl setuser (redacted) (redacted)",
		"config set maxclients 5 REQUIREPASS x port 1": "config set maxclients 5 REQUIREPASS (redacted) port 1",
		"auth x":     "auth (redacted)",
		"hello":      "hello",
		"get auth x": "get auth x",
	} {
		var words [][]byte
		for word := range strings.FieldsSeq(line) {
			words = append(words, []byte(word))
		}
		row := &command{name: string(words[0])}
		if row.name == "acl" || row.name == "config" {
			row = &command{name: string(words[1]), container: row.name}
		}
		var got []string
		for _, word := range redacted(row, words) {
			got = append(got, string(word))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s", line, got)
		}
	}
}
