package persistence

import (
	"bytes"
	"math"

	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/resp"
)

// An appliedCommand is a row of the table of commands that an Applier carries out. The error is tell's, about strings that
// waited in vain.
type appliedCommand struct {
	name     string // in lower case
	minWords int    // its name included
	apply    func(a *Applier, words [][]byte, at Times) (Outcome, error)
}

// appliedCommands are the rows by their names.
var appliedCommands = byName(
	&appliedCommand{"select", 2, (*Applier).selectDB},
	&appliedCommand{"set", 3, (*Applier).set},
	&appliedCommand{"setex", 4, setWithTTL(1000)},
	&appliedCommand{"psetex", 4, setWithTTL(1)},
	&appliedCommand{"restore", 4, (*Applier).restore},
	&appliedCommand{"del", 2, (*Applier).del},
	&appliedCommand{"unlink", 2, (*Applier).del},
	&appliedCommand{"getdel", 2, (*Applier).del},
	&appliedCommand{"flushdb", 1, (*Applier).flushDB},
	&appliedCommand{"flushall", 1, (*Applier).flushAll},
	&appliedCommand{"swapdb", 3, (*Applier).swapDB},
	&appliedCommand{"expire", 3, expire(1000, true)},
	&appliedCommand{"pexpire", 3, expire(1, true)},
	&appliedCommand{"expireat", 3, expire(1000, false)},
	&appliedCommand{"pexpireat", 3, expire(1, false)},
	&appliedCommand{"cl.throttle", 1, (*Applier).throttle},
)

func byName(rows ...*appliedCommand) map[string]*appliedCommand {
	table := make(map[string]*appliedCommand, len(rows))
	for _, row := range rows {
		table[row.name] = row
	}
	return table
}

func (a *Applier) selectDB(words [][]byte, _ Times) (Outcome, error) {
	db, exists := a.database(words[1])
	if !exists {
		return NoDatabase, nil
	}
	a.db = db
	return Applied, nil
}

// database returns the database that a word names, if it exists.
func (a *Applier) database(word []byte) (db int, exists bool) {
	n, ok := resp.ParseRedisInt(word)
	return int(n), ok && n >= 0 && n < int64(a.databases)
}

// set handles the options that give an expiry. The others are conditions for the SET, and it was done.
func (a *Applier) set(words [][]byte, at Times) (Outcome, error) {
	expiry := int64(NoExpiry)
	for i := 3; i+1 < len(words); i++ {
		n, isNumber := resp.ParseRedisInt(words[i+1])
		if !isNumber {
			continue
		}
		switch option := words[i]; {
		case bytes.EqualFold(option, []byte("PXAT")):
			expiry = n
		case bytes.EqualFold(option, []byte("EXAT")):
			expiry = times(n, 1000)
		case bytes.EqualFold(option, []byte("PX")):
			expiry = at.after(n)
		case bytes.EqualFold(option, []byte("EX")):
			expiry = at.after(times(n, 1000))
		}
	}
	return a.store(words[1], words[2], expiry, at)
}

// setWithTTL is SETEX or PSETEX.
func setWithTTL(unitMillis int64) func(*Applier, [][]byte, Times) (Outcome, error) {
	return func(a *Applier, words [][]byte, at Times) (Outcome, error) {
		expiry := int64(NoExpiry)
		if n, ok := resp.ParseRedisInt(words[2]); ok {
			expiry = at.after(times(n, unitMillis))
		}
		return a.store(words[1], words[3], expiry, at)
	}
}

// after returns the Unix milliseconds of when a time to live ends.
func (t Times) after(millis int64) int64 {
	return min(millis, math.MaxInt64-t.FromNanos/1e6) + t.FromNanos/1e6
}

// store gives the key a value, which replaces any earlier one.
func (a *Applier) store(key, value []byte, expiryMillis int64, at Times) (Outcome, error) {
	if len(key) > MaxKeyBytes {
		return LongKey, nil
	}
	tatNanos, v := judge(value, expiryMillis, at.NowNanos)
	if v == otherKey {
		a.Sink.Delete(a.db, key)
		return Applied, a.strings.wait(a.db, key, tatNanos, a.Source)
	}
	return a.put(key, tatNanos, v), nil
}

// put stores the key as judge classifies it.
func (a *Applier) put(key []byte, tatNanos int64, v verdict) Outcome {
	a.strings.forget(a.db, key)
	if v == hasExpired {
		a.Sink.Delete(a.db, key)
		return Expired
	}
	a.Sink.Store(a.db, key, tatNanos)
	return Stored
}

