package server

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/keyspace"
	"github.com/cellserver/cellserver/persistence"
	"github.com/cellserver/cellserver/resp"
)

// This file has the commands on single keys. A key's value is its TAT in decimal, as redis-cell stores it, and its
// expiry is the TAT rounded up to Redis's milliseconds.

const (
	nanosPerMilli  = 1_000_000
	nanosPerSecond = 1_000_000_000
)

// decideConstant stands in for CL.THROTTLE under constant-reply.
func decideConstant(_ *engine.Engine, _ *engine.Key, _ *gcra.Limit, _ int64, decision *gcra.Decision) error {
	*decision = gcra.Decision{Limit: 101, Remaining: 100, RetryAfter: -1, ResetAfter: 1}
	return nil
}

func get(s *Server, c *call, w *resp.Writer) {
	writeTAT(s.engineOf(c.key), c.key, w)
}

// writeTAT replies with a key's TAT, or null.
func writeTAT(e *engine.Engine, key engine.Key, w *resp.Writer) {
	tatNanos, live := e.Get(key)
	if !live {
		w.Null()
		return
	}
	var digits [20]byte
	w.Bulk(strconv.AppendInt(digits[:0], tatNanos, 10))
}

func mget(s *Server, c *call, w *resp.Writer) {
	w.Array(len(c.args) - 1)
	for _, word := range c.args[1:] {
		key := s.key(c.key.DB, word)
		writeTAT(s.engineOf(key), key, w)
	}
}

// setOptions are the options of SET. The expiration is checked and not used: the expiry that counts is the TAT's.
type setOptions struct {
	ifAbsent, ifPresent, get bool
	expirations              int
	unit, expiration         []byte // the words of EX, PX, EXAT or PXAT and what follows it
}

// parseSetOptions reads the words after SET key value. As in Redis, an error of syntax comes before that of a number.
func parseSetOptions(words [][]byte) (options setOptions, err error) {
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case is(word, "NX") && !options.ifPresent:
			options.ifAbsent = true
		case is(word, "XX") && !options.ifAbsent:
			options.ifPresent = true
		case is(word, "GET"):
			options.get = true
		case is(word, "KEEPTTL"):
			options.expirations++
		case (is(word, "EX") || is(word, "PX") || is(word, "EXAT") || is(word, "PXAT")) && i+1 < len(words):
			options.expirations++
			i++
			options.unit, options.expiration = word, words[i]
		default:
			return options, errSyntax
		}
		if options.expirations > 1 {
			return options, errSyntax
		}
	}
	return options, nil
}

// checkExpiration returns Redis's error for an expiration that is no number, is not in the future or lies beyond time.
func (o *setOptions) checkExpiration(nowNanos int64) error {
	if o.unit == nil {
		return nil
	}
	amount, ok := resp.ParseRedisInt(o.expiration)
	if !ok {
		return errNotInteger
	}
	isRelative := len(o.unit) == len("EX")
	inSeconds := is(o.unit[:2], "EX")
	if _, ok := expiryTime(amount, inSeconds, isRelative, nowNanos); !ok || amount <= 0 {
		return replyError("ERR invalid expire time in 'set' command")
	}
	return nil
}

// expiryTime returns the Unix milliseconds that an expiration means, unless they do not fit an int64.
func expiryTime(amount int64, inSeconds, isRelative bool, nowNanos int64) (millis int64, ok bool) {
	if inSeconds {
		if amount > math.MaxInt64/1000 || amount < math.MinInt64/1000 {
			return 0, false
		}
		amount *= 1000
	}
	if isRelative {
		nowMillis := nowNanos / nanosPerMilli
		if amount > math.MaxInt64-nowMillis {
			return 0, false
		}
		amount += nowMillis
	}
	return amount, true
}

func set(s *Server, c *call, w *resp.Writer) {
	options, err := parseSetOptions(c.args[3:])
	if err != nil {
		w.Error(err.Error())
		return
	}
	e := s.engineOf(c.key)
	if err := options.checkExpiration(e.Now()); err != nil {
		w.Error(err.Error())
		return
	}
	tatNanos, ok := resp.ParseRedisInt(c.args[2])
	if !ok || tatNanos < 0 {
		w.Error("ERR value is not a TAT: a limiter key holds a decimal number of Unix nanoseconds and nothing else")
		return
	}
	_, live := e.Get(c.key)
	start := len(w.Buf)
	if options.get {
		writeTAT(e, c.key, w)
	}
	if live && options.ifAbsent || !live && options.ifPresent {
		if !options.get {
			w.Null()
		}
		return
	}
	e.Store(c.key, tatNanos)
	if len(w.Buf) == start {
		w.OK()
	}
}

