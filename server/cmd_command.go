package server

import (
	"slices"
	"strings"

	"github.com/cellserver/cellserver/acl"
	"github.com/cellserver/cellserver/internal/glob"
	"github.com/cellserver/cellserver/resp"
)

// This file has COMMAND and its subcommands, all told from the command table.

func commandAll(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	rows := l.server.commands.rows
	w.Array(len(rows))
	for _, row := range rows {
		row.describe(w)
	}
}

func commandCount(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	w.Int(int64(len(l.server.commands.rows)))
}

func commandInfo(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	if len(args) == 2 {
		commandAll(l, c, args, w)
		return
	}
	w.Array(len(args) - 2)
	for _, name := range args[2:] {
		if row := l.server.commands.named(name); row != nil {
			row.describe(w)
		} else {
			w.Null()
		}
	}
}

// describe writes the ten elements that COMMAND INFO has for a command.
func (c *command) describe(w *resp.Writer) {
	w.Array(10)
	w.BulkString(c.fullName())
	w.Int(int64(c.arity))
	writeSimpleSet(w, strings.Fields(c.flags))
	w.Int(int64(c.keys.first))
	w.Int(int64(c.keys.last))
	w.Int(int64(c.keys.step))
	writeSimpleSet(w, strings.Fields(c.categories))
	tips := strings.Fields(commandTips[c.fullName()])
	w.Set(len(tips))
	for _, tip := range tips {
		w.BulkString(tip)
	}
	c.describeKeys(w)
	w.Set(len(c.subcommands))
	for _, sub := range c.subcommands {
		sub.describe(w)
	}
}

func writeSimpleSet(w *resp.Writer, words []string) {
	w.Set(len(words))
	for _, word := range words {
		w.Simple(word)
	}
}

// describeKeys writes the key specifications: none, one for all keys, or one for each of two that are used differently.
func (c *command) describeKeys(w *resp.Writer) {
	last := c.keys.last
	if last >= 0 {
		last -= c.keys.first // counted from the first key
	}
	step := c.keys.step
	switch {
	case c.countedAt > 0:
		w.Set(1)
		describeKey(w, c.notes, c.access, c.countedAt, "keynum", keySpecPart{"keynumidx", 0}, keySpecPart{"firstkey", 1}, keySpecPart{"keystep", 1})
	case step == 0:
		w.Set(0)
	case c.access2 != "":
		w.Set(2)
		describeKey(w, c.notes, c.access, c.keys.first, "range", keySpecPart{"lastkey", 0}, keySpecPart{"keystep", step}, keySpecPart{"limit", 0})
		describeKey(w, c.notes, c.access2, c.keys.first+1, "range", keySpecPart{"lastkey", 0}, keySpecPart{"keystep", step}, keySpecPart{"limit", 0})
	default:
		w.Set(1)
		describeKey(w, c.notes, c.access, c.keys.first, "range", keySpecPart{"lastkey", last}, keySpecPart{"keystep", step}, keySpecPart{"limit", 0})
	}
}

// keySpecPart is one number of a key specification.
type keySpecPart struct {
	name  string
	value int
}

func describeKey(w *resp.Writer, notes, access string, first int, find string, parts ...keySpecPart) {
	if notes == "" {
		w.Map(3)
	} else {
		w.Map(4)
		w.BulkString("notes")
		w.BulkString(notes)
	}
	w.BulkString("flags")
	writeSimpleSet(w, strings.Fields(access))
	w.BulkString("begin_search")
	w.Map(2)
	w.BulkString("type")
	w.BulkString("index")
	w.BulkString("spec")
	w.Map(1)
	w.BulkString("index")
	w.Int(int64(first))
	w.BulkString("find_keys")
	w.Map(2)
	w.BulkString("type")
	w.BulkString(find)
	w.BulkString("spec")
	w.Map(len(parts))
	for _, part := range parts {
		w.BulkString(part.name)
		w.Int(int64(part.value))
	}
}

func commandDocs(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	rows := l.server.commands.rows
	if len(args) > 2 {
		rows = nil
		for _, name := range args[2:] {
			if row := l.server.commands.named(name); row != nil {
				rows = append(rows, row)
			}
		}
	}
	writeDocs(w, rows)
}

func writeDocs(w *resp.Writer, rows []*command) {
	w.Map(len(rows))
	for _, row := range rows {
		w.BulkString(row.fullName())
		row.document(w)
	}
}

