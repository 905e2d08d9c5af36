package server

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

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
	l.inSteps(c, args, w, &listing{walk: walk{db: c.db}, found: gathering{pool: &l.outputs}})
}

// listing is KEYS. It promises what SCAN does: a key that is there from the first step to the last is listed, once.
type listing struct {
	walk
	found gathering
	count int
}

func (t *listing) step(l *loop, _ *conn, words [][]byte, _ *resp.Writer, until time.Duration) (done bool) {
	return t.walk.step(l, until, func(key []byte) {
		if glob.Match(words[1], key) {
			t.found.bulk(key)
			t.count++
		}
	})
}

func (t *listing) reply(w *resp.Writer) { w.Array(t.count) }

func (t *listing) gathered() *gathering { return &t.found }

// A walk goes over the keys of a database on all shards, one after the other.
type walk struct {
	db, shard int
	cursor    uint64 // in the shard's table
}

// step goes on until all keys are visited, which it returns, or the server's uptime is at least until.
func (t *walk) step(l *loop, until time.Duration, visit func(key []byte)) (done bool) {
	for shards := len(l.server.loops); t.shard < shards; {
		stop := false
		l.exclusively([]int{t.shard}, func() {
			for next := true; next && !stop; next = t.cursor != 0 {
				t.cursor = l.server.loops[t.shard].engine.ScanSegment(t.db, t.cursor, func(key []byte, _ int64) { visit(key) })
				stop = l.server.clock.uptime() >= until
			}
		})
		if t.cursor == 0 {
			t.shard++
		}
		if stop {
			break
		}
	}
	return t.shard == len(l.server.loops)
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

// randomKey draws a shard by how much it holds, and a key of that shard. Where nearly all are dead, all are looked at.
func randomKey(l *loop, c *conn, words [][]byte, w *resp.Writer) {
	var key []byte
	l.exclusively(l.server.allShards, func() { key = l.server.draw(c.db) })
	if key == nil {
		l.inSteps(c, words, w, &drawing{walk: walk{db: c.db}})
		return
	}
	w.Bulk(key)
}

// draw returns a live key of a database, nil where it has found none. The caller has all shards.
func (s *Server) draw(db int) []byte {
	total := 0
	for _, l := range s.loops {
		total += l.engine.Len(db)
	}
	if total == 0 {
		return nil
	}
	at, shard := rand.IntN(total), 0
	for at >= s.loops[shard].engine.Len(db) {
		at -= s.loops[shard].engine.Len(db)
		shard++
	}
	// The shard drawn may hold dead keys only; the others come after it in turn.
	for i := range s.loops {
		if drawn, found := s.loops[(shard+i)%len(s.loops)].engine.Random(db, rand.Uint64); found {
			return bytes.Clone(drawn)
		}
	}
	return nil
}

// drawing is RANDOMKEY among nearly only dead keys: of those that a walk visits, each is chosen with the same probability.
type drawing struct {
	walk
	visited uint64
	key     []byte // nil: none yet
}

func (t *drawing) step(l *loop, _ *conn, _ [][]byte, _ *resp.Writer, until time.Duration) (done bool) {
	return t.walk.step(l, until, func(key []byte) {
		t.visited++
		if rand.Uint64N(t.visited) == 0 {
			t.key = append([]byte{}, key...)
		}
	})
}

func (t *drawing) reply(w *resp.Writer) {
	if t.key == nil {
		w.Null()
	} else {
		w.Bulk(t.key)
	}
}

func (t *drawing) gathered() *gathering { return nil }

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
// take, to a millisecond or two, which Redis leaves to the caller.
const (
	scanCountDefault = 10
	scanCountMax     = 10_000
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
