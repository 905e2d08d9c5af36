package server

import (
	"fmt"
	"strconv"
	"testing"
	"time"
)

const expiresEarlier = "-ERR a limiter key expires at its TAT, when its bucket is full again, and no earlier: *"

// A key's expiry can be said again or put off, which changes nothing, and it can be brought on to now.
var expireDialogue = dialogue{
	{"SET e " + far, "OK"},
	{"EXPIRE e 100", expiresEarlier},
	{"PEXPIRE e 100 XX", expiresEarlier},
	{"PEXPIRE e 100 LT", expiresEarlier},
	{"EXPIREAT e 4102444800", "1"},
	{"EXPIREAT e 4102444799", expiresEarlier},
	{"EXPIREAT e 99999999999", "1"},
	{"EXPIREAT e 9223372036854775", "1"},
	{"PEXPIREAT e 4102444800000", "1"},
	{"PEXPIREAT e 4102444799001", "1"},
	{"PEXPIREAT e 4102444799000", expiresEarlier},
	{"PEXPIREAT e 9223372036854775807", "1"},
	{"EXPIRE e 99999999999", "1"},
	{"PEXPIRE e 99999999999999 XX", "1"},
	{"PERSIST e", "-ERR a limiter key can't be kept for ever: *"},
	{"GET e", `"` + far + `"`},
	{"PEXPIRETIME e", "4102444800000"},
	{"PERSIST none", "0"},
	{"EXPIRE none 100", "0"},
	{"EXPIRE none 99999999999", "0"},
	{"EXPIRE e 0 NX", "0"},
	{"EXPIRE e 100 NX", "0"},
	{"EXPIRE e 99999999999 NX", "0"},
	{"EXPIRE e 0 GT", "0"},
	{"EXPIRE e 100 GT", "0"},
	{"PEXPIREAT e 4102444800000 GT", "0"},
	{"PEXPIREAT e 4102444800001 GT", "1"},
	{"PEXPIREAT e 4102444800000 LT", "0"},
	{"PEXPIREAT e 4102444800001 LT", "0"},
	{"EXPIRE e 99999999999 GT XX", "1"},
	{"EXPIRE e x", "-ERR value is not an integer or out of range"},
	{"EXPIRE e 10 FOO", "-ERR Unsupported option FOO"},
	{"EXPIRE e x FOO", "-ERR Unsupported option FOO"},
	{"EXPIRE e 0", "1"},
	{"EXISTS e", "0"},
	{"SET e " + far, "OK"},
	{"PEXPIRE e -1", "1"},
	{"SET e " + far, "OK"},
	{"EXPIREAT e 1", "1"},
	{"SET e " + far, "OK"},
	{"PEXPIREAT e 1000 LT", "1"},
	{"SET e " + far, "OK"},
	{"PEXPIRE e -9223372036854775808", "1"},
	{"EXISTS e", "0"},
}

var getEXDialogue = dialogue{
	{"GETEX e", "nil"},
	{"GETEX e EX x", "nil"},
	{"GETEX e PERSIST", "nil"},
	{"SET e " + far, "OK"},
	{"GETEX e", `"` + far + `"`},
	{"GETEX e EX 99999999999", `"` + far + `"`},
	{"GETEX e PX 99999999999999", `"` + far + `"`},
	{"GETEX e EXAT 4102444800", `"` + far + `"`},
	{"GETEX e PXAT 4102444800000", `"` + far + `"`},
	{"GETEX e PXAT 1 PXAT 4102444800000", `"` + far + `"`},
	{"GETEX e EX 100", expiresEarlier},
	{"GETEX e PX 100", expiresEarlier},
	{"GETEX e EXAT 4102444799", expiresEarlier},
	{"GETEX e PXAT 4102444799000", expiresEarlier},
	{"GETEX e PERSIST", "-ERR a limiter key can't be kept for ever: *"},
	{"GETEX e EX 0", "-ERR invalid expire time in 'getex' command"},
	{"GETEX e EX x", "-ERR value is not an integer or out of range"},
	{"GETEX e EX", "-ERR syntax error"},
	{"GETEX e EX 1 PX 1", "-ERR syntax error"},
	{"GETEX e PERSIST EX 1", "-ERR syntax error"},
	{"GETEX e KEEPTTL", "-ERR syntax error"},
	{"GETEX e NX", "-ERR syntax error"},
	{"GETEX e GET", "-ERR syntax error"},
	{"PEXPIRETIME e", "4102444800000"},
	{"GETEX e PXAT 1", `"` + far + `"`},
	{"GETEX e", "nil"},
	{"SET e " + far, "OK"},
	{"GETEX e EXAT 1000", `"` + far + `"`},
	{"EXISTS e", "0"},
}

// TestExpiryIsWrittenBack: a client that reads when a key expires, in any of the four ways, and sends that is answered with 1,
// wherever in a second or a millisecond the TAT lies, and the key keeps its TAT.
func TestExpiryIsWrittenBack(t *testing.T) {
	c := dial(t, startServer(t, nil))
	for i := range 40 {
		key := fmt.Sprint("k", i)
		c.do("CL.THROTTLE", key, "100", "7", "60", strconv.Itoa(1+i))
		tat := c.do("GET", key)
		for _, pair := range [][2]string{{"TTL", "EXPIRE"}, {"PTTL", "PEXPIRE"}, {"EXPIRETIME", "EXPIREAT"}, {"PEXPIRETIME", "PEXPIREAT"}} {
			read := c.do(pair[0], key)
			if got := c.do(pair[1], key, read); got != "1" {
				t.Errorf("TAT %s: %s %s, of %s: %s", tat, pair[1], read, pair[0], got)
			}
		}
		if got := c.do("GET", key); got != tat {
			t.Errorf("TAT %s became %s", tat, got)
		}
	}
}

// TestForeignExpiries: what throttled, RedisShake and redis-dump-go send for a TAT is taken, though their expiries are cut to
// seconds or lie some milliseconds before the TAT, and changes nothing.
func TestForeignExpiries(t *testing.T) {
	c := dial(t, startServer(t, nil))
	for _, ahead := range []time.Duration{30_001 * time.Millisecond, 30_990 * time.Millisecond, 38_571_428_571, 3600 * time.Second} {
		now := time.Now()
		at := now.Add(ahead)
		tat, seconds := fmt.Sprint(at.UnixNano()), strconv.Itoa(int(ahead/time.Second))
		dialogue{
			{"SETNX throttled " + tat, "1"},
			{"EXPIRE throttled " + seconds, "1"},
			{"EVAL return(redis.call('SETEX',KEYS[1],ARGV[1],ARGV[2])) 1 throttled " + seconds + " " + tat, "OK"},
			{"GET throttled", `"` + tat + `"`},
			{"SET shaken " + tat, "OK"},
			{"PEXPIRE shaken " + fmt.Sprint((ahead - 2*time.Millisecond).Milliseconds()), "1"},
			{"PEXPIREAT shaken " + fmt.Sprint(at.UnixMilli()-2), "1"},
			{"GET shaken", `"` + tat + `"`},
			{"SET dumped " + tat, "OK"},
			{"EXPIREAT dumped " + fmt.Sprint(at.Unix()), "1"},
			{"GET dumped", `"` + tat + `"`},
			{"DEL throttled shaken dumped", "3"},
		}.run(t, c)
	}
}
