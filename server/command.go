package server

import (
	"strings"

	"github.com/cellserver/cellserver/acl"
	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/resp"
)

// A command is one row of the command table: what COMMAND tells about it, and what does its work.
//
// Exactly one of decide, keyed, local and subcommands is set.
type command struct {
	name       string
	arity      int    // words including the name; negative: at least so many
	flags      string // as COMMAND INFO lists them
	categories string
	keys       keyRange
	countedAt  int    // for a command that has its number of keys, and then the keys, among its words: where; else 0
	access     string // the key specification's flags
	access2    string // those of the second key, where it has a specification of its own
	notes      string // the key specification's notes
	group      string
	since      string
	summary    string
	args       []string // names of the arguments for COMMAND DOCS, "[x]" for an optional one

	// decide answers a GCRA call: CL.THROTTLE and CL.PROBE, whose arguments are parsed before the call is sent anywhere.
	decide func(e *engine.Engine, key *engine.Key, limit *gcra.Limit, quantity int64, decision *gcra.Decision) error
	// keyed runs on the shard of the command's keys, wherever the connection is, with the shard at its disposal. Where
	// the keys are of several shards it has them all.
	keyed func(s *Server, c *call, w *resp.Writer)
	// local runs on the connection's loop, when all earlier commands of the connection have been answered.
	local func(l *loop, c *conn, args [][]byte, w *resp.Writer)

	aclID       acl.CommandID
	publishes   bool       // sends messages to other connections: waits while they are congested, and during a pause of writing
	debugs      bool       // is DEBUG, which needs the configuration's leave
	slow        bool       // not flagged as fast: newCommandTable sets it
	arguments   []argument // what args says: newCommandTable parses it
	index       int        // its place in the table, subcommands included: newCommandTable sets it
	subcommands []*command
	container   string // for a subcommand: the name of the command it belongs to
}

// keyRange says which words of a command are keys, as in Redis: the first, the last (negative: from the end) and how
// many words apart they are. The zero value means none.
type keyRange struct{ first, last, step int }

var (
	oneKey  = keyRange{1, 1, 1}
	twoKeys = keyRange{1, 2, 1}
	allKeys = keyRange{1, -1, 1}
	subKey  = keyRange{2, 2, 1}

	everyOtherWord = keyRange{1, -1, 2} // each with a value after it
)

// end returns the index after the last key word of a command with n words.
func (k keyRange) end(n int) int {
	if k.last < 0 {
		return n + k.last + 1
	}
	return k.last + 1
}

// hasKeys says whether the command names keys. What looks like one and is none, a shard channel, is not meant.
func (c *command) hasKeys() bool {
	return (c.keys.step > 0 || c.countedAt > 0) && !strings.Contains(c.access, "not_key")
}

// keyIndexes returns where among the words of a command its keys are: at first and every step words from there, before end.
// Where a command that says how many keys it has says what can't be, that is nowhere, as in Redis.
func (c *command) keyIndexes(words [][]byte) (first, end, step int) {
	switch {
	case !c.hasKeys():
		return 0, 0, 1
	case c.countedAt == 0:
		return c.keys.first, c.keys.end(len(words)), c.keys.step
	}
	n, isNumber := resp.ParseRedisInt(words[c.countedAt])
	first = c.countedAt + 1
	if !isNumber || n < 0 || n > int64(len(words)-first) {
		return 0, 0, 1
	}
	return first, first + int(n), 1
}

// fullName is how errors and CLIENT LIST name the command: "get", "client|id".
func (c *command) fullName() string {
	if c.container != "" {
		return c.container + "|" + c.name
	}
	return c.name
}

func (c *command) takes(words int) bool {
	if c.arity < 0 {
		return words >= -c.arity
	}
	return words == c.arity
}

// has says whether the command has a flag.
func (c *command) has(flag string) bool {
	for word := range strings.FieldsSeq(c.flags) {
		if word == flag {
			return true
		}
	}
	return false
}

// A replyError is an error reply's text, without the leading '-'.
type replyError string

func (e replyError) Error() string { return string(e) }

const (
	errSyntax     = replyError(resp.ErrTextSyntax)
	errNotInteger = replyError(resp.ErrTextNotAnInteger)
	errNoSuchKey  = replyError("ERR no such key")
	errDBIndex    = replyError("ERR DB index is out of range")
)

// commandTable finds commands by name, in any case.
type commandTable struct {
	byName map[string]*command
	rows   []*command
	all    []*command // subcommands included, by index
}

// newCommandTable makes a table of copies: other servers of the process use the rows too.
func newCommandTable(rows []*command) *commandTable {
	t := &commandTable{byName: make(map[string]*command, len(rows))}
	for _, row := range rows {
		row = row.complete("")
		t.byName[row.name] = row
		t.rows = append(t.rows, row)
		t.number(row)
		for _, sub := range row.subcommands {
			t.number(sub)
		}
	}
	return t
}

func (t *commandTable) number(c *command) {
	c.index = len(t.all)
	t.all = append(t.all, c)
}

// complete returns a copy of a row with what follows from it and from where it stands.
func (c *command) complete(container string) *command {
	row := *c
	row.container = container
	row.slow = !row.has("fast")
	row.arguments = parseArguments(row.args)
	row.subcommands = nil
	for _, sub := range c.subcommands {
		row.subcommands = append(row.subcommands, sub.complete(row.name))
	}
	return &row
}

// longestName bounds the buffer that a name is put into lower case in.
const longestName = 128

// find returns the command that the words name, or nil. For a container that is its subcommand, where there is one of
// that name.
func (t *commandTable) find(words [][]byte) *command {
	var buffer [longestName]byte
	name, fits := lower(&buffer, words[0])
	if !fits {
		return nil
	}
	found := t.byName[string(name)]
	if found == nil || found.subcommands == nil || len(words) < 2 {
		return found
	}
	if sub := found.subcommand(words[1]); sub != nil {
		return sub
	}
	return found
}

func (c *command) subcommand(word []byte) *command {
	var buffer [longestName]byte
	name, _ := lower(&buffer, word)
	for _, sub := range c.subcommands {
		if sub.name == string(name) {
			return sub
		}
	}
	return nil
}

// named returns the command with a name as COMMAND INFO takes it: "get" or "client|id".
func (t *commandTable) named(name []byte) *command {
	container, sub, isSub := strings.Cut(strings.ToLower(string(name)), "|")
	found := t.byName[container]
	if !isSub || found == nil {
		return found
	}
	return found.subcommand([]byte(sub))
}

func lower(buffer *[longestName]byte, word []byte) (name []byte, fits bool) {
	if len(word) > len(buffer) {
		return nil, false
	}
	for i, b := range word {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		buffer[i] = b
	}
	return buffer[:len(word)], true
}

// is compares a word of a command with a keyword, in any case.
func is(word []byte, keyword string) bool {
	return len(word) == len(keyword) && strings.EqualFold(string(word), keyword)
}

// printed is a word as it stands in an error: a zero byte ends it, as it ends a string in C.
func printed(word []byte) string {
	text, _, _ := strings.Cut(string(word), "\x00")
	return text
}
