package persistence

import (
	"bytes"
	"fmt"
	"math"

	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/resp"
)

// commands are those that are applied, by their names in lower case. All others are counted.
var commands = map[string]func(r *aofReader, args [][]byte) error{
	"select":      (*aofReader).selectDB,
	"set":         (*aofReader).set,
	"setex":       func(r *aofReader, args [][]byte) error { return r.setWithTTL(args, 1000) },
	"psetex":      func(r *aofReader, args [][]byte) error { return r.setWithTTL(args, 1) },
	"restore":     (*aofReader).restore,
	"del":         (*aofReader).del,
	"unlink":      (*aofReader).del,
	"getdel":      (*aofReader).del,
	"flushdb":     (*aofReader).flushDB,
	"flushall":    (*aofReader).flushAll,
	"swapdb":      (*aofReader).swapDB,
	"expire":      func(r *aofReader, args [][]byte) error { return r.expire(args, 1000, true) },
	"pexpire":     func(r *aofReader, args [][]byte) error { return r.expire(args, 1, true) },
	"expireat":    func(r *aofReader, args [][]byte) error { return r.expire(args, 1000, false) },
	"pexpireat":   func(r *aofReader, args [][]byte) error { return r.expire(args, 1, false) },
	"cl.throttle": (*aofReader).throttle,
}

// maxNameBytes is the longest name of a command: what rename-command allows.
const maxNameBytes = 128

// minArgs is how many arguments they have at the least, their names included.
var minArgs = map[string]int{"select": 2, "set": 3, "setex": 4, "psetex": 4, "restore": 4, "del": 2, "unlink": 2, "getdel": 2,
	"swapdb": 3, "expire": 3, "pexpire": 3, "expireat": 3, "pexpireat": 3}

// name returns a command's own name in lower case; "" for what is none. A Redis whose rename-command has given it another writes that
// down, as it was sent.
func (r *aofReader) name(word []byte) string {
	if len(word) > maxNameBytes {
		return ""
	}
	r.scratch = append(r.scratch[:0], word...)
	for i, c := range r.scratch {
		if c-'A' < 26 {
			r.scratch[i] = c | 0x20
		}
	}
	if !r.inBlock {
		if own, renamed := r.options.Renamed[string(r.scratch)]; renamed {
			return own
		}
	}
	return string(r.scratch)
}

// take applies a command, or keeps it until its transaction ends.
func (r *aofReader) take(args [][]byte, start int64) error {
	name := r.name(args[0])
	switch {
	case name == "multi":
		if r.multi == nil {
			r.multi = &transaction{start: start}
		}
		return nil
	case name == "exec":
		return r.exec()
	case r.multi != nil:
		for _, arg := range args {
			r.multi.args = append(r.multi.args, bytes.Clone(arg))
		}
		r.multi.ends = append(r.multi.ends, len(r.multi.args))
		return nil
	}
	return r.apply(name, args)
}

// exec applies the commands of a transaction: all or, where the file ends before EXEC, none.
func (r *aofReader) exec() error {
	if r.multi == nil {
		return nil
	}
	ended := r.multi
	r.multi = nil
	begin := 0
	for _, end := range ended.ends {
		args := ended.args[begin:end]
		if err := r.apply(r.name(args[0]), args); err != nil {
			return err
		}
		begin = end
	}
	return nil
}

func (r *aofReader) apply(name string, args [][]byte) error {
	command := commands[name]
	if command == nil || len(args) < minArgs[name] {
		return r.leaveOutCommand(args[0])
	}
	r.loaded.Records++
	return command(r, args)
}

// leaveOutCommand counts a command that is not applied.
func (r *aofReader) leaveOutCommand(name []byte) error {
	r.loaded.OtherCommands++
	r.loaded.commands.add(bytes.ToUpper(name[:min(len(name), maxNameBytes)]))
	if r.options.Strict {
		return fmt.Errorf("it holds commands that change no limiter keys, and %w: %s; cellserver check tells more", errStrict, quoteExample(name))
	}
	return nil
}

func (r *aofReader) leaveOut(counter *int64, key []byte) error {
	return r.loaded.leaveOut(counter, key, r.options.Strict)
}

func (r *aofReader) selectDB(args [][]byte) error {
	r.loaded.Records-- // it changes nothing
	db, ok := resp.ParseRedisInt(args[1])
	if !ok || db < 0 || db >= int64(r.options.Databases) {
		return &databasesError{r.options.Databases}
	}
	r.db = int(db)
	return nil
}

// set has the options that give an expiry. The others say on what condition it was done, and it was.
func (r *aofReader) set(args [][]byte) error {
	expiry := int64(NoExpiry)
	for i := 3; i+1 < len(args); i++ {
		n, isNumber := resp.ParseRedisInt(args[i+1])
		if !isNumber {
			continue
		}
		switch option := args[i]; {
		case bytes.EqualFold(option, []byte("PXAT")):
			expiry = n
		case bytes.EqualFold(option, []byte("EXAT")):
			expiry = times(n, 1000)
		case bytes.EqualFold(option, []byte("PX")):
			expiry = r.relative(n)
		case bytes.EqualFold(option, []byte("EX")):
			expiry = r.relative(times(n, 1000))
		}
	}
	return r.store(args[1], args[2], expiry)
}

func (r *aofReader) setWithTTL(args [][]byte, unitMillis int64) error {
	expiry := int64(NoExpiry)
	if n, ok := resp.ParseRedisInt(args[2]); ok {
		expiry = r.relative(times(n, unitMillis))
	}
	return r.store(args[1], args[3], expiry)
}

