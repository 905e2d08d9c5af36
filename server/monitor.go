package server

import (
	"fmt"
	"strings"

	"github.com/cellserver/cellserver/resp"
)

// This file feeds MONITOR. Each loop gathers a line for every command that it carries out, as long as there are monitors
// anywhere, and shares them after each batch with the loops that have monitors. The lines of one loop are in their order;
// those of different loops may come a batch apart. A script's commands follow the one that runs it, and those of a transaction
// come when EXEC carries them out, before EXEC, as in Redis.
//
// A loop looks for monitors once per batch, so the feed costs nothing while there are none.

var monitorRows = []*command{
	{name: "monitor", arity: 1, flags: "admin noscript loading stale", categories: "@admin @slow @dangerous", group: "server", since: "1.0.0",
		summary: "Shows all commands as they are carried out.", local: monitor},
}

// monitor answers MONITOR: OK, or nothing to a connection that monitors already, as in Redis.
func monitor(l *loop, c *conn, _ [][]byte, w *resp.Writer) {
	if c.executing {
		w.Error("ERR MONITOR isn't allowed for DENY BLOCKING client")
		return
	}
	if c.monitoring {
		return
	}
	c.monitoring, c.special = true, true
	l.monitors[c] = struct{}{}
	l.monitorCount.Add(1)
	l.server.monitors.Add(1)
	l.monitored = true
	w.OK()
}

// stopMonitoring ends the feed to a connection.
func (l *loop) stopMonitoring(c *conn) {
	if !c.monitoring {
		return
	}
	c.monitoring = false
	delete(l.monitors, c)
	l.monitorCount.Add(-1)
	l.server.monitors.Add(-1)
}

// feedMonitors notes a command that was carried out for a connection. Redis hides administration, and so do we.
func (l *loop) feedMonitors(c *conn, cmd *command, words [][]byte) {
	if !cmd.has("admin") && !cmd.has("skip_monitor") {
		l.feedLine(c.db, c.source(), words, firstSecret(cmd, words))
	}
}

// source is how the feed names a connection.
func (c *conn) source() string {
	peer, local, _ := c.addresses()
	if c.transport.IsUnix() {
		return "unix:" + strings.TrimSuffix(local, ":0")
	}
	return peer
}

// feedLine appends one line to the feed: +<seconds>.<microseconds> [<db> <source>] "word" "word".
func (l *loop) feedLine(db int, source string, words [][]byte, secret span) {
	l.feed = fmt.Appendf(l.feed, "+%d.%06d [%d %s]", l.now/nanosPerSecond, l.now%nanosPerSecond/1000, db, source)
	for i, word := range words {
		l.feed = append(l.feed, ' ')
		if secret.first <= i && i <= secret.last {
			l.feed = append(l.feed, `"(redacted)"`...)
			continue
		}
		l.feed = appendQuoted(l.feed, word)
	}
	l.feed = append(l.feed, '\r', '\n')
}

// maxFeedBytes is the most that is gathered of the feed before it is shared, of a script that goes on and on: twice what a monitor
// may owe by default.
const maxFeedBytes = 64 << 20

// feedScripted notes a command of a script, in the feed of the scripts' executor. Beyond maxFeedBytes it notes nothing more, and
// shareFeed closes the monitors.
func (l *loop) feedScripted(db int, cmd *command, words [][]byte) {
	if l.monitored && !cmd.has("admin") && !cmd.has("skip_monitor") && len(l.feed) <= maxFeedBytes {
		l.feedLine(db, "lua", words, noSecret)
	}
}

// span is a range of words, both ends included.
type span struct{ first, last int }

var noSecret = span{-1, -1}

// firstSecret returns which words of a command are a user's name and password.
func firstSecret(cmd *command, words [][]byte) span {
	switch cmd.name {
	case "auth":
		return span{1, len(words) - 1}
	case "hello":
		for i := 2; i < len(words); i++ {
			if is(words[i], "AUTH") {
				return span{i + 1, i + 2}
			}
		}
	}
	return noSecret
}

// appendQuoted appends a word in quotes, as Redis writes it: what is not printable ASCII is escaped.
func appendQuoted(dst, word []byte) []byte {
	const escaped, letters = "\\\"\n\r\t\a\b", `\"nrtab`
	dst = append(dst, '"')
next:
	for _, b := range word {
		for i := range len(escaped) {
			if b == escaped[i] {
				dst = append(dst, '\\', letters[i])
				continue next
			}
		}
		if b < ' ' || b > '~' {
			dst = fmt.Appendf(dst, `\x%02x`, b)
			continue
		}
		dst = append(dst, b)
	}
	return append(dst, '"')
}

// shareFeed sends the lines gathered since the last time to the loops that have monitors. Where a loop is too far behind
// with what it was sent, its monitors are closed: a feed with gaps would mislead.
func (l *loop) shareFeed() {
	feed := l.feed
	l.feed = nil
	for _, target := range l.server.loops {
		if target.monitorCount.Load() == 0 {
			continue
		}
		if target.undelivered.Load() > maxUndelivered || len(feed) > maxFeedBytes {
			target.post(&envelope{deliver: (*loop).closeMonitors})
			continue
		}
		target.undelivered.Add(int64(len(feed)))
		target.post(&envelope{deliver: func(l *loop) {
			l.undelivered.Add(-int64(len(feed)))
			for c := range l.monitors {
				if c.reply != replyOff {
					c.push(feed)
				}
			}
		}})
	}
}

func (l *loop) closeMonitors() {
	for c := range l.monitors {
		l.stats.outputLimitCloses++
		l.close(c)
	}
}
