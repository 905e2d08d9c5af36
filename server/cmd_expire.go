package server

import (
	"math"
	"strings"

	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/persistence"
	"github.com/cellserver/cellserver/resp"
)

// This file has what sets a key's expiry: EXPIRE and its relatives, and the options of SET and GETEX. A key here expires at its
// TAT, when its bucket is full again. To say so once more, or that a full bucket may be kept longer, changes nothing and is
// fine; a time that has passed deletes; a time between the two can't be had, and is refused.

const (
	errExpiresEarlier = "ERR a limiter key expires at its TAT, when its bucket is full again, and no earlier: DEL resets it, " +
		"CL.THROTTLE with a negative quantity gives tokens back"
	errNotPersistent = "ERR a limiter key can't be kept for ever: it expires at its TAT, when its bucket is full again"
)

// A timeUnit is how a command's number means a time.
type timeUnit struct{ inSeconds, isRelative bool }

// A moment is the Unix time that a command gives for an expiry: as Redis would keep it, and as exactly as it was meant.
type moment struct{ millis, nanos int64 }

// moment returns the time that a number means, unless Redis's milliseconds of it don't fit an int64.
func (u timeUnit) moment(amount, nowNanos int64) (at moment, ok bool) {
	if u.inSeconds {
		if amount > math.MaxInt64/1000 || amount < math.MinInt64/1000 {
			return at, false
		}
		amount *= 1000
	}
	belowMillis := int64(0)
	if u.isRelative {
		nowMillis := nowNanos / nanosPerMilli
		if amount > math.MaxInt64-nowMillis {
			return at, false
		}
		amount += nowMillis
		belowMillis = nowNanos % nanosPerMilli
	}
	at = moment{millis: amount, nanos: math.MaxInt64}
	if amount < math.MaxInt64/nanosPerMilli {
		at.nanos = max(amount, 0)*nanosPerMilli + belowMillis // no clock shows a time before 1970
	}
	return at, true
}

// hasPassed says whether a key that expires then is gone, as Redis compares it.
func (m moment) hasPassed(nowNanos int64) bool { return m.millis <= nowNanos/nanosPerMilli }

// isBefore says whether a key with this TAT can't be said to expire then, since it lives on. Not yet a second before is no
// such time: clients cut to whole seconds (throttled), add a TTL in seconds to a clock in seconds (redis-dump-go) or go by a clock
// of their own (RedisShake), and redis-cell's keys expire up to 2 ms before their TAT.
func (m moment) isBefore(tatNanos int64) bool { return m.nanos <= tatNanos-gcra.ExpiryTolerance }

// timeUnits are the words that say, before a number, when a key expires. KEEPTTL and PERSIST say it without one.
var timeUnits = map[string]timeUnit{
	"EX":   {inSeconds: true, isRelative: true},
	"PX":   {isRelative: true},
	"EXAT": {inSeconds: true},
	"PXAT": {},
}

// valueOptions are the options of SET and of GETEX.
type valueOptions struct {
	ifAbsent, ifPresent, get bool
	expiry                   string // KEEPTTL, PERSIST or one of timeUnits; empty: none was given
	amount                   []byte // the word after one of timeUnits
}

// parseSetOptions reads the words after SET key value. As in Redis, an error of syntax comes before that of a number, and an
// option may be repeated.
func parseSetOptions(words [][]byte) (o valueOptions, err error) {
	for len(words) > 0 {
		used := 1
		switch word := words[0]; {
		case is(word, "NX") && !o.ifPresent:
			o.ifAbsent = true
		case is(word, "XX") && !o.ifAbsent:
			o.ifPresent = true
		case is(word, "GET"):
			o.get = true
		default:
			used = o.parseExpiry(words, "KEEPTTL")
		}
		if used == 0 {
			return o, errSyntax
		}
		words = words[used:]
	}
	return o, nil
}

// parseGetEXOptions reads the words after GETEX key.
func parseGetEXOptions(words [][]byte) (o valueOptions, err error) {
	for len(words) > 0 {
		used := o.parseExpiry(words, "PERSIST")
		if used == 0 {
			return o, errSyntax
		}
		words = words[used:]
	}
	return o, nil
}

