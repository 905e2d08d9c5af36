package server

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const noTAT = "-ERR value is not a TAT: a limiter key holds the time at which it expires, *"

const otherExpiry = "-ERR value is a TAT, but the key's expiry is not the same time: *"

var stringsDialogue = dialogue{
	{"SET s " + far, "OK"},
	{"GET s", `"` + far + `"`},
	{"GET none", "nil"},
	{"MGET s none s", `["` + far + `" nil "` + far + `"]`},
	{"SET s " + far + " NX", "nil"},
	{"SET n " + far + " XX", "nil"},
	{"SET n " + far + " NX EXAT 4102444800", "OK"},
	{"SET n " + far + " XX PXAT 4102444800000 GET", `"` + far + `"`},
	{"SET m " + far + " GET", "nil"},
	{"SET s " + far + " KEEPTTL", "OK"},
	{"SET s 4102444801000000000 KEEPTTL", "OK"},
	{"SET s " + far + " KEEPTTL", "OK"},
	{"SET s 4102444801000000001 KEEPTTL", otherExpiry},
	{"SET s 4102444801000000001 KEEPTTL GET", otherExpiry},
	{"SET s 4102444801000000001 NX KEEPTTL", "nil"},
	{"SET s 4102444801000000001 NX KEEPTTL GET", `"` + far + `"`},
	{"SET none 4102444801000000001 XX KEEPTTL", "nil"},
	{"SET new 4102444801000000001 KEEPTTL", "OK"},
	{"SET s " + far + " NX XX", "-ERR syntax error"},
	{"SET s " + far + " EX", "-ERR syntax error"},
	{"SET s " + far + " EX 1 KEEPTTL", "-ERR syntax error"},
	{"SET s " + far + " PERSIST", "-ERR syntax error"},
	{"SET s " + far + " PXAT x PXAT 4102444800000", "OK"},
	{"SET s " + far + " EX 0", "-ERR invalid expire time in 'set' command"},
	{"SET s " + far + " PX -1", "-ERR invalid expire time in 'set' command"},
	{"SET s " + far + " EX 9223372036854775807", "-ERR invalid expire time in 'set' command"},
	{"SET s " + far + " EX x", "-ERR value is not an integer or out of range"},
	{"SET s " + far + " FOO", "-ERR syntax error"},
	{"SET s 1000000000000000000", "OK"}, // a TAT that has passed means a full bucket, which means no key
	{"GET s", "nil"},
	{"SET n 1500000000000000000 PXAT 1500000000000", "OK"},
	{"GET n", "nil"},
	{"SET", "-ERR wrong number of arguments for 'set' command"},
	{"SETNX k " + far, "1"},
	{"SETNX k 4102444800000000001", "0"},
	{"GETSET k 4102444800000000001", `"` + far + `"`},
	{"GETSET none " + far, "nil"},
	{"GETDEL none", `"` + far + `"`},
	{"GETDEL none", "nil"},
	{"STRLEN k", "19"},
	{"STRLEN none", "0"},
	{"GETRANGE k 0 3", `"4102"`},
	{"GETRANGE k -3 -1", `"001"`},
	{"GETRANGE k -1 -3", `""`},
	{"GETRANGE k 5 2", `""`},
	{"GETRANGE k -100 -100", `"4"`},
	{"GETRANGE k 17 9223372036854775807", `"01"`},
	{"GETRANGE k 19 20", `""`},
	{"SUBSTR k -9223372036854775808 1", `"41"`},
	{"GETRANGE none 0 -1", `""`},
	{"GETRANGE none x 1", "-ERR value is not an integer or out of range"},
	{"SUBSTR none 1 x", "-ERR value is not an integer or out of range"},
}

// valuesDialogue: what is no TAT, or not the TAT of a key with that expiry, is refused by every command that takes a value.
var valuesDialogue = dialogue{
	{"SET s " + far, "OK"},
	{"SET s hello", noTAT},
	{"SET s -5", noTAT},
	{"SET s 1.5", noTAT},
	{"SET s +4102444800000000000", noTAT},
	{"SET s 999999999999999999", noTAT},
	{"SET s 1", noTAT},
	{"SET s 1 EX 60", noTAT},
	{"SET s 1 KEEPTTL", noTAT},
	{"SET none 1 XX", noTAT},
	{"SET lock 1 NX PX 30000", noTAT},
	{"SET lock 1 NX PX 30000 GET", noTAT},
	{"SET k 1000000000000 PXAT 1000000", noTAT},
	{"SET k 2071234567890123456 EX 60", otherExpiry},
	{"SET k " + far + " EX 100", otherExpiry},
	{"SET k " + far + " PX 100", otherExpiry},
	{"SET k " + far + " PXAT 1", otherExpiry},
	{"SET k " + far + " PXAT 4102444799000", "OK"},
	{"SET k " + far + " PXAT 4102444798999", otherExpiry},
	{"SET k " + far + " PXAT 4102444801000", "OK"},
	{"SET k " + far + " PXAT 4102444801001", otherExpiry},
	{"SET k " + far + " EXAT 4102444801", "OK"},
	{"SET k " + far + " EXAT 4102444802", otherExpiry},
	{"SET k 9223372036854775807 PXAT 9223372036854775807", "OK"}, // both as far as time goes
	{"SET k 9223372036854775807 PXAT 9223372036854", "OK"},
	{"SET k 1500000000000000000 PXAT 1500000001001", otherExpiry},
	{"DEL k", "1"},
	{"SETNX k 1", noTAT},
	{"SETNX s 1", noTAT},
	{"SETEX k 60 1", noTAT},
	{"SETEX k 60 " + far, otherExpiry},
	{"SETEX k 0 1", "-ERR invalid expire time in 'setex' command"},
	{"SETEX k x 1", "-ERR value is not an integer or out of range"},
	{"PSETEX k 60000 1", noTAT},
	{"PSETEX k 60000 " + far, otherExpiry},
	{"PSETEX k -1 " + far, "-ERR invalid expire time in 'psetex' command"},
	{"GETSET s 1", noTAT},
	{"GETSET k hello", noTAT},
	{"MSET k " + far + " l 1", noTAT},
	{"MSETNX k " + far + " l 1", noTAT},
	{"MULTI", "OK"},
	{"SET k 1 EX 60", "QUEUED"},
	{"SETEX k 60 1", "QUEUED"},
	{"EXEC", "[" + noTAT + " " + noTAT + "]"},
	{"GET s", `"` + far + `"`},
	{"EXISTS k l lock", "0"},
}

