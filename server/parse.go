package server

import (
	"bytes"

	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/keyspace"
	"github.com/cellserver/cellserver/resp"
)

const errKeyTooLong = replyError("ERR key is longer than 65535 bytes")

// usage is redis-cell's error for the wrong number of arguments, of CL.THROTTLE and of CL.PROBE.
func usage(c *command) error {
	return replyError("Cell error: Store error: Usage: " + c.name + " <key> <max_burst> <count per period> <period> [<quantity>]")
}

// parse turns a connection's input into calls of the batch until the input or the batch is used up, and returns what is
// left of it. pending says that there is more to do once the batch is answered.
//
// A command that is no call on one shard is carried out here and now, in its turn: where calls of the connection are
// before it in the batch, it is held until they are answered. One that may take long ends the connection's turn, and so does
// too much of what is no call: others is the number of such commands. See turns.go.
func (l *loop) parse(b *batch, c *conn, data []byte) (rest []byte, pending bool, others int) {
	first, keys, stranger := len(b.calls), b.furtherKeys, c.mustAuthenticate()
	for commands := 0; !c.closing; commands++ {
		if len(b.calls) == cap(b.calls) || len(c.out) > pauseOutputBytes || stranger && commands == strangerCommands {
			return data, len(data) > 0 || c.held != nil, others
		}
		if l.takesShortCalls(c) {
			if data = l.addShortCalls(b, c, data); len(b.calls) == cap(b.calls) {
				continue
			}
		}
		words, n, err := l.next(c, data)
		data = data[n:]
		if err == resp.ErrIncomplete {
			return data, false, others
		}
		before := len(b.calls)
		behindCalls := before > first
		switch {
		case err != nil && !behindCalls:
			l.protocolError(c, err)
		case err != nil, len(words) > wideWords && n > 0 && !l.heavyTurn, !l.admit(b, c, words, behindCalls):
			c.hold(words, err)
			return data, true, others
		}
		if len(b.calls) == before {
			others++
		}
		if l.ranSlow || c.task != nil || l.turnSpent > turnTime || others >= turnCommands || b.furtherKeys-keys > wideWords {
			l.ranSlow = false
			return data, len(data) > 0, others
		}
	}
	return nil, false, others
}

// pauseOutputBytes is how much output a connection may gather before it is written, and the next command is carried out
// only then: the replies of a pipeline of KEYS never are in memory together.
const pauseOutputBytes = 64 << 10

// strangerCommands is how many commands a connection that has to authenticate first may give in its turn: more than are needed
// for that, and few enough that their replies, errors all, take next to no memory should nobody read them.
const strangerCommands = 16

// keptWords is the size of the largest command whose memory for its words is kept for the next command.
const keptWords = 1 << 10

// next returns the connection's next command: the one that was held, or the first of data, of which it takes n bytes.
func (l *loop) next(c *conn, data []byte) (words [][]byte, n int, err error) {
	l.ownWords = c.held != nil
	if held := c.held; held != nil {
		c.held = nil
		return held.words, 0, held.err
	}
	if cap(l.words) > keptWords {
		l.words = nil
	}
	l.words, n, err = c.parser.Next(data, l.words[:0])
	return l.words, n, err
}

// heldCommand is a command, or an error of the protocol, that waits for the connection's calls before it.
type heldCommand struct {
	words [][]byte
	err   error
}

// hold keeps a command. Its words move, since the input that they lie in may be overwritten meanwhile.
func (c *conn) hold(words [][]byte, err error) { c.held = &heldCommand{cloneWords(words), err} }

// protocolError answers input that is no command and closes the connection.
func (l *loop) protocolError(c *conn, err error) {
	c.closing = true
	if err != resp.ErrCrossProtocol {
		w := resp.Writer{Buf: c.out, Version: c.version}
		w.Error(err.Error())
		l.stats.countError(nil, w.Buf[len(c.out):])
		c.out = w.Buf
	}
}

