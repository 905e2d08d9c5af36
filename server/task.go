package server

import (
	"bytes"
	"math"
	"slices"
	"time"

	"github.com/cellserver/cellserver/resp"
)

// This file carries commands out in steps that may be much work, where nobody needs them to be one step: KEYS, WATCH of many
// keys. Each step has a turn of its connection, as a heavy one, and meanwhile the connection's later commands wait and all
// other connections are served. Within a transaction or a script such a command is done at once: they are one step.

// steps are the work of a command in pieces.
type steps interface {
	// step does pieces until the work is done, which it returns, or the server's uptime is at least until. It may write a part
	// of the reply. The words are the command's; they do not last until the next step, which gets its own.
	step(l *loop, c *conn, words [][]byte, w *resp.Writer, until time.Duration) (done bool)
	// reply writes the rest of the reply, when the work is done, but for what was gathered, which follows.
	reply(w *resp.Writer)
	// gathered is the output that waits for the work to be done; nil: there is none.
	gathered() *gathering
}

// atOnce is later than any time that a step may take until.
const atOnce = time.Duration(math.MaxInt64)

// A task is a command that a connection is at.
type task struct {
	steps
	command *command
	words   [][]byte
	mute    bool          // CLIENT REPLY OFF or SKIP: nobody wants the reply
	spent   time.Duration // on its steps
	longest time.Duration // of them
	bytes   int           // of what was gathered, as far as the connection knows of it
	held    int           // and the memory that takes
}

// inSteps carries out a command of a connection, in steps unless its first one does it all.
func (l *loop) inSteps(c *conn, words [][]byte, w *resp.Writer, work steps) {
	until := atOnce
	if l.holds == nil {
		until = l.server.clock.uptime() + stepTime
	}
	if !work.step(l, c, words, w, until) {
		mute := (c.reply == replyOff || c.reply == replySkipThis) && !c.answersAnyway
		if !l.ownWords {
			words = cloneWords(words)
		}
		c.task = &task{steps: work, command: c.last, words: words, mute: mute}
		return
	}
	work.reply(w)
	if g := work.gathered(); g != nil {
		w.Buf = slices.Grow(w.Buf, g.bytes)
		for _, buffer := range g.buffers {
			w.Buf = append(w.Buf, buffer...)
		}
		g.giveBack()
	}
}

// cloneWords copies words, whose memory is the input's.
func cloneWords(words [][]byte) [][]byte {
	joined := bytes.Join(words, nil)
	clones := make([][]byte, len(words))
	for i, word := range words {
		clones[i], joined = joined[:len(word):len(word)], joined[len(word):]
	}
	return clones
}

// goOn does the next step of a connection's task.
func (l *loop) goOn(c *conn) {
	t := c.task
	if c.out == nil {
		c.out = l.outputs.take()
	}
	start, began := len(c.out), l.server.clock.uptime()
	w := &l.answering
	*w = resp.Writer{Buf: c.out, Version: c.version}
	done := t.step(l, c, t.words, w, began+stepTime)
	if done {
		t.reply(w)
	}
	if t.mute {
		w.Buf = w.Buf[:start]
	}
	c.out = w.Buf
	t.book(l.server.clock.uptime() - began)
	switch {
	case !c.countGathered(t):
		return
	case done:
		c.task = nil
		l.bookTask(c, t)
		c.sendGathered(t)
	}
	c.flush()
	l.requeue(c)
}

func (t *task) book(spent time.Duration) {
	t.spent += spent
	t.longest = max(t.longest, spent)
}

// bookTask counts a command that was carried out in steps. SLOWLOG is told of all its time, LATENCY of the time that others
// had to wait at once.
func (l *loop) bookTask(c *conn, t *task) {
	l.book(t.command, 1, t.spent)
	if l.server.isSlow(t.spent) && !t.command.has("skip_slowlog") {
		l.server.slowlog.add(l.server, c, redacted(t.command, t.words), t.spent)
	}
	l.noteLatency(t.command.slow, t.longest)
}

// countGathered counts what a task has gathered as unsent output, and returns false where that is more than the connection may
// have, which ends it.
func (c *conn) countGathered(t *task) bool {
	g := t.gathered()
	if g == nil {
		return true
	}
	c.unsent.bytes += g.bytes - t.bytes
	c.holdUnsent(g.held - t.held)
	t.bytes, t.held = g.bytes, g.held
	if c.exceedsOutput() {
		c.closeBehind()
		return false
	}
	return true
}

// sendGathered moves what a task has gathered to the connection's output, where it follows what is there.
func (c *conn) sendGathered(t *task) {
	g := t.gathered()
	if g == nil || len(g.buffers) == 0 {
		return
	}
	if t.mute {
		c.unsent.bytes -= g.bytes
		c.holdUnsent(-g.held)
		g.giveBack()
		return
	}
	c.unsent.add(c.out)
	c.holdUnsent(cap(c.out))
	c.out = nil
	c.unsent.buffers = append(c.unsent.buffers, g.buffers...)
}

// A gathering is output in buffers of a loop's pool, so that it is never moved, however much it is.
type gathering struct {
	pool    *bufferPool
	buffers [][]byte
	bytes   int
	held    int // bytes of memory
}

// bulk appends a bulk string.
func (g *gathering) bulk(text []byte) {
	const frame = len("$12345\r\n\r\n") // of the longest key
	last := g.withRoom(len(text) + frame)
	w := resp.Writer{Buf: *last}
	w.Bulk(text)
	g.bytes += len(w.Buf) - len(*last)
	*last = w.Buf
}

// text appends bytes as they are.
func (g *gathering) text(text string) {
	last := g.withRoom(len(text))
	*last = append(*last, text...)
	g.bytes += len(text)
}

// withRoom returns the last buffer, which has room for so many bytes more.
func (g *gathering) withRoom(n int) *[]byte {
	last := len(g.buffers) - 1
	if last < 0 || cap(g.buffers[last])-len(g.buffers[last]) < n {
		buffer := g.pool.take()
		if cap(buffer) < n {
			buffer = make([]byte, 0, max(n, outputBytes))
		}
		g.buffers = append(g.buffers, buffer)
		g.held += cap(buffer)
		last++
	}
	return &g.buffers[last]
}

// giveBack gives the buffers back to the pool.
func (g *gathering) giveBack() {
	for _, buffer := range g.buffers {
		g.pool.give(buffer)
	}
	g.buffers = nil
}
