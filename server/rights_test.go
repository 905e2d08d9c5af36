package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSubscriptionsEndWithTheRight: once SETUSER is answered, none whose user lost a channel receives from it, on whatever loop
// it is; its connection is closed, and that of a user who did it to itself after the reply (Redis 7.0.15 crashes).
func TestSubscriptionsEndWithTheRight(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		admin := dial(t, s)
		admin.expect("ACL SETUSER u on nopass +@all ~* &*", "OK")
		subscribe := func(commands ...string) (all []*client) {
			for i := range 8 {
				c := dial(t, s)
				c.run("HELLO 3 AUTH u x")
				c.run(commands[i%len(commands)])
				all = append(all, c)
			}
			return all
		}
		gone := subscribe("SUBSCRIBE c", "PSUBSCRIBE c*", "SSUBSCRIBE c")
		kept := subscribe("SUBSCRIBE d", "PSUBSCRIBE d*", "SSUBSCRIBE d")
		dialogue{
			{"PUBLISH c x", "6"},
			{"ACL SETUSER u resetchannels &d &d*", "OK"},
			{"PUBLISH c y", "0"},
			{"SPUBLISH c y", "0"},
			{"PUBLISH d x", "6"},
		}.run(t, admin)
		for _, c := range gone {
			if rest := c.rest(); strings.Contains(rest, "y") || strings.Count(rest, "x") > 1 {
				t.Errorf("got %q", rest)
			}
		}
		for _, c := range kept {
			c.send("PING\r\n")
		}
		kept[0].expectReplies("PUBLISH", `>["message" "d" "x"] PONG`)
		kept[0].expect("ACL SETUSER u resetchannels &e", "OK")
		kept[0].closed()
	})
}

// rest returns all that is still to come until the server closes the connection.
func (c *client) rest() string {
	c.t.Helper()
	var all []string
	for {
		reply, err := readReply(c.in)
		if err != nil {
			if os.IsTimeout(err) {
				c.t.Error("the connection is still open")
			}
			return strings.Join(all, " ")
		}
		all = append(all, reply)
	}
}

// TestLoadEndsSubscriptions: the default user keeps its connections when the ACL file is loaded, but not those with a channel
// that it may not have any more (Redis 7.0.15 forgets to ask; later versions do).
func TestLoadEndsSubscriptions(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		path := filepath.Join(t.TempDir(), "users.acl")
		write := func(content string) {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("user default on nopass +@all ~* &*\n")
		s := startServer(t, func(c *Config) { configure(c); c.ACLFile = path })
		admin, narrow, wide := dial(t, s), dial(t, s), dial(t, s)
		narrow.run("SUBSCRIBE c")
		wide.run("SUBSCRIBE d")
		write("user default on nopass +@all ~* resetchannels &d\n")
		dialogue{{"ACL LOAD", "OK"}, {"PUBLISH c x", "-NOPERM *"}, {"PUBLISH d x", "1"}}.run(t, admin)
		narrow.closed()
		wide.expectReplies("PUBLISH", `["message" "d" "x"]`)
	})
}

// TestMonitorsKeepTheirFeed: the right to MONITOR is asked for once, as in Redis. ACL DELUSER and CLIENT KILL end a feed.
func TestMonitorsKeepTheirFeed(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		admin, m := dial(t, s), dial(t, s)
		admin.run("ACL SETUSER u on nopass +@all ~* &*")
		dialogue{{"AUTH u x", "OK"}, {"MONITOR", "OK"}}.run(t, m)
		dialogue{{"ACL SETUSER u off -@all", "OK"}, {"ECHO a", `"a"`}}.run(t, admin)
		if got := m.reply(); !fits(`*"ECHO" "a"`, got) {
			t.Error(got)
		}
		dialogue{{"ACL DELUSER u", "1"}, {"ECHO b", `"b"`}}.run(t, admin)
		m.closed()
	})
}

// TestDeletingOneself: whoever ends its own user gets its reply, that of EXEC whole, and nothing after it. In EXEC what follows
// is denied; Redis 7.0.15 carries it out as the default user and cuts the reply off in the middle.
func TestDeletingOneself(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		admin := dial(t, s)
		for _, row := range []struct{ before, commands, replies string }{
			{"", "ACL DELUSER u", "1"},
			{"MULTI", "ACL DELUSER u\r\nEXEC\r\nPING", "QUEUED [1]"},
			{"MULTI", "PING\r\nACL DELUSER u\r\nGET k\r\nEXEC\r\nPING\r\nCL.THROTTLE k 1 1 1",
				"QUEUED QUEUED QUEUED [PONG 1 -NOPERM *]"},
			{"CLIENT REPLY OFF", "MULTI\r\nACL DELUSER u\r\nEXEC", ""},
		} {
			admin.expect("ACL SETUSER u on nopass +@all ~*", "OK")
			c, other := dial(t, s), dial(t, s)
			c.expect("AUTH u x", "OK")
			other.expect("AUTH u x", "OK")
			if row.before != "" {
				c.send(row.before + "\r\n")
			}
			if row.before == "MULTI" {
				c.expectReplies("MULTI", "OK")
			}
			c.send(row.commands + "\r\n")
			if got := c.rest(); !fits(row.replies, got) {
				t.Errorf("%s\n got %s\nwant %s", row.commands, got, row.replies)
			}
			other.closed()
		}
	})
}
