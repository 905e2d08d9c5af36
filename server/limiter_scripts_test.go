package server

import (
	"strings"
	"testing"
)

// TestPublicLimiters runs the scripts of rate limiters that keep counters, hashes, lists and sorted sets: in short what public
// ones do, each named for one that does it so. There are no such keys here. Each script ends with an error that names the first
// command that is missing, and leaves nothing behind.
func TestPublicLimiters(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, configure))
		for _, limiter := range []struct{ name, missing, body string }{
			{"rack-attack's counter", "INCR", `local n = redis.call('INCR', KEYS[1]) if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end return n`},
			{"limits for Python, fixed window", "incrby", `local n = tonumber(redis.call('incrby', KEYS[1], ARGV[2])) if n == 1 then redis.call('expire', KEYS[1], ARGV[1]) end return n`},
			{"a counter that is read first", "INCRBY", `local n = tonumber(redis.call('get', KEYS[1]) or '0') if n + 1 > 9 then return 0 end redis.call('INCRBY', KEYS[1], 1) redis.call('expire', KEYS[1], 2) return 1`},
			{"Upstash's two windows", "INCRBY", `local a, b = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2]) if a == false then a = 0 end return redis.call('INCRBY', KEYS[1], 1)`},
			{"a sliding log", "ZREMRANGEBYSCORE", `redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1] - ARGV[2]) local n = redis.call('ZCARD', KEYS[1]) if n < 9 then redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1] .. math.random(1000000)) end return n`},
			{"a sliding log by the server's clock", "ZREMRANGEBYSCORE", `local now = redis.call('TIME') redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, tonumber(now[1]) - ARGV[2]) return redis.call('ZCARD', KEYS[1])`},
			{"a sliding log that adds first", "ZADD", `redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1]) return redis.call('ZCARD', KEYS[1])`},
			{"limits for Python, moving window", "lindex", `local e = redis.call('lindex', KEYS[1], 9) if e and tonumber(e) >= ARGV[1] - ARGV[2] then return false end redis.call('lpush', KEYS[1], ARGV[1]) return true`},
			{"sidekiq-throttled's threshold", "LLEN", `if redis.call('LLEN', KEYS[1]) >= 9 then return 1 end redis.call('LPUSH', KEYS[1], ARGV[1]) return 0`},
			{"a token bucket", "HMGET", `local b = redis.call('HMGET', KEYS[1], 'tokens', 'ts') local tokens = tonumber(b[1]) or 10 redis.call('HMSET', KEYS[1], 'tokens', tokens - 1, 'ts', ARGV[1]) redis.call('EXPIRE', KEYS[1], 60) return tokens`},
			{"a token bucket field by field", "HGET", `local tokens = tonumber(redis.call('HGET', KEYS[1], 'tokens') or '10') redis.call('HSET', KEYS[1], 'tokens', tokens - 1) return tokens`},
			{"a token bucket in one reply", "hgetall", `local b = redis.call('hgetall', KEYS[1]) return #b`},
			{"limitd's bucket", "HMGET", `redis.replicate_commands() local now = redis.call('TIME') local b = redis.call('HMGET', KEYS[1], 'r') return b[1]`},
			{"Laravel's limiter", "HMSET", `if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('HMSET', KEYS[1], 'start', ARGV[1], 'count', 1) end return 1`},
			{"bottleneck's start", "hmset", `redis.call('del', unpack(KEYS)) local words = {'hmset', KEYS[1]} for i = 1, #ARGV do table.insert(words, ARGV[i]) end return redis.call(unpack(words))`},
			{"Redisson's limiter", "hget", `local rate = redis.call('hget', KEYS[1], 'rate') assert(rate ~= false, 'RateLimiter is not initialized') return rate`},
			{"Redisson's lock", "hincrby", `if redis.call('exists', KEYS[1]) == 0 then redis.call('hincrby', KEYS[1], ARGV[1], 1) end return redis.call('pttl', KEYS[1])`},
			{"a limiter that hands errors on", "INCR", `local n = redis.pcall('INCR', KEYS[1]) if type(n) == 'table' and n.err then return n end return n`},
			{"a bitmap of users", "SETBIT", `return redis.call('SETBIT', KEYS[1], ARGV[1], 1)`},
		} {
			want := "-ERR Unknown Redis command called from script: '" + limiter.missing + "' (cellserver holds limiter keys only)"
			if got := c.do("EVAL", limiter.body, "2", "{u}1", "{u}2", "1700000000", "60"); !strings.HasPrefix(got, want) {
				t.Errorf("%s: got %s, want %s", limiter.name, got, want)
			}
		}
		if got := c.run("DBSIZE"); got != "0" {
			t.Error("keys were left behind:", got)
		}
	})
}
