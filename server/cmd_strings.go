package server

import (
	"strconv"

	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/resp"
)

// This file has the commands on a key's value. It is the key's TAT in decimal, which is the key's expiry too: so a value is
// taken only where it can be a TAT and agrees with the expiry that it is given with. Everything else is refused, since it
// would be answered with OK and be gone.

func get(s *Server, c *call, w *resp.Writer) {
	writeTAT(s.engineOf(c.key), c.key, w)
}

// writeTAT replies with a key's TAT, or null.
func writeTAT(e *engine.Engine, key engine.Key, w *resp.Writer) {
	tatNanos, live := e.Get(key)
	writeValue(tatNanos, live, w)
}

func writeValue(tatNanos int64, live bool, w *resp.Writer) {
	if !live {
		w.Null()
		return
	}
	var digits [20]byte
	w.Bulk(strconv.AppendInt(digits[:0], tatNanos, 10))
}

func mget(s *Server, c *call, w *resp.Writer) {
	w.Array(len(c.args) - 1)
	s.eachKey(c, func(e *engine.Engine, key engine.Key) { writeTAT(e, key, w) })
}

// valueOf returns a key's value as text, nothing for a missing key.
func valueOf(s *Server, c *call) string {
	tatNanos, live := s.engineOf(c.key).Get(c.key)
	if !live {
		return ""
	}
	return strconv.FormatInt(tatNanos, 10)
}

func strlen(s *Server, c *call, w *resp.Writer) { w.Int(int64(len(valueOf(s, c)))) }

// getRange answers GETRANGE key start end, and SUBSTR. Both ends are included, and negative ones count from the end.
func getRange(s *Server, c *call, w *resp.Writer) {
	start, isStart := resp.ParseRedisInt(c.args[2])
	end, isEnd := resp.ParseRedisInt(c.args[3])
	if !isStart || !isEnd {
		w.Error(errNotInteger.Error())
		return
	}
	value := valueOf(s, c)
	if start < 0 && end < 0 && start > end {
		value = "" // or else both could become 0
	}
	length := int64(len(value))
	fromStart := func(index int64) int64 {
		if index < 0 {
			return max(0, length+index)
		}
		return index
	}
	start, end = fromStart(start), min(fromStart(end), length-1)
	if start > end {
		w.BulkString("")
		return
	}
	w.BulkString(value[start : end+1])
}

const errNotTAT = replyError("ERR value is not a TAT: a limiter key holds the time at which it expires, in decimal Unix nanoseconds, and nothing else")

// errOtherExpiry is for a TAT, but not that of a key with the expiry that was given with it or that KEEPTTL keeps.
const errOtherExpiry = replyError("ERR value is a TAT, but the key's expiry is not the same time: a limiter key expires when its TAT is reached, give or take a second")

// parseTAT reads a value that a key is to be given.
func parseTAT(word []byte) (tatNanos int64, err error) {
	tatNanos, isInteger := resp.ParseRedisInt(word)
	if !isInteger || !gcra.IsTAT(tatNanos) {
		return 0, errNotTAT
	}
	return tatNanos, nil
}

func set(s *Server, c *call, w *resp.Writer) {
	options, err := parseSetOptions(c.args[3:])
	if err != nil {
		w.Error(err.Error())
		return
	}
	e := s.engineOf(c.key)
	tatNanos, err := options.parseValue(c, c.args[2], e.Now())
	if err != nil {
		w.Error(err.Error())
		return
	}
	old, live := e.Get(c.key)
	isRefused := live && options.ifAbsent || !live && options.ifPresent
	switch {
	case !isRefused && live && options.expiry == "KEEPTTL" && !gcra.AgreesWithExpiry(tatNanos, old):
		w.Error(errOtherExpiry.Error())
		return
	case options.get:
		writeValue(old, live, w)
	case isRefused:
		w.Null()
	default:
		w.OK()
	}
	if !isRefused {
		e.Store(c.key, tatNanos)
	}
}