// admit takes one command in: as a call of the batch, or by carrying it out. It returns false, and has done nothing,
// where the command must wait for the connection's calls in the batch.
func (l *loop) admit(b *batch, c *conn, words [][]byte, behindCalls bool) bool {
	cmd, err := l.lookup(words)
	if cmd != nil {
		c.last = cmd
	}
	if l.refusing && !l.server.busy.Load() {
		return false // the script has just ended, and the shard is on its way back
	}
	if err == nil && cmd.debugs && !l.mayDebug(c) {
		err = errDebugOff
	}
	if err == nil {
		err = l.permit(c, cmd, words)
	}
	if err == nil && l.loading && !cmd.allowedWhileLoading() {
		err = errLoading
	}
	if err == nil && l.refusing {
		err = l.refuseWhileBusy(c, cmd, words)
	}
	if err == nil && (l.paused != nil || c.special || cmd.publishes) {
		var mayRun bool
		if mayRun, err = l.screen(c, cmd); !mayRun {
			return false
		}
	}
	if err == nil && l.misconfigured != nil && cmd.has("write") {
		err = l.misconfigured
	}
	if err != nil && cmd != nil && cmd.name == "exec" {
		err = l.abort(c, err)
	}
	if c.multi != nil {
		l.admitToTransaction(c, cmd, words, err)
		if l.monitored && err == nil && c.multi == nil {
			l.feedMonitors(c, cmd, words)
		}
		return true
	}
	switch {
	case err != nil && l.refusing: // the batch is not executed
		l.stats.reject(cmd)
		l.answerError(c, err)
	case err != nil:
		l.stats.reject(cmd)
		l.addFailure(b, c, err)
	case cmd.decide != nil:
		l.addDecision(b, c, cmd, words)
	case cmd.keyed != nil:
		key := l.server.key(c.db, words[cmd.keys.first])
		if l.oneShard(cmd, words, key) {
			l.addKeyed(b, c, cmd, words, key)
			break
		}
		if behindCalls {
			return false
		}
		l.runOverShards(c, cmd, words)
	default:
		if behindCalls {
			return false
		}
		l.runLocal(c, cmd, words)
	}
	if l.monitored && err == nil {
		l.feedMonitors(c, cmd, words)
	}
	return true
}

// admitToTransaction is admit for a connection that has sent MULTI. Its calls before that have been answered, and none
// have been put into a batch since.
func (l *loop) admitToTransaction(c *conn, cmd *command, words [][]byte, err error) {
	switch {
	case err != nil:
		l.stats.reject(cmd)
		l.refuse(c, err)
	case cmd.has("no_multi"):
		l.refuse(c, replyError("ERR Command not allowed inside a transaction"))
	case c.queues(cmd):
		l.queue(c, cmd, words)
	default:
		l.runLocal(c, cmd, words)
	}
}

// lookup finds the command, checks the number of its words and the length of its keys.
func (l *loop) lookup(words [][]byte) (*command, error) {
	cmd := l.lastCommand
	if cmd == nil || !bytes.Equal(words[0], l.lastName) || cmd.subcommands != nil || cmd.container != "" {
		cmd = l.server.commands.find(words)
		if cmd == nil {
			return nil, replyError(resp.UnknownCommand(words))
		}
		l.lastCommand, l.lastName = cmd, append(l.lastName[:0], words[0]...)
	}
	switch {
	case !cmd.takes(len(words)) && cmd.decide != nil:
		return cmd, usage(cmd)
	case !cmd.takes(len(words)):
		return cmd, replyError(resp.WrongArity(cmd.fullName()))
	case cmd.subcommands != nil && len(words) > 1:
		return nil, replyError(resp.UnknownSubcommand(cmd.name, words[1]))
	case cmd.keys.step == 0:
		return cmd, nil
	}
	for i := cmd.keys.first; i < cmd.keys.end(len(words)); i += cmd.keys.step {
		if len(words[i]) > keyspace.MaxKeyBytes {
			return cmd, errKeyTooLong
		}
	}
	return cmd, nil
}

// add puts a call into the batch. The fields that all kinds of calls have are set.
func (l *loop) add(b *batch, c *conn, cmd *command, shard int) *call {
	call := b.add()
	c.beginCommand()
	call.conn, call.command, call.shard, call.mute, call.err = c, cmd, shard, c.endCommand(), nil
	return call
}

// addFailure answers a command that cannot be carried out, in its turn.
func (l *loop) addFailure(b *batch, c *conn, err error) {
	call := l.add(b, c, nil, l.index)
	call.key, call.err = engine.Key{}, err
}

// takesShortCalls says whether admit would add a call of CL.THROTTLE to the batch without a question asked: true of nearly
// all connections at nearly all times. Here is all that admit and next may ask.
func (l *loop) takesShortCalls(c *conn) bool {
	return l.server.throttle != nil &&
		c.held == nil && c.multi == nil && !c.special && c.reply == replyOn && c.authenticated && c.user.Unrestricted() &&
		!l.refusing && !l.loading && l.paused == nil && l.misconfigured == nil && !l.monitored
}

