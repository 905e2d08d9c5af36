package server

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTransactions goes through what one connection can do with MULTI. The replies are Redis 7.0's.
func TestTransactions(t *testing.T) {
	later := strconv.FormatInt(time.Now().Add(time.Hour).UnixNano(), 10)
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, configure))
		for _, step := range []struct{ send, want string }{
			{"EXEC", "-ERR EXEC without MULTI"},
			{"DISCARD", "-ERR DISCARD without MULTI"},
			{"MULTI", "OK"},
			{"MULTI", "-ERR MULTI calls can not be nested"},
			{"WATCH a", "-ERR WATCH inside MULTI is not allowed"},
			{"SET a " + later, "QUEUED"},
			{"GET a", "QUEUED"},
			{"DEL a b c d e f", "QUEUED"},
			{"GET a b", "-ERR wrong number of arguments for 'get' command"},
			{"EXEC", "-EXECABORT Transaction discarded because of previous errors."},
			{"GET a", "nil"},
			{"MULTI", "OK"},
			{"NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: "},
			{"DISCARD", "OK"},
			{"EXEC", "-ERR EXEC without MULTI"},
			{"MULTI", "OK"},
			{"EXEC", "[]"},
			{"MULTI", "OK"},
			{"SET a " + later, "QUEUED"},
			{"SELECT 3", "QUEUED"},
			{"GET a", "QUEUED"},
			{"CL.THROTTLE b 15 30 60", "QUEUED"},
			{"CL.THROTTLE b x 30 60", "QUEUED"},
			{"EXISTS a b c d", "QUEUED"},
			{"KEYS *", "QUEUED"},
			{"DBSIZE", "QUEUED"},
			{"SELECT 0", "QUEUED"},
			{"MGET a nothing", "QUEUED"},
			{"EXEC", "[OK OK nil [0 16 15 -1 2] -Cell error: Store error: Couldn't parse as integer: x 1 [\"b\"] 1 OK [\"" + later + "\" nil]]"},
			{"MULTI", "OK"},
			{"GET a", "QUEUED"},
			{"RESET", "RESET"},
			{"EXEC", "-ERR EXEC without MULTI"},
		} {
			if got := c.run(step.send); got != step.want {
				t.Fatalf("%s: got %s, want %s", step.send, got, step.want)
			}
		}
	})
}

// TestWatch has another connection change, or not, what a connection watches.
func TestWatch(t *testing.T) {
	later := strconv.FormatInt(time.Now().Add(time.Hour).UnixNano(), 10)
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		c, other := dial(t, s), dial(t, s)
		for _, test := range []struct{ name, before, meanwhile, want string }{
			{"nothing", "SET a " + later, "GET a", "[PONG]"},
			{"stored", "SET a " + later, "SET a " + later, "nil"},
			{"made", "DEL a", "SET a " + later, "nil"},
			{"throttled", "DEL a", "CL.THROTTLE a 15 30 60", "nil"},
			{"refused", "CL.THROTTLE a 0 1 60", "CL.THROTTLE a 0 1 60", "[PONG]"},
			{"an expiry that changes nothing", "SET a " + later, "EXPIRE a 3601", "[PONG]"},
			{"deleted", "SET a " + later, "DEL x a y", "nil"},
			{"deleted and made", "SET a " + later, "RENAME a a2", "nil"},
			{"nothing deleted", "DEL a", "DEL a", "[PONG]"},
			{"flushed", "SET a " + later, "FLUSHALL", "nil"},
			{"flushed without it", "DEL a", "FLUSHALL", "[PONG]"},
			{"swapped", "SET a " + later, "SWAPDB 0 1", "nil"},
			{"swapped without it", "DEL a", "SWAPDB 1 0", "[PONG]"},
			{"another database swapped", "SET a " + later, "SWAPDB 1 2", "[PONG]"},
			{"another key", "SET a " + later, "SET b " + later, "[PONG]"},
		} {
			c.run("FLUSHALL")
			c.run(test.before)
			c.run("WATCH z a a y")
			other.run(test.meanwhile)
			c.run("MULTI")
			c.run("PING")
			if got := c.run("EXEC"); got != test.want {
				t.Errorf("%s: got %s, want %s", test.name, got, test.want)
			}
			c.run("MULTI")
			if got := c.run("EXEC"); got != "[]" {
				t.Errorf("%s: a second EXEC: got %s", test.name, got)
			}
		}
	})
}

