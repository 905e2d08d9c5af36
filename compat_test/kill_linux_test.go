package compat_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// killedKeys are throttled by a client each, one call at a time.
	killedKeys = 4
	// killedBurst is more than all calls of the test, and killedPeriod longer than it lasts: so no token comes back, and what CL.PROBE
	// says of a key counts its calls.
	killedBurst, killedPeriod = 1_000_000_000, 360_000
	// secondLost is how much everysec may lose: effects wait for a second in memory, and are written and synced then.
	secondLost = 2 * time.Second
)

// A killedClient knows what it was answered.
type killedClient struct {
	key           string
	sent, allowed int64
	times         []time.Time // when the calls were answered, since the last kill
}

// TestKill kills the server without warning under load, again and again, and starts it on the same folder. No call that was
// answered is forgotten under always, none of more than the last second or so under everysec; and never is there one that nobody
// has made.
func TestKill(t *testing.T) {
	rounds := map[string]int{"always": 3, "everysec": 1}
	if heavy {
		rounds = map[string]int{"always": 40, "everysec": 10}
	}
	for policy, n := range rounds {
		t.Run(policy, func(t *testing.T) {
			folder := t.TempDir()
			var clients []*killedClient
			for i := range killedKeys {
				clients = append(clients, &killedClient{key: fmt.Sprint("key", i)})
			}
			for round := range n {
				p := start(t, "--appendonly", "yes", "--appendfsync", policy, "--dir", folder, "--shards", "2", "--auto-aof-rewrite-min-size", "10kb")
				client := goRedis(t, p, nil)
				for _, c := range clients {
					c.verify(t, client, policy)
				}
				lasting := time.Duration(50+rand.IntN(300)) * time.Millisecond
				if policy == "everysec" && round%2 == 0 {
					lasting += secondLost + time.Second
				}
				throttleUntilKilled(t, p, clients, lasting)
			}
		})
	}
}

// throttleUntilKilled has all clients call until the server is killed.
func throttleUntilKilled(t *testing.T, p *process, clients []*killedClient, lasting time.Duration) {
	var all sync.WaitGroup
	for _, c := range clients {
		client := redis.NewClient(&redis.Options{Addr: p.address, MaxRetries: -1})
		all.Go(func() {
			defer client.Close()
			for {
				c.sent++
				reply, err := client.Do(context.Background(), "CL.THROTTLE", c.key, killedBurst, 1, killedPeriod).Int64Slice()
				if err != nil {
					return
				}
				if reply[0] != 0 {
					t.Errorf("%s is limited: %v", c.key, reply)
					return
				}
				c.allowed++
				c.times = append(c.times, time.Now())
			}
		})
	}
	time.Sleep(lasting)
	if err := p.command.Process.Kill(); err != nil {
		t.Error(err)
	}
	<-p.ended
	all.Wait()
	killed := time.Now()
	for _, c := range clients {
		for i, at := range c.times {
			c.times[i] = time.Time{}.Add(killed.Sub(at)) // how long before the kill
		}
	}
}

// verify compares what the server remembers with what the client was told, and goes on from there.
func (c *killedClient) verify(t *testing.T, client *redis.Client, policy string) {
	t.Helper()
	reply, err := client.Do(context.Background(), "CL.PROBE", c.key, killedBurst, 1, killedPeriod, 0).Int64Slice()
	if err != nil {
		t.Fatal(err)
	}
	remembered, promised := reply[1]-reply[2], c.allowed
	if policy == "everysec" {
		for _, before := range c.times {
			if before.Sub(time.Time{}) < secondLost {
				promised--
			}
		}
	}
	if remembered < promised || remembered > c.sent {
		t.Errorf("%s, %s: the server remembers %d calls; it has answered %d, of which %d must be safe, and was sent %d",
			policy, c.key, remembered, c.allowed, promised, c.sent)
	}
	c.sent, c.allowed, c.times = remembered, remembered, nil
}