// relative returns the Unix milliseconds of a time from when the command was recorded, as far as is known.
func (r *aofReader) relative(millis int64) int64 {
	recorded := r.history.recordedNanos
	if recorded == 0 {
		recorded = r.options.NowNanos
	}
	return min(millis, math.MaxInt64-recorded/1e6) + recorded/1e6
}

// store gives the key a value. Whatever it is, it is in place of what was there.
func (r *aofReader) store(key, value []byte, expiryMillis int64) error {
	if len(key) > MaxKeyBytes {
		return r.leaveOut(&r.loaded.LongKeys, key)
	}
	tatNanos, v := judge(value, expiryMillis, r.options.NowNanos)
	if v == otherKey {
		r.sink.Delete(r.db, key)
		return r.history.wait(r.db, key, tatNanos, r.loaded)
	}
	r.put(key, tatNanos, v)
	return nil
}

// put gives the key what judge says it is.
func (r *aofReader) put(key []byte, tatNanos int64, v verdict) {
	r.history.forget(r.db, key)
	if v == hasExpired {
		r.loaded.Expired++
		r.sink.Delete(r.db, key)
		return
	}
	r.loaded.Entries++
	r.sink.Store(r.db, key, tatNanos)
}

// restore has the expiry beside the value: milliseconds, 0 for none.
func (r *aofReader) restore(args [][]byte) error {
	if len(args[1]) > MaxKeyBytes {
		return r.leaveOut(&r.loaded.LongKeys, args[1])
	}
	expiry := int64(NoExpiry)
	if ttl, ok := resp.ParseRedisInt(args[2]); ok && ttl > 0 {
		expiry = r.relative(ttl)
		for _, option := range args[4:] {
			if bytes.EqualFold(option, []byte("ABSTTL")) {
				expiry = ttl
			}
		}
	}
	value, err := payloadString(args[3])
	switch {
	case err == nil:
		return r.store(args[1], value, expiry)
	case expiry != NoExpiry && expired(expiry, r.options.NowNanos):
		r.put(args[1], 0, hasExpired)
		return nil
	}
	r.history.forget(r.db, args[1])
	r.sink.Delete(r.db, args[1])
	return r.leaveOut(&r.loaded.OtherTypes, args[1])
}

func (r *aofReader) del(args [][]byte) error {
	for _, key := range args[1:] {
		if len(key) <= MaxKeyBytes {
			r.history.forget(r.db, key)
			r.sink.Delete(r.db, key)
		}
	}
	return nil
}

func (r *aofReader) flushDB([][]byte) error {
	r.history.flush(r.db)
	r.sink.Flush(r.db)
	return nil
}

func (r *aofReader) flushAll([][]byte) error {
	for db := range r.options.Databases {
		r.history.flush(db)
		r.sink.Flush(db)
	}
	return nil
}

func (r *aofReader) swapDB(args [][]byte) error {
	a, okA := resp.ParseRedisInt(args[1])
	b, okB := resp.ParseRedisInt(args[2])
	databases := int64(r.options.Databases)
	if !okA || !okB || a < 0 || b < 0 || a >= databases || b >= databases {
		return &databasesError{r.options.Databases}
	}
	r.history.swap(int(a), int(b))
	r.sink.Swap(int(a), int(b))
	return nil
}

// expire deletes the key where the time has passed, and makes a limiter's key of a string that waits for this. Else it changes nothing:
// a TAT is its own expiry.
func (r *aofReader) expire(args [][]byte, unitMillis int64, relative bool) error {
	n, ok := resp.ParseRedisInt(args[2])
	if !ok || len(args[1]) > MaxKeyBytes {
		return nil
	}
	expiry := times(n, unitMillis)
	if relative {
		expiry = r.relative(expiry)
	}
	key := args[1]
	waiting, waits := r.history.waiting(r.db, key)
	switch {
	case expired(expiry, r.options.NowNanos) && waits:
		r.put(key, 0, hasExpired)
	case expired(expiry, r.options.NowNanos):
		r.sink.Delete(r.db, key)
	case waits && waiting.tatNanos > 0:
		if v := judgeTAT(waiting.tatNanos, expiry, r.options.NowNanos); v != otherKey {
			r.put(key, waiting.tatNanos, v)
		}
	}
	return nil
}

// throttle applies a call as of the time when it was made. Before the first #TS: that was no earlier than when the base was written:
// a state from an earlier time refuses nothing that the true one lets pass.
func (r *aofReader) throttle(args [][]byte) error {
	limit, quantity, ok := parseCall(args)
	if !ok {
		r.loaded.Records--
		return r.leaveOutCommand(args[0])
	}
	if len(args[1]) > MaxKeyBytes {
		return r.leaveOut(&r.loaded.LongKeys, args[1])
	}
	h := r.history
	at := h.recordedNanos
	switch {
	case at == 0 && h.baseNanos == 0:
		r.loaded.TimelessCalls++
		if r.options.Strict {
			return errStrictCalls
		}
		return nil
	case at == 0:
		at = h.baseNanos
		h.sinceBase, h.sinceBaseIn = h.sinceBase+1, r.loaded
	}
	h.forget(r.db, args[1])
	r.loaded.Throttles++
	r.sink.Throttle(r.db, args[1], &limit, quantity, at)
	return nil
}

// parseCall reads CL.THROTTLE key max_burst count period [quantity].
func parseCall(args [][]byte) (limit gcra.Limit, quantity int64, ok bool) {
	if len(args) < 5 || len(args) > 6 {
		return limit, 0, false
	}
	integers := [4]int64{3: 1}
	for i, arg := range args[2:] {
		if integers[i], ok = resp.ParseInt(arg); !ok {
			return limit, 0, false
		}
	}
	return gcra.Limit{MaxBurst: integers[0], Count: integers[1], Period: integers[2]}, integers[3], true
}
