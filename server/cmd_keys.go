package server

import (
	"bytes"
	"math"
	"slices"

	"github.com/cellserver/cellserver/config"
	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/keyspace"
	"github.com/cellserver/cellserver/persistence"
	"github.com/cellserver/cellserver/resp"
)

// This file has the commands on single keys that look neither at what a key holds nor set when it expires: those are in
// cmd_strings.go and cmd_expire.go. A key's value is its TAT in decimal, as redis-cell stores it, and its expiry is the TAT
// rounded up to Redis's milliseconds.

const (
	nanosPerMilli  = 1_000_000
	nanosPerSecond = 1_000_000_000
)

// decideConstant stands in for CL.THROTTLE under constant-reply.
func decideConstant(_ *engine.Engine, _ *engine.Key, _ *gcra.Limit, _ int64, decision *gcra.Decision) error {
	*decision = gcra.Decision{Limit: 101, Remaining: 100, RetryAfter: -1, ResetAfter: 1}
	return nil
}

// eachKey calls do for each key of a call whose words are all keys, in their order. Of several it first loads from memory what
// looking them up takes: a command of very many keys takes half as long so.
func (s *Server) eachKey(c *call, do func(e *engine.Engine, key engine.Key)) {
	if len(c.args) == 2 {
		do(s.engineOf(c.key), c.key)
		return
	}
	var keys [keyspace.PreloadKeys]engine.Key
	for words := range slices.Chunk(c.args[1:], len(keys)) {
		for i, word := range words {
			keys[i] = s.key(c.key.DB, word)
			s.engineOf(keys[i]).Announce(&keys[i])
		}
		for i := range words {
			s.engineOf(keys[i]).Preload()
		}
		for i := range words {
			do(s.engineOf(keys[i]), keys[i])
		}
	}
}

func del(s *Server, c *call, w *resp.Writer) {
	deleted := int64(0)
	s.eachKey(c, func(e *engine.Engine, key engine.Key) {
		if e.Delete(key) {
			deleted++
		}
	})
	w.Int(deleted)
}

func exists(s *Server, c *call, w *resp.Writer) {
	found := int64(0)
	s.eachKey(c, func(e *engine.Engine, key engine.Key) {
		if _, live := e.Get(key); live {
			found++
		}
	})
	w.Int(found)
}

func typeOf(s *Server, c *call, w *resp.Writer) {
	if _, live := s.engineOf(c.key).Get(c.key); live {
		w.Simple("string")
	} else {
		w.Simple("none")
	}
}

// inSeconds rounds milliseconds to seconds as TTL and EXPIRETIME do.
func inSeconds(millis int64) int64 { return (millis + 500) / 1000 }

// writeExpiry replies with something of a key's expiry, or with Redis's -2 for a missing key. There are no keys without
// an expiry, which Redis answers with -1.
func writeExpiry(s *Server, c *call, w *resp.Writer, of func(expiryMillis, nowMillis int64) int64) {
	e := s.engineOf(c.key)
	tatNanos, live := e.Get(c.key)
	if !live {
		w.Int(-2)
		return
	}
	w.Int(of(persistence.ExpiryMillis(tatNanos), e.Now()/nanosPerMilli))
}

func ttl(s *Server, c *call, w *resp.Writer) {
	writeExpiry(s, c, w, func(expiry, now int64) int64 { return inSeconds(expiry - now) })
}

func pttl(s *Server, c *call, w *resp.Writer) {
	writeExpiry(s, c, w, func(expiry, now int64) int64 { return expiry - now })
}

func expireTime(s *Server, c *call, w *resp.Writer) {
	writeExpiry(s, c, w, func(expiry, _ int64) int64 { return inSeconds(expiry) })
}

func pexpireTime(s *Server, c *call, w *resp.Writer) {
	writeExpiry(s, c, w, func(expiry, _ int64) int64 { return expiry })
}

func rename(s *Server, c *call, w *resp.Writer) {
	if tatNanos, live := move(s, c, w); live {
		moveTo(s, c, tatNanos)
		w.OK()
	}
}

func renameNX(s *Server, c *call, w *resp.Writer) {
	tatNanos, live := move(s, c, w)
	if !live {
		return
	}
	to := s.key(c.key.DB, c.args[2])
	if _, taken := s.engineOf(to).Get(to); taken {
		w.Int(0)
		return
	}
	moveTo(s, c, tatNanos)
	w.Int(1)
}