var msetDialogue = dialogue{
	{"MSET a " + far + " b 4102444800000000001 c " + far, "OK"},
	{"MGET a b c", `["` + far + `" "4102444800000000001" "` + far + `"]`},
	{"MSET a 4102444800000000002 a 4102444800000000003", "OK"},
	{"GET a", `"4102444800000000003"`},
	{"MSET a " + far + " b", "-ERR wrong number of arguments for 'mset' command"},
	{"MSET a", "-ERR wrong number of arguments for 'mset' command"},
	{"MSETNX d " + far + " e", "-ERR wrong number of arguments for 'msetnx' command"},
	{"MSETNX d " + far + " e " + far + " a " + far, "0"},
	{"EXISTS d e", "0"},
	{"MSETNX d " + far + " e " + far, "1"},
	{"EXISTS d e", "2"},
	{"MSET a 1000000000000000000 b " + far, "OK"},
	{"EXISTS a b", "1"},
}

// TestValuesInScripts: a script gets the errors too.
func TestValuesInScripts(t *testing.T) {
	c := dial(t, startServer(t, nil))
	for _, call := range []string{
		"'SET',KEYS[1],1,'EX',60", "'SET',KEYS[1],1,'NX','PX',30000", "'SET',KEYS[1],'x'",
		"'SETEX',KEYS[1],60,1", "'PSETEX',KEYS[1],60000,1", "'SETNX',KEYS[1],1", "'GETSET',KEYS[1],1", "'MSET',KEYS[1],1",
	} {
		if got := c.do("EVAL", "return redis.call("+call+")", "1", "k"); !strings.HasPrefix(got, "-ERR value is not a TAT: ") {
			t.Errorf("%s: %s", call, got)
		}
	}
	if got := c.do("EVAL", "return redis.call('SET',KEYS[1],'2071234567890123456','EX',60)", "1", "k"); !fits(otherExpiry, got) {
		t.Error(got)
	}
	if got := c.run("EXISTS k"); got != "0" {
		t.Error("stored")
	}
}

// TestRelativeExpiries: a TAT and an expiry that counts from now agree within a second.
func TestRelativeExpiries(t *testing.T) {
	c := dial(t, startServer(t, nil))
	tat := func(seconds float64) string {
		return fmt.Sprint(time.Now().Add(time.Duration(seconds * float64(time.Second))).UnixNano())
	}
	for _, row := range []struct {
		command string
		ahead   float64 // of the TAT, in seconds
		agrees  bool
	}{
		{"SET k TAT EX 60", 60, true}, {"SET k TAT PX 60000", 60, true}, {"SETEX k 60 TAT", 60, true}, {"PSETEX k 60000 TAT", 60, true},
		{"SET k TAT EX 60", 60.9, true}, {"SET k TAT PX 60000", 59.5, true}, {"SETEX k 60 TAT", 60.9, true}, {"PSETEX k 60000 TAT", 59.5, true},
		{"SET k TAT EX 60", 65, false}, {"SET k TAT PX 60000", 58.5, false}, {"SETEX k 60 TAT", 65, false}, {"PSETEX k 60000 TAT", 58.5, false},
	} {
		got := c.run(strings.Replace(row.command, "TAT", tat(row.ahead), 1))
		if row.agrees != (got == "OK") || c.run("DEL k") != map[bool]string{true: "1", false: "0"}[row.agrees] {
			t.Errorf("%s with a TAT %v s ahead: %s", row.command, row.ahead, got)
		}
	}
}

// TestMsetIsAtomic: keys of several shards are set together, all or none, though others set and read them meanwhile.
func TestMsetIsAtomic(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprint("name", i))
		}
		setter := func(command, tat string) []string {
			words := []string{command}
			for _, name := range names {
				words = append(words, name, tat)
			}
			return words
		}
		const other = "4102444800000000001"
		var setting sync.WaitGroup
		for _, words := range [][]string{setter("MSET", far), setter("MSETNX", other), append([]string{"DEL"}, names...)} {
			c := dial(t, s)
			setting.Go(func() {
				for range 300 {
					c.do(words...)
				}
			})
		}
		all := func(value string) string {
			return "[" + strings.Join(slices.Repeat([]string{value}, len(names)), " ") + "]"
		}
		states := []string{all("nil"), all(`"` + far + `"`), all(`"` + other + `"`)}
		reader := dial(t, s)
		for range 300 {
			if got := reader.do(append([]string{"MGET"}, names...)...); !slices.Contains(states, got) {
				t.Errorf("MGET %s", got)
			}
		}
		setting.Wait()
	})
}