func (c *command) document(w *resp.Writer) {
	fields := 3
	for _, extra := range []bool{len(c.arguments) > 0, len(c.subcommands) > 0} {
		if extra {
			fields++
		}
	}
	w.Map(fields)
	w.BulkString("summary")
	w.BulkString(c.summary)
	w.BulkString("since")
	w.BulkString(c.since)
	w.BulkString("group")
	w.BulkString(c.group)
	if len(c.arguments) > 0 {
		w.BulkString("arguments")
		keySpecs, keysSeen := 1, 0
		if c.access2 != "" {
			keySpecs = 2
		}
		writeArguments(w, c.arguments, keySpecs, &keysSeen)
	}
	if len(c.subcommands) > 0 {
		w.BulkString("subcommands")
		writeDocs(w, c.subcommands)
	}
}

// commandList answers COMMAND LIST [FILTERBY MODULE name | ACLCAT category | PATTERN pattern].
func commandList(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	matching := func(*command) bool { return true }
	switch {
	case len(args) == 2:
	case len(args) == 5 && is(args[2], "FILTERBY") && is(args[3], "MODULE"):
		matching = func(c *command) bool { return string(args[4]) == moduleName && c.has("module") }
	case len(args) == 5 && is(args[2], "FILTERBY") && is(args[3], "ACLCAT"):
		category := "@" + strings.ToLower(string(args[4]))
		matching = func(c *command) bool { return slices.Contains(strings.Fields(c.categories), category) }
	case len(args) == 5 && is(args[2], "FILTERBY") && is(args[3], "PATTERN"):
		matching = func(c *command) bool { return glob.Match(args[4], []byte(c.fullName())) }
	default:
		w.Error(errSyntax.Error())
		return
	}
	var names []string
	for _, row := range l.server.commands.rows {
		for _, c := range append([]*command{row}, row.subcommands...) {
			if matching(c) {
				names = append(names, c.fullName())
			}
		}
	}
	w.Array(len(names))
	for _, name := range names {
		w.BulkString(name)
	}
}

func commandGetKeys(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	if _, keys, ok := l.commandKeys(args[2:], w); ok {
		w.Array(len(keys))
		for _, key := range keys {
			w.Bulk(key)
		}
	}
}

func commandGetKeysAndFlags(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	words := args[2:]
	row, keys, ok := l.commandKeys(words, w)
	if !ok {
		return
	}
	w.Array(len(keys))
	for i, key := range keys {
		w.Array(2)
		w.Bulk(key)
		writeSimpleSet(w, row.keyFlags(i, words))
	}
}

// commandKeys returns which words of a command are keys, or replies why that can't be told.
func (l *loop) commandKeys(words [][]byte, w *resp.Writer) (row *command, keys [][]byte, ok bool) {
	row = l.server.commands.find(words)
	switch {
	case row == nil, row.subcommands != nil && row.local == nil:
		w.Error("ERR Invalid command specified")
		return nil, nil, false
	case !row.hasKeys():
		w.Error("ERR The command has no key arguments")
		return nil, nil, false
	case !row.takes(len(words)):
		w.Error("ERR Invalid number of arguments specified for command")
		return nil, nil, false
	}
	first, end, step := row.keyIndexes(words)
	for i := first; i < end; i += step {
		keys = append(keys, words[i])
	}
	return row, keys, true
}

// keyFlags returns what a command does with one of its keys. The flags of SET depend on the words: it reads only with GET.
func (c *command) keyFlags(index int, words [][]byte) []string {
	access := c.access
	if index > 0 && c.access2 != "" {
		access = c.access2
	}
	if fixed, isVariable := strings.CutSuffix(access, " variable_flags"); isVariable {
		access = fixed
		if keyAccess(c.access, words)&acl.Read == 0 {
			access = "OW update"
		}
	}
	return strings.Fields(access)
}

// help answers the HELP subcommand of any command: a line for each subcommand and one for what it does.
func help(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	container := l.server.commands.named(args[0])
	lines := []string{strings.ToUpper(container.name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}
	for _, sub := range container.subcommands {
		usage := strings.ToUpper(sub.name)
		for i := range sub.arguments {
			usage += " " + sub.arguments[i].usage()
		}
		lines = append(lines, usage, "    "+sub.summary)
	}
	w.Array(len(lines))
	for _, line := range lines {
		w.Simple(line)
	}
}