// move returns the TAT of the key to be renamed, or replies that there is no such key.
func move(s *Server, c *call, w *resp.Writer) (tatNanos int64, live bool) {
	tatNanos, live = s.engineOf(c.key).Get(c.key)
	if !live {
		w.Error(errNoSuchKey.Error())
	}
	return tatNanos, live
}

func moveTo(s *Server, c *call, tatNanos int64) {
	if bytes.Equal(c.args[1], c.args[2]) {
		return
	}
	to := s.key(c.key.DB, c.args[2])
	s.engineOf(c.key).Delete(c.key)
	s.engineOf(to).Store(to, tatNanos)
}

const errSameObject = "ERR source and destination objects are the same"

// copyKey answers COPY source destination [DB n] [REPLACE].
func copyKey(s *Server, c *call, w *resp.Writer) {
	to, replace := s.key(c.key.DB, c.args[2]), false
	for i := 3; i < len(c.args); i++ {
		switch {
		case is(c.args[i], "REPLACE"):
			replace = true
		case is(c.args[i], "DB") && i+1 < len(c.args):
			i++
			db, err := s.parseDB(c.args[i])
			if err != nil {
				w.Error(err.Error())
				return
			}
			to.DB = db
		default:
			w.Error(errSyntax.Error())
			return
		}
	}
	if to.DB == c.key.DB && bytes.Equal(c.args[1], c.args[2]) {
		w.Error(errSameObject)
		return
	}
	tatNanos, live := s.engineOf(c.key).Get(c.key)
	_, taken := s.engineOf(to).Get(to)
	if !live || taken && !replace {
		w.Int(0)
		return
	}
	s.engineOf(to).Store(to, tatNanos)
	w.Int(1)
}

// moveKey answers MOVE key db. The key's shard is the same in every database.
func moveKey(s *Server, c *call, w *resp.Writer) {
	db, err := s.parseDB(c.args[2])
	if err != nil {
		w.Error(err.Error())
		return
	}
	if db == c.key.DB {
		w.Error(errSameObject)
		return
	}
	e, to := s.engineOf(c.key), c.key
	to.DB = db
	tatNanos, live := e.Get(c.key)
	if _, taken := e.Get(to); !live || taken {
		w.Int(0)
		return
	}
	e.Delete(c.key)
	e.Store(to, tatNanos)
	w.Int(1)
}

// The arrays that an engine keeps by database are as long as databases may be.
var _ [config.MaxDatabases]struct{} = [engine.Databases]struct{}{}

// parseDB reads the number of a database, of which there are as many as the directive databases says.
func (s *Server) parseDB(word []byte) (int, error) {
	n, ok := resp.ParseRedisInt(word)
	switch {
	case !ok:
		return 0, errNotInteger
	case n < math.MinInt32 || n > math.MaxInt32:
		return 0, replyError("ERR value is out of range, value must between -2147483648 and 2147483647")
	case n < 0 || n >= int64(s.config().Databases):
		return 0, errDBIndex
	}
	return int(n), nil
}

// ofLive answers an OBJECT subcommand: null for a missing key, as Redis does.
func ofLive(s *Server, c *call, w *resp.Writer, answer func()) {
	if _, live := s.engineOf(c.key).Get(c.key); live {
		answer()
	} else {
		w.Null()
	}
}

func objectEncoding(s *Server, c *call, w *resp.Writer) {
	ofLive(s, c, w, func() { w.BulkString("embstr") }) // what redis-cell's keys are
}

func objectRefcount(s *Server, c *call, w *resp.Writer) {
	ofLive(s, c, w, func() { w.Int(1) })
}

func objectIdleTime(s *Server, c *call, w *resp.Writer) {
	ofLive(s, c, w, func() { w.Error("ERR idle times are not kept: a limiter key holds its TAT and nothing else") })
}

func objectFreq(s *Server, c *call, w *resp.Writer) {
	ofLive(s, c, w, func() { w.Error("ERR access frequencies are not kept: a limiter key holds its TAT and nothing else") })
}

// memoryUsage answers MEMORY USAGE key [SAMPLES n].
func memoryUsage(s *Server, c *call, w *resp.Writer) {
	switch options := c.args[3:]; {
	case len(options) == 0:
	case len(options) == 2 && is(options[0], "SAMPLES"):
		if n, ok := resp.ParseRedisInt(options[1]); !ok {
			w.Error(errNotInteger.Error())
			return
		} else if n < 0 {
			w.Error(errSyntax.Error())
			return
		}
	default:
		w.Error(errSyntax.Error())
		return
	}
	ofLive(s, c, w, func() { w.Int(int64(keyspace.EntryBytes(len(c.key.Bytes)))) })
}