// restore handles RESTORE, whose expiry comes beside the value: milliseconds, 0 for none.
func (a *Applier) restore(words [][]byte, at Times) (Outcome, error) {
	key := words[1]
	if len(key) > MaxKeyBytes {
		return LongKey, nil
	}
	expiry := int64(NoExpiry)
	if ttl, ok := resp.ParseRedisInt(words[2]); ok && ttl > 0 {
		expiry = at.after(ttl)
		for _, option := range words[4:] {
			if bytes.EqualFold(option, []byte("ABSTTL")) {
				expiry = ttl
			}
		}
	}
	value, err := payloadString(words[3])
	switch {
	case err == nil:
		return a.store(key, value, expiry, at)
	case expiry != NoExpiry && expired(expiry, at.NowNanos):
		return a.put(key, 0, hasExpired), nil
	}
	a.strings.forget(a.db, key)
	a.Sink.Delete(a.db, key)
	return OtherType, nil
}

func (a *Applier) del(words [][]byte, _ Times) (Outcome, error) {
	for _, key := range words[1:] {
		if len(key) <= MaxKeyBytes {
			a.strings.forget(a.db, key)
			a.Sink.Delete(a.db, key)
		}
	}
	return Applied, nil
}

func (a *Applier) flushDB([][]byte, Times) (Outcome, error) {
	a.strings.flush(a.db)
	a.Sink.Flush(a.db)
	return Applied, nil
}

func (a *Applier) flushAll([][]byte, Times) (Outcome, error) {
	for db := range a.databases {
		a.strings.flush(db)
		a.Sink.Flush(db)
	}
	return Applied, nil
}

func (a *Applier) swapDB(words [][]byte, _ Times) (Outcome, error) {
	one, oneExists := a.database(words[1])
	other, otherExists := a.database(words[2])
	if !oneExists || !otherExists {
		return NoDatabase, nil
	}
	a.strings.swap(one, other)
	a.Sink.Swap(one, other)
	return Applied, nil
}

// expire is EXPIRE or one of its relatives. It deletes the key if the time has passed, and turns a string that waits for its expiry
// into a limiter key. Otherwise it changes nothing: a TAT is its own expiry.
func expire(unitMillis int64, relative bool) func(*Applier, [][]byte, Times) (Outcome, error) {
	return func(a *Applier, words [][]byte, at Times) (Outcome, error) {
		key := words[1]
		n, ok := resp.ParseRedisInt(words[2])
		if !ok || len(key) > MaxKeyBytes {
			return Applied, nil
		}
		expiry := times(n, unitMillis)
		if relative {
			expiry = at.after(expiry)
		}
		waiting, waits := a.strings.waiting(a.db, key)
		switch {
		case expired(expiry, at.NowNanos) && waits:
			return a.put(key, 0, hasExpired), nil
		case expired(expiry, at.NowNanos):
			a.Sink.Delete(a.db, key)
		case waits && waiting.tatNanos > 0:
			if v := judgeTAT(waiting.tatNanos, expiry, at.NowNanos); v != otherKey {
				return a.put(key, waiting.tatNanos, v), nil
			}
		}
		return Applied, nil
	}
}

// throttle applies a call as of the time when it was made.
func (a *Applier) throttle(words [][]byte, at Times) (Outcome, error) {
	limit, quantity, ok := parseCall(words)
	switch {
	case !ok:
		return Unknown, nil
	case len(words[1]) > MaxKeyBytes:
		return LongKey, nil
	case at.CallNanos == 0:
		return NoTime, nil
	}
	a.strings.forget(a.db, words[1])
	a.Sink.Throttle(a.db, words[1], &limit, quantity, at.CallNanos)
	return Throttled, nil
}

// parseCall reads CL.THROTTLE key max_burst count period [quantity].
func parseCall(words [][]byte) (limit gcra.Limit, quantity int64, ok bool) {
	if len(words) < 5 || len(words) > 6 {
		return limit, 0, false
	}
	integers := [4]int64{3: 1}
	for i, word := range words[2:] {
		if integers[i], ok = resp.ParseInt(word); !ok {
			return limit, 0, false
		}
	}
	return gcra.Limit{MaxBurst: integers[0], Count: integers[1], Period: integers[2]}, integers[3], true
}
