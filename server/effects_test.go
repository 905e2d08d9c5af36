package server

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cellserver/cellserver/engine"
)

// A follower applies the effects of one shard, which it is told, to an engine of its own.
type follower struct{ *engine.Engine }

func (f follower) Set(db int, hash uint64, key []byte, tatNanos int64) {
	f.Store(engine.Key{DB: db, Hash: hash, Bytes: key}, tatNanos)
}

func (f follower) Delete(db int, hash uint64, key []byte) {
	f.Engine.Delete(engine.Key{DB: db, Hash: hash, Bytes: key})
}

// follow attaches a sink to every shard that applies all it is told to an empty engine, and returns those engines. Each belongs to
// the shard's loop.
func follow(t *testing.T, s *Server) []*engine.Engine {
	t.Helper()
	followers := make([]*engine.Engine, len(s.loops))
	err := s.onEachShard(func(l *loop) {
		followers[l.index] = engine.New(s.hasher)
		l.engine.Attach(follower{followers[l.index]})
	})
	if err != nil {
		t.Fatal(err)
	}
	return followers
}

// sameAsFollowers compares the shards' digests with those of their followers, at one time.
func sameAsFollowers(t *testing.T, s *Server, followers []*engine.Engine) {
	t.Helper()
	type digests struct{ shard, follower uint64 }
	found := make([]digests, len(s.loops))
	err := s.onEachShard(func(l *loop) {
		l.engine.Advance(l.now)
		followers[l.index].Advance(l.engine.Now())
		found[l.index] = digests{l.engine.Digest(), followers[l.index].Digest()}
	})
	if err != nil {
		t.Fatal(err)
	}
	for shard, digest := range found {
		if digest.shard != digest.follower {
			t.Fatalf("shard %d has another state than its follower", shard)
		}
	}
}

// TestASinkSeesAllChanges: whatever clients do, a sink is told of every change, in order, with nothing done for it by the commands:
// calls, keys that die, RENAME, COPY, FLUSHALL, SWAPDB, transactions and scripts. The log is a sink beside it.
func TestASinkSeesAllChanges(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.AppendOnly = true
		})
		followers := follow(t, s)
		seed := rand.Uint64()
		t.Log("seed", seed)
		random := rand.New(rand.NewPCG(seed, 1))
		clients := []*client{dial(t, s), dial(t, s), dial(t, s)}
		for step := range 3000 {
			c := clients[random.IntN(len(clients))]
			if random.IntN(20) > 0 {
				c.do(randomChange(random)...)
			} else {
				c.run("MULTI")
				for range 3 {
					c.do(randomChange(random)...)
				}
				c.run("EXEC")
			}
			if step%100 == 0 {
				sameAsFollowers(t, s, followers)
			}
		}
		sameAsFollowers(t, s, followers)
	})
}

// randomChange is a command that changes one of a few keys, or all of them.
func randomChange(random *rand.Rand) []string {
	key := func() string { return fmt.Sprintf("k%d", random.IntN(30)) }
	script := "return redis.call('CL.THROTTLE', KEYS[1], 3, 50, 1)"
	line := ""
	switch random.IntN(24) {
	case 0:
		line = "FLUSHALL"
	case 1:
		line = "FLUSHDB"
	case 2:
		line = fmt.Sprintf("SWAPDB %d %d", random.IntN(3), random.IntN(3))
	case 3:
		line = fmt.Sprintf("SELECT %d", random.IntN(3))
	case 4:
		line = "RENAME " + key() + " " + key()
	case 5:
		line = "COPY " + key() + " " + key() + " REPLACE"
	case 6:
		line = fmt.Sprintf("MOVE %s %d", key(), random.IntN(3))
	case 7:
		line = "DEL " + key() + " " + key()
	case 8:
		return []string{"EVAL", script, "1", key()}
	case 9:
		return []string{"EVAL", "redis.call('DEL', KEYS[1]) " + script, "1", key()}
	case 10:
		line = "EXPIRE " + key() + " -1"
	default:
		line = fmt.Sprintf("CL.THROTTLE %s 3 %d 1 %d", key(), 1+random.IntN(50), random.IntN(4)-1)
	}
	return strings.Fields(line)
}
