package server

import (
	"testing"
	"time"
)

func TestDebug(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.EnableDebugCommand = debugForLocal
		})
		c := dial(t, s)
		dialogue{
			{"DEBUG DIGEST", "0000000000000000000000000000000000000000"},
			{"SET a " + far, "OK"},
			{"SET b " + far, "OK"},
			{"DEBUG DIGEST-VALUE a none b", "[* 0000000000000000000000000000000000000000 *]"},
			{"DEBUG DIGEST-VALUE", "[]"},
			{"DEBUG OBJECT a", "Value at:0x* refcount:1 encoding:embstr serializedlength:20"},
			{"DEBUG OBJECT none", "-ERR no such key"},
			{"DEBUG ERROR boo", "-boo"},
			{"DEBUG LOG hello", "OK"},
			{"DEBUG SLEEP 0", "OK"},
			{"DEBUG SLEEP x", "OK"},
			{"DEBUG SLEEP -1", "OK"},
			{"DEBUG SLEEP nan", "OK"},
			{"DEBUG SLEEP inf", "OK"},
			{"DEBUG SLEEP", "-ERR unknown subcommand or wrong number of arguments for 'SLEEP'. Try DEBUG HELP."},
			{"DEBUG JMAP", "-ERR unknown subcommand or wrong number of arguments for 'JMAP'. Try DEBUG HELP."},
			{"DEBUG QUICKLIST-PACKED-THRESHOLD 100b", "OK"},
			{"DEBUG QUICKLIST-PACKED-THRESHOLD 4gb", "-ERR argument must be a memory value bigger than 1 and smaller than 4gb"},
			{"DEBUG QUICKLIST-PACKED-THRESHOLD x", "-ERR argument must be a memory value bigger than 1 and smaller than 4gb"},
			{"DEBUG HELP", "[DEBUG <subcommand>* HELP *]"},
		}.run(t, c)
		before := c.run("DEBUG DIGEST")
		c.run("DEL b")
		c.run("SET b " + far)
		if after := c.run("DEBUG DIGEST"); after != before {
			t.Errorf("the same keys have the digests %s and %s", before, after)
		}
		if after := c.run("SET b 4102444800000000001") + c.run("DEBUG DIGEST"); after == "OK"+before {
			t.Error("other TATs have the same digest")
		}
	})
}

// TestDebugProtection: the configuration is asked before the user's rights, and before who the user is.
func TestDebugProtection(t *testing.T) {
	for setting, want := range map[string][2]string{
		debugForNobody: {"-ERR DEBUG command not allowed. *", "-ERR DEBUG command not allowed. *"},
		debugForLocal:  {"-NOAUTH *", "-NOPERM *"},
	} {
		s := startServer(t, func(c *Config) { c.EnableDebugCommand, c.RequirePass = setting, "secret" })
		c := dial(t, s)
		dialogue{
			{"DEBUG SLEEP 0", want[0]},
			{"AUTH secret", "OK"},
			{"ACL SETUSER nd on nopass +@all -debug ~*", "OK"},
			{"AUTH nd x", "OK"},
			{"DEBUG SLEEP 0", want[1]},
		}.run(t, c)
	}
}

// TestSetActiveExpire: without sweeping a dead key stays counted, and with it goes.
func TestSetActiveExpire(t *testing.T) {
	c := dial(t, startServer(t, func(c *Config) { c.EnableDebugCommand = debugForAll }))
	c.run("DEBUG SET-ACTIVE-EXPIRE 0")
	c.run("CL.THROTTLE k 5 100 1")
	time.Sleep(300 * time.Millisecond)
	if got := c.run("DBSIZE"); got != "1" {
		t.Error("swept nevertheless: DBSIZE", got)
	}
	c.run("DEBUG SET-ACTIVE-EXPIRE 1")
	eventually(t, "swept", func() bool { return c.run("DBSIZE") == "0" })
}
