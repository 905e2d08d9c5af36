package server

import (
	"slices"
	"strings"
	"time"

	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/resp"
)

// A transaction is what a connection has queued since MULTI.
type transaction struct {
	commands []queuedCommand
	bytes    int  // of their words
	refused  bool // a command could not be queued: EXEC will discard all of them
}

type queuedCommand struct {
	command *command
	words   [][]byte
}

// watchedKeys are the keys of one shard that a connection watches, and what they looked like when it began to.
type watchedKeys struct {
	list  []watchedKey
	known map[*engine.Watch]struct{}
}

type watchedKey struct {
	watch *engine.Watch
	seen  engine.Glimpse
}

// newWatched returns an empty list for each shard, with room for its part of so many keys.
func newWatched(shards, keys int) []watchedKeys {
	watched := make([]watchedKeys, shards)
	for shard := range watched {
		watched[shard] = watchedKeys{make([]watchedKey, 0, keys/shards), make(map[*engine.Watch]struct{}, keys/shards)}
	}
	return watched
}

const (
	errExecAborted    = "EXECABORT Transaction discarded because of previous errors."
	errExecAlone      = "ERR EXEC without MULTI"
	errDiscardAlone   = "ERR DISCARD without MULTI"
	errNested         = "ERR MULTI calls can not be nested"
	errWatchInMulti   = "ERR WATCH inside MULTI is not allowed"
	queuedCommandCost = 64 // bytes that a queued command takes beside those of its words, about
)

// queues says whether the connection's transaction takes the command, instead of the command being carried out.
func (c *conn) queues(cmd *command) bool {
	if c.multi == nil {
		return false
	}
	switch cmd.name {
	case "exec", "discard", "multi", "watch", "quit", "reset":
		return cmd.container != ""
	}
	return true
}

// queue puts a command into the connection's transaction. A client that queues without end is closed at the size at
// which its unparsed input would be.
func (l *loop) queue(c *conn, cmd *command, words [][]byte) {
	for _, word := range words {
		c.multi.bytes += len(word)
	}
	c.multi.bytes += queuedCommandCost
	c.multi.commands = append(c.multi.commands, queuedCommand{cmd, cloneWords(words)})
	if c.multi.bytes > l.server.config().MaxQueryBytes {
		l.stats.queryLimitCloses++
		c.closing = true
		return
	}
	l.answer(c, func(w *resp.Writer) { w.Simple("QUEUED") })
}

// refuse answers a command that cannot be queued, and makes EXEC discard the transaction.
func (l *loop) refuse(c *conn, err error) {
	c.multi.refused = true
	l.answerError(c, err)
}

// abort ends the connection's transaction, if there is one, for an EXEC that is turned down, and returns what to answer.
func (l *loop) abort(c *conn, why error) error {
	c.multi = nil
	l.unwatch(c)
	return replyError("EXECABORT Transaction discarded because of: " + strings.TrimPrefix(why.Error(), "ERR "))
}

func multi(_ *loop, c *conn, _ [][]byte, w *resp.Writer) {
	if c.multi != nil {
		w.Error(errNested)
		return
	}
	c.multi = &transaction{}
	w.OK()
}

func discard(l *loop, c *conn, _ [][]byte, w *resp.Writer) {
	if c.multi == nil {
		w.Error(errDiscardAlone)
		return
	}
	c.multi = nil
	l.unwatch(c)
	w.OK()
}

// exec carries the queued commands out as one step over all shards that they and the watched keys are of.
func exec(l *loop, c *conn, _ [][]byte, w *resp.Writer) {
	transaction := c.multi
	switch {
	case transaction == nil:
		w.Error(errExecAlone)
		return
	case transaction.refused:
		w.Error(errExecAborted)
	default:
		l.exclusively(l.shardsOfTransaction(c), func() {
			if l.watchedChanged(c) {
				w.NullArray()
				return
			}
			c.multi, c.executing = nil, true
			defer func() { c.executing = false }()
			w.Array(len(transaction.commands))
			for _, queued := range transaction.commands {
				if err := l.permitQueued(c, transaction, queued); err != nil {
					w.Error(err.Error())
				} else {
					l.carryOut(c, queued.command, queued.words, w)
					if l.monitored {
						l.feedMonitors(c, queued.command, queued.words)
					}
				}
				w.Version = c.version // HELLO may have changed it
			}
		})
	}
	c.multi = nil
	l.unwatch(c)
}

func (l *loop) shardsOfTransaction(c *conn) []int {
	used := make(map[int]bool)
	for _, queued := range c.multi.commands {
		l.addShards(used, queued.command, queued.words)
	}
	for shard, watched := range c.watched {
		if len(watched.list) > 0 {
			used[shard] = true
		}
	}
	var shards []int
	for shard := range used {
		shards = append(shards, shard)
	}
	slices.Sort(shards)
	return shards
}

// watchedChanged says whether one of the keys that the connection watches was changed since, or has expired.
func (l *loop) watchedChanged(c *conn) bool {
	for shard, watched := range c.watched {
		e := l.server.loops[shard].engine
		for _, key := range watched.list {
			if e.HasChanged(key.watch, key.seen) {
				return true
			}
		}
	}
	return false
}

func watch(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	if c.multi != nil {
		w.Error(errWatchInMulti)
		return
	}
	l.inSteps(c, args, w, &watching{})
}

// watching is WATCH. Each key is watched from the step on that comes to it, and all are before the reply.
type watching struct{ done int } // keys

func (t *watching) step(l *loop, c *conn, words [][]byte, _ *resp.Writer, until time.Duration) (done bool) {
	keys := words[1:]
	if c.watched == nil {
		c.watched = newWatched(len(l.server.loops), len(keys))
	}
	for next := true; next; next = t.done < len(keys) && l.server.clock.uptime() < until {
		some := keys[t.done:min(len(keys), t.done+pieceLength)]
		l.exclusively(l.shardsOfKeys(some, 1), func() {
			for _, key := range some {
				l.watch(c, key)
			}
		})
		t.done += len(some)
	}
	return t.done == len(keys)
}

func (t *watching) reply(w *resp.Writer) { w.OK() }

func (t *watching) gathered() *gathering { return nil }

// watch has a connection watch a key, if it does not already. The loop has the key's shard.
func (l *loop) watch(c *conn, name []byte) {
	key := l.server.key(c.db, name)
	shard := l.server.shardOfHash(key.Hash)
	e, keys := l.server.loops[shard].engine, &c.watched[shard]
	watch := e.Watch(key)
	if _, already := keys.known[watch]; already {
		e.Unwatch(watch)
		return
	}
	keys.known[watch] = struct{}{}
	keys.list = append(keys.list, watchedKey{watch, e.Glimpse(watch)})
}

func unwatch(l *loop, c *conn, _ [][]byte, w *resp.Writer) {
	l.unwatch(c)
	w.OK()
}

// unwatch lets go of all keys that the connection watches. Each shard's own loop does that when it comes to it, a piece at a
// time: nothing waits for it, and it may be called where no shard can be taken.
func (l *loop) unwatch(c *conn) {
	for shard, watched := range c.watched {
		if len(watched.list) > 0 {
			l.server.loops[shard].post(&envelope{onShard: true, deliver: func(l *loop) {
				l.do(inPieces(watched.list, pieceLength, func(key watchedKey) { l.engine.Unwatch(key.watch) }))
			}})
		}
	}
	c.watched = nil
}