// setNX answers SETNX key value.
func setNX(s *Server, c *call, w *resp.Writer) {
	tatNanos, err := parseTAT(c.args[2])
	if err != nil {
		w.Error(err.Error())
		return
	}
	e := s.engineOf(c.key)
	if _, live := e.Get(c.key); live {
		w.Int(0)
		return
	}
	e.Store(c.key, tatNanos)
	w.Int(1)
}

func setEX(s *Server, c *call, w *resp.Writer)  { setExpiring(s, c, w, "EX") }
func pSetEX(s *Server, c *call, w *resp.Writer) { setExpiring(s, c, w, "PX") }

// setExpiring answers SETEX key seconds value, and PSETEX.
func setExpiring(s *Server, c *call, w *resp.Writer, unit string) {
	options := valueOptions{expiry: unit, amount: c.args[2]}
	e := s.engineOf(c.key)
	tatNanos, err := options.parseValue(c, c.args[3], e.Now())
	if err != nil {
		w.Error(err.Error())
		return
	}
	e.Store(c.key, tatNanos)
	w.OK()
}

func getSet(s *Server, c *call, w *resp.Writer) {
	tatNanos, err := parseTAT(c.args[2])
	if err != nil {
		w.Error(err.Error())
		return
	}
	e := s.engineOf(c.key)
	writeTAT(e, c.key, w)
	e.Store(c.key, tatNanos)
}

func getDel(s *Server, c *call, w *resp.Writer) {
	e := s.engineOf(c.key)
	writeTAT(e, c.key, w)
	e.Delete(c.key)
}

// getEX answers GETEX key [EX seconds | PX milliseconds | EXAT seconds | PXAT milliseconds | PERSIST]. As with EXPIRE, the time
// given changes nothing or deletes.
func getEX(s *Server, c *call, w *resp.Writer) {
	options, err := parseGetEXOptions(c.args[2:])
	if err != nil {
		w.Error(err.Error())
		return
	}
	e := s.engineOf(c.key)
	tatNanos, live := e.Get(c.key)
	if !live {
		w.Null()
		return
	}
	at, isGiven, err := options.moment(c, e.Now())
	switch {
	case err != nil:
		w.Error(err.Error())
	case options.expiry == "PERSIST":
		w.Error(errNotPersistent)
	case isGiven && at.hasPassed(e.Now()):
		writeValue(tatNanos, live, w)
		e.Delete(c.key)
	case isGiven && at.isBefore(tatNanos):
		w.Error(errExpiresEarlier)
	default:
		writeValue(tatNanos, live, w)
	}
}

// A pair is a key of MSET or MSETNX and the TAT that it is to be given.
type pair struct {
	key      engine.Key
	tatNanos int64
}

// parsePairs reads the words of MSET or MSETNX: all of them, before any key is changed.
func parsePairs(s *Server, c *call) (pairs []pair, err error) {
	words := c.args[1:]
	if len(words)%2 != 0 {
		return nil, replyError(resp.WrongArity(c.command.name))
	}
	for i := 0; i < len(words); i += 2 {
		tatNanos, err := parseTAT(words[i+1])
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, pair{s.key(c.key.DB, words[i]), tatNanos})
	}
	return pairs, nil
}

func mset(s *Server, c *call, w *resp.Writer) {
	pairs, err := parsePairs(s, c)
	if err != nil {
		w.Error(err.Error())
		return
	}
	for _, p := range pairs {
		s.engineOf(p.key).Store(p.key, p.tatNanos)
	}
	w.OK()
}

// msetNX answers MSETNX key value...: where one of the keys exists none is changed.
func msetNX(s *Server, c *call, w *resp.Writer) {
	pairs, err := parsePairs(s, c)
	if err != nil {
		w.Error(err.Error())
		return
	}
	for _, p := range pairs {
		if _, live := s.engineOf(p.key).Get(p.key); live {
			w.Int(0)
			return
		}
	}
	for _, p := range pairs {
		s.engineOf(p.key).Store(p.key, p.tatNanos)
	}
	w.Int(1)
}
