package server

import (
	"github.com/cellserver/cellserver/resp"
)

// This file carries out commands of a step: what EXEC and a script do while their loop has all the shards that they use.

// carryOut runs one command with the shards of its keys at the loop's disposal, and appends its reply.
//
// Its time is that since the end of the command before it in the step, or else since the step began: so the clock is read
// once for a command. A command that carries out others, as EXEC does, has their time in its own.
func (l *loop) carryOut(c *conn, cmd *command, words [][]byte, w *resp.Writer) {
	began := l.bookedTo
	if cmd.local != nil {
		start := len(w.Buf)
		cmd.local(l, c, words, w)
		if len(w.Buf) > start && w.Buf[start] == '-' {
			l.stats.countError(cmd, w.Buf[start:])
		}
	} else {
		l.carryOutKeyed(c, cmd, words, w)
	}
	l.bookedTo = l.server.clock.uptime()
	spent := l.bookedTo - began
	l.turnSpent += spent
	if c.task != nil {
		c.task.book(spent) // it has just begun, and is counted when it is done
	} else {
		l.bookOne(c, cmd, words, spent)
	}
}

func (l *loop) carryOutKeyed(c *conn, cmd *command, words [][]byte, w *resp.Writer) {
	one := call{conn: c, command: cmd, key: l.server.key(c.db, words[cmd.keys.first]), args: words}
	if cmd.decide != nil {
		one.limit, one.quantity, one.err = throttleArguments(cmd, words)
	}
	w.Buf = l.apply(&one, l.server.engineOf(one.key), w.Buf)
}

// addShards adds the shards that a command uses to a set: those of its keys, or all where it is none on keys and may
// look at the whole keyspace or, as CLIENT LIST does, at the connections of all loops.
func (l *loop) addShards(used map[int]bool, cmd *command, words [][]byte) {
	var shards []int
	switch {
	case cmd.keys.step > 0:
		shards = l.shardsOf(cmd, words)
	case cmd.group != "connection", cmd.container != "":
		shards = l.server.allShards
	}
	for _, shard := range shards {
		used[shard] = true
	}
}