// parseExpiry reads one of timeUnits with its number, or the command's own word for an expiry. It returns how many words
// it has read: none where they say nothing of an expiry, or another kind than before.
func (o *valueOptions) parseExpiry(words [][]byte, own string) (used int) {
	kind := ""
	if is(words[0], own) {
		kind, used = own, 1
	}
	for name := range timeUnits {
		if is(words[0], name) && len(words) > 1 {
			kind, used = name, 2
			o.amount = words[1]
		}
	}
	if o.expiry != "" && o.expiry != kind {
		return 0
	}
	o.expiry = kind
	return used
}

// moment returns the time that was given, or Redis's error for one that is no number, not above 0 or beyond time.
func (o *valueOptions) moment(c *call, nowNanos int64) (at moment, isGiven bool, err error) {
	unit, isGiven := timeUnits[o.expiry]
	if !isGiven {
		return at, false, nil
	}
	amount, isInteger := resp.ParseRedisInt(o.amount)
	if !isInteger {
		return at, false, errNotInteger
	}
	at, ok := unit.moment(amount, nowNanos)
	if !ok || amount <= 0 {
		return at, false, errInvalidExpiry(c)
	}
	return at, true, nil
}

// parseValue reads the value that is given with the options: a TAT, which agrees with the expiry that is given.
func (o *valueOptions) parseValue(c *call, word []byte, nowNanos int64) (tatNanos int64, err error) {
	at, isGiven, err := o.moment(c, nowNanos)
	if err != nil {
		return 0, err
	}
	tatNanos, err = parseTAT(word)
	if err == nil && isGiven && !gcra.AgreesWithExpiry(tatNanos, at.nanos) {
		err = errOtherExpiry
	}
	return tatNanos, err
}

func errInvalidExpiry(c *call) error {
	return replyError("ERR invalid expire time in '" + c.command.fullName() + "' command")
}

func expire(s *Server, c *call, w *resp.Writer)    { expireAfter(s, c, w, timeUnits["EX"]) }
func pexpire(s *Server, c *call, w *resp.Writer)   { expireAfter(s, c, w, timeUnits["PX"]) }
func expireAt(s *Server, c *call, w *resp.Writer)  { expireAfter(s, c, w, timeUnits["EXAT"]) }
func pexpireAt(s *Server, c *call, w *resp.Writer) { expireAfter(s, c, w, timeUnits["PXAT"]) }

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

// hold says whether the conditions let a key that expires at ownMillis expire at another time.
func (o expireOptions) hold(ownMillis, atMillis int64) bool {
	return !o.ifNone && !(o.ifLater && atMillis <= ownMillis) && !(o.ifSooner && atMillis >= ownMillis)
}

// expireAfter answers EXPIRE and its relatives.
func expireAfter(s *Server, c *call, w *resp.Writer, unit timeUnit) {
	options, err := parseExpireOptions(c.args[3:])
	if err != nil {
		w.Error(err.Error())
		return
	}
	amount, isInteger := resp.ParseRedisInt(c.args[2])
	if !isInteger {
		w.Error(errNotInteger.Error())
		return
	}
	e := s.engineOf(c.key)
	at, ok := unit.moment(amount, e.Now())
	if !ok {
		w.Error(errInvalidExpiry(c).Error())
		return
	}
	tatNanos, live := e.Get(c.key)
	switch {
	case !live || !options.hold(persistence.ExpiryMillis(tatNanos), at.millis):
		w.Int(0)
	case at.hasPassed(e.Now()):
		e.Delete(c.key)
		w.Int(1)
	case at.isBefore(tatNanos):
		w.Error(errExpiresEarlier)
	default:
		w.Int(1)
	}
}

func persist(s *Server, c *call, w *resp.Writer) {
	if _, live := s.engineOf(c.key).Get(c.key); live {
		w.Error(errNotPersistent)
	} else {
		w.Int(0)
	}
}