func TestWatchedKeyExpires(t *testing.T) {
	c := dial(t, startServer(t, nil))
	c.run("CL.THROTTLE a 0 1000 20") // full again after 20 ms
	c.run("WATCH a gone")
	time.Sleep(50 * time.Millisecond)
	c.run("MULTI")
	if got := c.run("EXEC"); got != "nil" {
		t.Errorf("EXEC after a watched key has expired: got %s", got)
	}
}

// TestUnwatchedKeysAreForgotten: whatever way a watch ends, no shard counts changes any more.
func TestUnwatchedKeysAreForgotten(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		for _, end := range []string{"UNWATCH", "RESET", "QUIT", "MULTI\r\nEXEC", "MULTI\r\nDISCARD"} {
			c := dial(t, s)
			c.send("WATCH a b c d e\r\n" + end + "\r\n")
			c.reply()
			c.reply()
		}
		dial(t, s).run("WATCH a b")
		eventually(t, "the keys of one connection are watched, and no others", func() bool {
			watched := 0
			for _, l := range s.loops {
				counted := make(chan int)
				l.post(&envelope{deliver: func(l *loop) { counted <- l.engine.Watched() }})
				watched += <-counted
			}
			return watched == 2
		})
	})
}

// TestTransactionsAreAtomic moves one key among several names, in transactions and over shards: at any instant it has
// exactly one of them.
func TestTransactionsAreAtomic(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		later := strconv.FormatInt(time.Now().Add(time.Hour).UnixNano(), 10)
		dial(t, s).run("SET k0 " + later)
		var running sync.WaitGroup
		for worker := range 4 {
			c := dial(t, s)
			running.Go(func() {
				for i := range 200 {
					if worker%2 == 0 {
						from, to := i%8, (i+worker+1)%8
						c.send(fmt.Sprintf("MULTI\r\nRENAME k%d k%d\r\nEXISTS k0 k1 k2 k3 k4 k5 k6 k7\r\nEXEC\r\n", from, to))
						for range 3 {
							c.reply()
						}
						if got := c.reply(); !strings.HasSuffix(got, " 1]") {
							t.Errorf("EXEC: %s", got)
						}
					} else if got := c.run("EXISTS k0 k1 k2 k3 k4 k5 k6 k7"); got != "1" {
						t.Errorf("EXISTS: %s", got)
					}
				}
			})
		}
		running.Wait()
	})
}

// TestTransactionsAreBounded: what a transaction queues counts against the limit of unparsed input.
func TestTransactionsAreBounded(t *testing.T) {
	const limit = 1 << 20
	c := dial(t, startServer(t, func(config *Config) { config.MaxQueryBytes = limit }))
	c.run("MULTI")
	argument := strings.Repeat("x", 1000-queuedCommandCost-len("ECHO"))
	for queued := 1000; queued <= limit; queued += 1000 {
		if got := c.do("ECHO", argument); got != "QUEUED" {
			t.Fatalf("after %d bytes: %s", queued, got)
		}
	}
	c.send(encode("ECHO", argument))
	if _, err := c.in.ReadByte(); err == nil {
		t.Error("a transaction over the limit is not closed")
	}
}

// TestManyWatchedKeys: a connection may watch very many keys, some of them twice; each is looked at, and all are let go of in the end.
func TestManyWatchedKeys(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		c, other := dial(t, s), dial(t, s)
		words := []string{"WATCH"}
		for i := range 3*pieceLength + 1 {
			words = append(words, fmt.Sprint("k", i))
		}
		last := words[len(words)-1]
		words = append(words, "k0", last)
		watched := func() (total int) {
			counts := make([]int, len(s.loops))
			if err := s.onEachShard(func(l *loop) { counts[l.index] = l.engine.Watched() }); err != nil {
				t.Fatal(err)
			}
			for _, count := range counts {
				total += count
			}
			return total
		}
		for _, change := range []bool{false, true} {
			for range 2 {
				if got := c.do(words...); got != "OK" {
					t.Fatal(got)
				}
			}
			if got := watched(); got != 3*pieceLength+1 {
				t.Errorf("%d keys are watched", got)
			}
			if change {
				other.run("CL.THROTTLE " + last + " 15 30 60")
			}
			c.expect("MULTI", "OK")
			c.expect("PING", "QUEUED")
			c.expect("EXEC", map[bool]string{false: "[PONG]", true: "nil"}[change])
			eventually(t, "the keys are let go of", func() bool { return watched() == 0 })
		}
		c.do(words...)
		c.Close()
		eventually(t, "a closed connection lets go of its keys", func() bool { return watched() == 0 })
	})
}
