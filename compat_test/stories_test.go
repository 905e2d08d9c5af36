package compat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

type storyStep struct {
	pause   time.Duration // before the command
	command string
	want    string
}

// interval is long enough for one token of the limit 2 in 1 to drain and too short for two, even where the calls after it
// take 400 ms.
const interval = 550 * time.Millisecond

// stories are calls with real pauses between them.
var stories = map[string][]storyStep{
	"a client waits as long as it is told to": {
		{0, "CL.THROTTLE waits 0 2 1", "[0 1 0 -1 1]"},
		{0, "CL.THROTTLE waits 0 2 1", "[1 1 0 1 1]"},
		{interval, "CL.THROTTLE waits 0 2 1", "[0 1 0 -1 1]"},
		{0, "CL.THROTTLE waits 0 2 1", "[1 1 0 1 1]"},
	},
	"a burst is spent at once and comes back one by one": {
		{0, "CL.THROTTLE burst 2 2 1", "[0 3 2 -1 1]"},
		{0, "CL.THROTTLE burst 2 2 1", "[0 3 1 -1 1]"},
		{0, "CL.THROTTLE burst 2 2 1", "[0 3 0 -1 2]"},
		{0, "CL.THROTTLE burst 2 2 1", "[1 3 0 1 2]"},
		{interval, "CL.PROBE burst 2 2 1", "[0 3 0 -1 2]"},
		{0, "CL.THROTTLE burst 2 2 1", "[0 3 0 -1 2]"},
		{0, "CL.THROTTLE burst 2 2 1", "[1 3 0 1 2]"},
	},
	"a key is gone when its limit is full again": {
		{0, "CL.THROTTLE gone 4 2 1", "[0 5 4 -1 1]"},
		{0, "EXISTS gone", "1"},
		{interval, "EXISTS gone", "0"},
		{0, "GET gone", "nil"},
		{0, "TTL gone", "-2"},
	},
	"tokens are looked at, given back and reset": {
		{0, "CL.THROTTLE refund 3 1 60 3", "[0 4 1 -1 180]"},
		{0, "CL.THROTTLE refund 3 1 60 2", "[1 4 1 60 180]"},
		{0, "CL.THROTTLE refund 3 1 60 5", "[1 4 1 -1 180]"},
		{0, "CL.THROTTLE refund 3 1 60 0", "[0 4 1 -1 180]"},
		{0, "CL.THROTTLE refund 3 1 60 -2", "[0 4 3 -1 60]"},
		{0, "DEL refund", "1"},
		{0, "CL.THROTTLE refund 3 1 60 4", "[0 4 0 -1 240]"},
	},
}

// TestStoriesInRealTime: the clock of the server is the clock of the world.
func TestStoriesInRealTime(t *testing.T) {
	client := goRedis(t, start(t), nil)
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, step := range story {
				time.Sleep(step.pause)
				var words []any
				for _, word := range strings.Fields(step.command) {
					words = append(words, word)
				}
				reply, err := client.Do(context.Background(), words...).Result()
				got := fmt.Sprint(reply)
				if errors.Is(err, redis.Nil) {
					got = "nil"
				}
				if got != step.want {
					t.Fatalf("step %d: %s answers %s (%v), want %s", i, step.command, got, err, step.want)
				}
			}
		})
	}
}