// addShortCalls takes in the calls of CL.THROTTLE that data begins with, as far as resp.NextThrottle knows them for such,
// and returns what follows. They would be the same calls on the way that all commands go: this is but shorter.
func (l *loop) addShortCalls(b *batch, c *conn, data []byte) (rest []byte) {
	var integers [4]int64
	for len(b.calls) < cap(b.calls) {
		key, n := c.parser.NextThrottle(data, &integers)
		if n == 0 {
			return data
		}
		data = data[n:]
		c.last = l.server.throttle
		call := b.add()
		call.conn, call.command, call.mute, call.err = c, l.server.throttle, false, nil
		call.key.DB, call.key.Hash, call.key.Bytes = c.db, l.server.hasher.Sum(key), key
		call.shard = l.server.shardOfHash(call.key.Hash)
		call.limit.MaxBurst, call.limit.Count, call.limit.Period, call.quantity = integers[0], integers[1], integers[2], integers[3]
	}
	return data
}

// addDecision takes in CL.THROTTLE key max_burst count period [quantity], or CL.PROBE.
func (l *loop) addDecision(b *batch, c *conn, cmd *command, words [][]byte) {
	key := l.server.key(c.db, words[1])
	call := l.add(b, c, cmd, l.server.shardOfHash(key.Hash))
	call.key = key
	call.limit, call.quantity, call.err = throttleArguments(cmd, words)
}

// throttleArguments parses the integers of CL.THROTTLE, with redis-cell's words for what is none.
func throttleArguments(cmd *command, words [][]byte) (limit gcra.Limit, quantity int64, err error) {
	if len(words) > 6 {
		return limit, 0, usage(cmd)
	}
	integers := [4]int64{3: 1}
	for i, word := range words[2:] {
		n, ok := resp.ParseInt(word)
		if !ok {
			return limit, 0, replyError("Cell error: Store error: Couldn't parse as integer: " + string(word))
		}
		integers[i] = n
	}
	return gcra.Limit{MaxBurst: integers[0], Count: integers[1], Period: integers[2]}, integers[3], nil
}

func (l *loop) addKeyed(b *batch, c *conn, cmd *command, words [][]byte, key engine.Key) {
	call := l.add(b, c, cmd, l.server.shardOfHash(key.Hash))
	call.key, call.args = key, words
	if !l.ownWords {
		call.args = b.keep(words)
	}
	b.furtherKeys += call.keys() - 1
}

// runOverShards carries out a command whose keys are of several shards, as one step over all of them.
func (l *loop) runOverShards(c *conn, cmd *command, words [][]byte) {
	l.ranSlow = cmd.slow
	l.bookedTo = l.server.clock.uptime()
	l.answer(c, func(w *resp.Writer) {
		l.exclusively(l.shardsOf(cmd, words), func() { l.carryOut(c, cmd, words, w) })
	})
}

// runLocal carries out a command of the connection's own, or one on the whole keyspace.
func (l *loop) runLocal(c *conn, cmd *command, words [][]byte) {
	l.ranSlow = cmd.slow
	l.bookedTo = l.server.clock.uptime()
	l.answer(c, func(w *resp.Writer) { l.carryOut(c, cmd, words, w) })
}

// answer appends the reply to a command that is carried out at once, unless the client wants none.
func (l *loop) answer(c *conn, reply func(w *resp.Writer)) {
	c.beginCommand()
	start := len(c.out)
	w := &l.answering
	*w = resp.Writer{Buf: c.out, Version: c.version}
	reply(w)
	if c.endCommand() {
		w.Buf = w.Buf[:start]
	}
	c.out = w.Buf
}

// answerError is answer for a command that is turned down.
func (l *loop) answerError(c *conn, err error) {
	l.answer(c, func(w *resp.Writer) {
		start := len(w.Buf)
		w.Error(err.Error())
		l.stats.countError(nil, w.Buf[start:])
	})
}

// oneShard says whether all keys of a command are of the shard of the first.
func (l *loop) oneShard(cmd *command, words [][]byte, first engine.Key) bool {
	shard := l.server.shardOfHash(first.Hash)
	for i := cmd.keys.first + cmd.keys.step; i < cmd.keys.end(len(words)); i += cmd.keys.step {
		if l.server.shardOfKey(words[i]) != shard {
			return false
		}
	}
	return true
}

// shardsOf returns the shards of a command's keys, each once.
func (l *loop) shardsOf(cmd *command, words [][]byte) []int {
	k := cmd.keys
	return l.shardsOfKeys(words[k.first:k.end(len(words))], k.step)
}

// shardsOfKeys returns the shards of every step-th word, each once.
func (l *loop) shardsOfKeys(words [][]byte, step int) []int {
	var shards []int
	seen := make([]bool, len(l.server.loops))
	for i := 0; i < len(words); i += step {
		if shard := l.server.shardOfKey(words[i]); !seen[shard] {
			seen[shard] = true
			shards = append(shards, shard)
		}
	}
	return shards
}
