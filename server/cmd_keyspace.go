package server

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/internal/glob"
	"github.com/cellserver/cellserver/resp"
)

// This file has the commands on whole databases. They belong to no key, so they run on the connection's loop, which
// takes the shards that it needs.

// everywhere runs step on the engine of every shard, all of them stopped for the time.
func (l *loop) everywhere(step func(e *engine.Engine)) {
	l.exclusively(l.server.allShards, func() {
		for _, each := range l.server.loops {
			step(each.engine)
		}
	})
}

func keys(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	var found resp.Writer
	count := 0
	l.everywhere(func(e *engine.Engine) {
		e.Each(c.db, func(key []byte, _ int64) {
			if glob.Match(args[1], key) {
				found.Bulk(key)
				count++
			}
		})
	})
	w.Array(count)
	w.Buf = append(w.Buf, found.Buf...)
}

func dbSize(l *loop, c *conn, _ [][]byte, w *resp.Writer) {
	total := 0
	l.everywhere(func(e *engine.Engine) { total += e.Len(c.db) })
	w.Int(int64(total))
}

func flushDB(l *loop, c *conn, args [][]byte, w *resp.Writer) { flush(l, args, w, []int{c.db}) }

func flushAll(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	var all []int
	for db := range l.server.config().Databases {
		all = append(all, db)
	}
	flush(l, args, w, all)
}

// swapDB answers SWAPDB index index. Connections that have selected one of the two see the other's keys from now on.
func swapDB(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	first, err := l.server.parseDB(args[1])
	if err != nil && err != errDBIndex {
		w.Error("ERR invalid first DB index")
		return
	}
	second, err2 := l.server.parseDB(args[2])
	switch {
	case err2 != nil && err2 != errDBIndex:
		w.Error("ERR invalid second DB index")
		return
	case err != nil || err2 != nil:
		w.Error(errDBIndex.Error())
		return
	}
	l.exclusively(l.server.allShards, func() {
		for _, each := range slices.Backward(l.server.loops) { // the first last: see persistence.ShardLog
			each.engine.Swap(first, second)
		}
	})
	l.server.swaps.Add(1)
	w.OK()
}

// flush answers FLUSHDB and FLUSHALL. ASYNC and SYNC are the same here: neither takes time.
func flush(l *loop, args [][]byte, w *resp.Writer, databases []int) {
	if len(args) > 2 || len(args) == 2 && !is(args[1], "ASYNC") && !is(args[1], "SYNC") {
		w.Error(errSyntax.Error())
		return
	}
	l.exclusively(l.server.allShards, func() {
		for _, db := range databases {
			for _, each := range slices.Backward(l.server.loops) { // the first last: see persistence.ShardLog
				each.engine.Flush(db)
			}
		}
	})
	w.OK()
}

// randomKey draws a shard by how much it holds, and a key of that shard.
func randomKey(l *loop, c *conn, _ [][]byte, w *resp.Writer) {
	var key []byte
	l.exclusively(l.server.allShards, func() {
		total := 0
		for _, each := range l.server.loops {
			total += each.engine.Len(c.db)
		}
		if total == 0 {
			return
		}
		at := rand.IntN(total)
		shard := 0
		for at >= l.server.loops[shard].engine.Len(c.db) {
			at -= l.server.loops[shard].engine.Len(c.db)
			shard++
		}
		// The shard drawn may hold dead keys only; the others come after it in turn.
		for i := range l.server.loops {
			e := l.server.loops[(shard+i)%len(l.server.loops)].engine
			if drawn, live := e.Random(c.db, rand.Uint64); live {
				key = append([]byte{}, drawn...)
				return
			}
		}
	})
	if key == nil {
		w.Null()
	} else {
		w.Bulk(key)
	}
}

// A SCAN cursor is the shard's number above the table's cursor, which takes tableCursorBits. Together they stay below
// 2^53, since clients in JavaScript keep cursors in doubles.
const tableCursorBits = 44

// scanOptions are the options of SCAN.
type scanOptions struct {
	count   int
	pattern []byte // nil: all
	nothing bool   // a TYPE that no key here has
}

// scanCountDefault is how many keys SCAN looks at unless told, as in Redis; scanCountMax bounds how long one call may
// take, which Redis leaves to the caller.
const (
	scanCountDefault = 10
	scanCountMax     = 100_000
)

func parseScanOptions(words [][]byte) (options scanOptions, err error) {
	options.count = scanCountDefault
	for i := 0; i < len(words); i += 2 {
		if i+1 == len(words) {
			return options, errSyntax
		}
		value := words[i+1]
		switch {
		case is(words[i], "COUNT"):
			n, ok := resp.ParseRedisInt(value)
			if !ok {
				return options, errNotInteger
			}
			if n < 1 {
				return options, errSyntax
			}
			options.count = int(min(n, scanCountMax))
		case is(words[i], "MATCH"):
			options.pattern = value
		case is(words[i], "TYPE"):
			options.nothing = !is(value, "string")
		default:
			return options, errSyntax
		}
	}
	return options, nil
}

// parseCursor reads a cursor as Redis does, with C's strtoul: a sign may stand before the digits, and nothing is 0.
func parseCursor(word string) (cursor uint64, ok bool) {
	digits := strings.TrimPrefix(word, "+")
	negative := strings.HasPrefix(word, "-")
	if negative {
		digits = word[1:]
	}
	if word == "" {
		return 0, true
	}
	cursor, err := strconv.ParseUint(digits, 10, 64)
	if negative {
		cursor = -cursor
	}
	return cursor, err == nil
}

// scan answers SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]. It goes from shard to shard until it has looked at
// count keys.
func scan(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	cursor, ok := parseCursor(string(args[1]))
	if !ok {
		w.Error("ERR invalid cursor")
		return
	}
	options, err := parseScanOptions(args[2:])
	if err != nil {
		w.Error(err.Error())
		return
	}
	var found resp.Writer
	matched, looked := 0, 0
	shard, within := cursor>>tableCursorBits, cursor&(1<<tableCursorBits-1)
	shards := uint64(len(l.server.loops))
	if options.nothing {
		shard = shards
	}
	for shard < shards && looked < options.count {
		l.exclusively([]int{int(shard)}, func() {
			within = l.server.loops[shard].engine.Scan(c.db, within, options.count-looked, func(key []byte, _ int64) {
				looked++
				if options.pattern == nil || glob.Match(options.pattern, key) {
					found.Bulk(key)
					matched++
				}
			})
		})
		if within == 0 {
			shard++
		}
		looked++ // so that a walk over dead keys ends too
	}
	cursor = 0
	if shard < shards {
		cursor = shard<<tableCursorBits | within
	}
	w.Array(2)
	w.BulkString(strconv.FormatUint(cursor, 10))
	w.Array(matched)
	w.Buf = append(w.Buf, found.Buf...)
}
