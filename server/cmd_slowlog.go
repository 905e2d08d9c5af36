package server

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/cellserver/cellserver/resp"
)

// slowlog keeps the last commands that took long. It is the server's and has a lock, which only slow commands and
// SLOWLOG itself take.
type slowlog struct {
	mu      sync.Mutex
	entries []slowlogEntry // oldest first
	nextID  int64
}

type slowlogEntry struct {
	id         int64
	unix       int64 // seconds
	spent      time.Duration
	words      []string
	peer, name string // of the client
}

// How much of a command SLOWLOG keeps, as in Redis.
const (
	slowlogWords     = 32
	slowlogWordBytes = 128
)

// slowlogGetDefault is how many entries SLOWLOG GET returns unless told.
const slowlogGetDefault = 10

func (s *slowlog) add(server *Server, c *conn, words [][]byte, spent time.Duration) {
	peer, _, _ := c.transport.Describe()
	e := slowlogEntry{unix: server.clock.now() / nanosPerSecond, spent: spent, words: trimmed(words), peer: peer, name: c.name}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.id = s.nextID
	s.nextID++
	s.entries = append(s.entries, e)
	if beyond := len(s.entries) - int(server.config().SlowlogMaxLen); beyond > 0 {
		s.entries = append(s.entries[:0], s.entries[beyond:]...)
	}
}

// trimmed copies a command's words, cut to what SLOWLOG keeps, in Redis's form.
func trimmed(words [][]byte) []string {
	kept := make([]string, 0, min(len(words), slowlogWords))
	for i, word := range words {
		switch {
		case len(words) > slowlogWords && i == slowlogWords-1:
			return append(kept, fmt.Sprintf("... (%d more arguments)", len(words)-slowlogWords+1))
		case len(word) > slowlogWordBytes:
			kept = append(kept, fmt.Sprintf("%s... (%d more bytes)", word[:slowlogWordBytes], len(word)-slowlogWordBytes))
		default:
			kept = append(kept, string(word))
		}
	}
	return kept
}

// last returns up to n entries, the newest first; -1 means all.
func (s *slowlog) last(n int64) []slowlogEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 || n > int64(len(s.entries)) {
		n = int64(len(s.entries))
	}
	newest := make([]slowlogEntry, 0, n)
	for i := range int(n) {
		newest = append(newest, s.entries[len(s.entries)-1-i])
	}
	return newest
}

func (s *slowlog) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

func (s *slowlog) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = nil
}

// words returns a call as a command. Of CL.THROTTLE and CL.PROBE the words are not kept, since that would cost every call
// what only SLOWLOG wants: they are made up again from what the call means.
func (c *call) words() [][]byte {
	if c.command.decide == nil {
		return redacted(c.command, c.args)
	}
	words := [][]byte{[]byte(c.command.name), c.key.Bytes}
	if c.err != nil {
		return words
	}
	for _, n := range []int64{c.limit.MaxBurst, c.limit.Count, c.limit.Period, c.quantity} {
		words = append(words, strconv.AppendInt(nil, n, 10))
	}
	return words
}

// redacted returns a command's words as others may see them: "(redacted)" stands for each that may be a secret.
func redacted(cmd *command, words [][]byte) [][]byte {
	var isSecret func(int) bool
	switch cmd.fullName() {
	case "auth":
		isSecret = func(i int) bool { return i > 0 }
	case "acl|setuser":
		isSecret = func(i int) bool { return i > 1 }
	case "hello":
		isSecret = func(i int) bool {
			return i > 2 && is(words[i-1], "AUTH") || i > 3 && is(words[i-2], "AUTH")
		}
	case "config|set":
		isSecret = func(i int) bool { return i > 2 && i%2 == 1 && isSecretDirective(words[i-1]) }
	default:
		return words
	}
	shown := make([][]byte, len(words))
	for i, word := range words {
		if shown[i] = word; isSecret(i) {
			shown[i] = []byte("(redacted)")
		}
	}
	return shown
}

// isSecretDirective says whether a directive's value is a password.
func isSecretDirective(name []byte) bool {
	for _, secret := range []string{"requirepass", "masterauth", "masteruser", "tls-key-file-pass", "tls-client-key-file-pass"} {
		if is(name, secret) {
			return true
		}
	}
	return false
}

func slowlogGet(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	n := int64(slowlogGetDefault)
	if len(args) > 3 {
		w.Error(resp.UnknownSubcommandOrArity("slowlog", args[1]))
		return
	}
	if len(args) == 3 {
		wanted, ok := resp.ParseRedisInt(args[2])
		if !ok || wanted < -1 {
			w.Error("ERR count should be greater than or equal to -1")
			return
		}
		n = wanted
	}
	entries := l.server.slowlog.last(n)
	w.Array(len(entries))
	for _, e := range entries {
		w.Array(6)
		w.Int(e.id)
		w.Int(e.unix)
		w.Int(e.spent.Microseconds())
		w.Array(len(e.words))
		for _, word := range e.words {
			w.BulkString(word)
		}
		w.BulkString(e.peer)
		w.BulkString(e.name)
	}
}

func slowlogLen(l *loop, _ *conn, _ [][]byte, w *resp.Writer) { w.Int(int64(l.server.slowlog.len())) }

func slowlogReset(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	l.server.slowlog.reset()
	w.OK()
}
