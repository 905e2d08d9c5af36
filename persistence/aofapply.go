package persistence

import (
	"bytes"
	"math"
	"strconv"

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

// longestCommand is the length of the longest name in commands.
const longestCommand = len("cl.throttle")

// minArgs is how many arguments they have at the least, their names included.
var minArgs = map[string]int{"select": 2, "set": 3, "setex": 4, "psetex": 4, "restore": 4, "del": 2, "unlink": 2, "getdel": 2,
	"swapdb": 3, "expire": 3, "pexpire": 3, "expireat": 3, "pexpireat": 3}

// take applies a command, or keeps it until its transaction ends.
func (r *aofReader) take(args [][]byte, start int64) error {
	name := args[0]
	switch {
	case bytes.EqualFold(name, []byte("multi")):
		if r.multi == nil {
			r.multi = &transaction{start: start}
		}
		return nil
	case bytes.EqualFold(name, []byte("exec")):
		return r.exec()
	case r.multi != nil:
		for _, arg := range args {
			r.multi.args = append(r.multi.args, bytes.Clone(arg))
		}
		r.multi.ends = append(r.multi.ends, len(r.multi.args))
		return nil
	}
	return r.apply(args)
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
		if err := r.apply(ended.args[begin:end]); err != nil {
			return err
		}
		begin = end
	}
	return nil
}

func (r *aofReader) apply(args [][]byte) error {
	r.scratch = append(r.scratch[:0], args[0][:min(len(args[0]), longestCommand+1)]...)
	for i, c := range r.scratch {
		if c-'A' < 26 {
			r.scratch[i] = c | 0x20
		}
	}
	command := commands[string(r.scratch)]
	if command == nil || len(args) < minArgs[string(r.scratch)] {
		return r.leaveOut(&r.loaded.OtherCommands)
	}
	r.loaded.Records++
	return command(r, args)
}

func (r *aofReader) leaveOut(counter *int64) error {
	*counter++
	if r.options.Strict {
		return errStrict
	}
	return nil
}

// known tells whether the chosen database is one that there is, and counts what is left out if not.
func (r *aofReader) known() (bool, error) {
	if r.db < r.options.Databases {
		return true, nil
	}
	return false, r.leaveOut(&r.loaded.OtherDatabases)
}

func (r *aofReader) selectDB(args [][]byte) error {
	r.loaded.Records-- // it changes nothing
	db, ok := resp.ParseRedisInt(args[1])
	if !ok || db < 0 {
		db = math.MaxInt32
	}
	r.db = int(min(db, math.MaxInt32))
	return nil
}

// set has the options that give an expiry. The others say on what condition it was done, and it was.
func (r *aofReader) set(args [][]byte) error {
	expiry := int64(math.MaxInt64)
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
	expiry := int64(math.MaxInt64)
	if n, ok := resp.ParseRedisInt(args[2]); ok {
		expiry = r.relative(times(n, unitMillis))
	}
	return r.store(args[1], args[3], expiry)
}

// times multiplies, up to the largest integers.
func times(n, factor int64) int64 {
	return max(min(n, math.MaxInt64/factor), math.MinInt64/factor) * factor
}

// relative returns the Unix milliseconds of a time from when the command was recorded, as far as is known.
func (r *aofReader) relative(millis int64) int64 {
	recorded := r.atNanos
	if recorded == 0 {
		recorded = r.options.NowNanos
	}
	return min(millis, math.MaxInt64-recorded/1e6) + recorded/1e6
}

// store gives the key a value that may be a TAT. Whatever it is, it is in place of what was there.
func (r *aofReader) store(key, value []byte, expiryMillis int64) error {
	if known, err := r.known(); !known {
		return err
	}
	if len(key) > MaxKeyBytes {
		return r.leaveOut(&r.loaded.LongKeys)
	}
	tatNanos, ok := parseTAT(value)
	switch {
	case !ok:
		r.sink.Delete(r.db, key)
		return r.leaveOut(&r.loaded.OtherStrings)
	case tatNanos <= r.options.NowNanos || expired(expiryMillis, r.options.NowNanos):
		r.loaded.Expired++
		r.sink.Delete(r.db, key)
	default:
		r.loaded.Entries++
		r.sink.Store(r.db, key, tatNanos)
	}
	return nil
}

func (r *aofReader) restore(args [][]byte) error {
	known, err := r.known()
	if !known {
		return err
	}
	tatNanos, err := ParsePayload(args[3])
	if err != nil {
		r.sink.Delete(r.db, args[1])
		return r.leaveOut(&r.loaded.OtherTypes)
	}
	return r.store(args[1], strconv.AppendInt(nil, tatNanos, 10), math.MaxInt64)
}

func (r *aofReader) del(args [][]byte) error {
	if known, err := r.known(); !known {
		return err
	}
	for _, key := range args[1:] {
		if len(key) <= MaxKeyBytes {
			r.sink.Delete(r.db, key)
		}
	}
	return nil
}

func (r *aofReader) flushDB([][]byte) error {
	known, err := r.known()
	if known {
		r.sink.Flush(r.db)
	}
	return err
}

func (r *aofReader) flushAll([][]byte) error {
	for db := range r.options.Databases {
		r.sink.Flush(db)
	}
	return nil
}

func (r *aofReader) swapDB(args [][]byte) error {
	a, okA := resp.ParseRedisInt(args[1])
	b, okB := resp.ParseRedisInt(args[2])
	databases := int64(r.options.Databases)
	if !okA || !okB || a < 0 || b < 0 || a >= databases || b >= databases {
		return r.leaveOut(&r.loaded.OtherDatabases)
	}
	r.sink.Swap(int(a), int(b))
	return nil
}

// expire deletes the key where the time has passed. One that has not changes nothing: a TAT is its own expiry.
func (r *aofReader) expire(args [][]byte, unitMillis int64, relative bool) error {
	known, err := r.known()
	n, ok := resp.ParseRedisInt(args[2])
	if !known || !ok {
		return err
	}
	expiry := times(n, unitMillis)
	if relative {
		expiry = r.relative(expiry)
	}
	if expired(expiry, r.options.NowNanos) && len(args[1]) <= MaxKeyBytes {
		r.sink.Delete(r.db, args[1])
	}
	return nil
}

func (r *aofReader) throttle(args [][]byte) error {
	if known, err := r.known(); !known {
		return err
	}
	if r.atNanos == 0 {
		return r.leaveOut(&r.loaded.TimelessCalls)
	}
	r.loaded.Throttles++
	r.sink.Throttle(r.db, args, r.atNanos)
	return nil
}