func del(s *Server, c *call, w *resp.Writer) {
	deleted := int64(0)
	for _, word := range c.args[1:] {
		key := s.key(c.key.DB, word)
		if s.engineOf(key).Delete(key) {
			deleted++
		}
	}
	w.Int(deleted)
}

func exists(s *Server, c *call, w *resp.Writer) {
	found := int64(0)
	for _, word := range c.args[1:] {
		key := s.key(c.key.DB, word)
		if _, live := s.engineOf(key).Get(key); live {
			found++
		}
	}
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

const errExpiryFixed = "ERR the expiry of a limiter key can't be set: it is the key's TAT, the time at which its bucket is full again; DEL resets the key"

func expire(s *Server, c *call, w *resp.Writer)    { expireAfter(s, c, w, true, true) }
func pexpire(s *Server, c *call, w *resp.Writer)   { expireAfter(s, c, w, false, true) }
func expireAt(s *Server, c *call, w *resp.Writer)  { expireAfter(s, c, w, true, false) }
func pexpireAt(s *Server, c *call, w *resp.Writer) { expireAfter(s, c, w, false, false) }

// expireOptions are the conditions of EXPIRE. A key here always has an expiry.
type expireOptions struct{ ifNone, ifSome, ifLater, ifSooner bool }

// parseExpireOptions reads the words after EXPIRE key time, with Redis's errors.
func parseExpireOptions(words [][]byte) (o expireOptions, err error) {
	for _, word := range words {
		switch {
		case is(word, "NX"):
			o.ifNone = true
		case is(word, "XX"):
			o.ifSome = true
		case is(word, "GT"):
			o.ifLater = true
		case is(word, "LT"):
			o.ifSooner = true
		default:
			return o, replyError("ERR Unsupported option " + strings.TrimRight(printed(word), "\r\n"))
		}
	}
	switch {
	case o.ifNone && (o.ifSome || o.ifLater || o.ifSooner):
		return o, replyError("ERR NX and XX, GT or LT options at the same time are not compatible")
	case o.ifLater && o.ifSooner:
		return o, replyError("ERR GT and LT options at the same time are not compatible")
	}
	return o, nil
}

// expireAfter answers EXPIRE and its relatives: a time that has passed deletes, any other is refused.
func expireAfter(s *Server, c *call, w *resp.Writer, inSeconds, isRelative bool) {
	options, err := parseExpireOptions(c.args[3:])
	if err != nil {
		w.Error(err.Error())
		return
	}
	amount, ok := resp.ParseRedisInt(c.args[2])
	if !ok {
		w.Error(errNotInteger.Error())
		return
	}
	e := s.engineOf(c.key)
	atMillis, ok := expiryTime(amount, inSeconds, isRelative, e.Now())
	if !ok {
		w.Error("ERR invalid expire time in '" + c.command.fullName() + "' command")
		return
	}
	_, live := e.Get(c.key)
	passed := atMillis <= e.Now()/nanosPerMilli
	switch {
	case !live, options.ifNone, passed && options.ifLater:
		w.Int(0)
	case passed:
		e.Delete(c.key)
		w.Int(1)
	default:
		w.Error(errExpiryFixed)
	}
}

func persist(s *Server, c *call, w *resp.Writer) {
	if _, live := s.engineOf(c.key).Get(c.key); live {
		w.Error(errExpiryFixed)
	} else {
		w.Int(0)
	}
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
			db, err := parseDB(c.args[i])
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
	db, err := parseDB(c.args[2])
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

// parseDB reads the number of a database.
func parseDB(word []byte) (int, error) {
	n, ok := resp.ParseRedisInt(word)
	switch {
	case !ok:
		return 0, errNotInteger
	case n < math.MinInt32 || n > math.MaxInt32:
		return 0, replyError("ERR value is out of range, value must between -2147483648 and 2147483647")
	case n < 0 || n >= engine.Databases:
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
