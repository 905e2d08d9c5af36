package server

import (
	"regexp"
	"strings"

	"github.com/cellserver/cellserver/resp"
)

// This file has the notation of commands' arguments in their rows, from which COMMAND DOCS and HELP follow. It is that of Redis's
// usage lines, with names for what has none there:
//
//	seconds                     a word, whose type follows from its name
//	[pattern] channel...        one that may be missing, one that may be repeated
//	[REPLACE] get=GET           a keyword; its name is that in lower case unless another is given
//	[MATCH pattern]             a word after a keyword; with ... after the bracket both are repeated
//	condition=NX|XX             one of several
//	key_value={key value}...    several words that go together
//	id=TYPE (NORMAL|MASTER)     where one of several is part of something, it is in parentheses

// Types of arguments, by Redis's names.
const (
	wordType    = "string"
	keyType     = "key"
	keywordType = "pure-token"
	oneOfType   = "oneof"
	blockType   = "block"
)

// argumentTypes has the types of the words that are no plain strings, by their names, which mean the same in all commands.
var argumentTypes = map[string]string{
	"key": keyType, "newkey": keyType, "source": keyType, "destination": keyType, "pattern": "pattern",
	"unix-time-seconds": "unix-time", "unix-time-milliseconds": "unix-time",
	"max_burst": "integer", "count": "integer", "period": "integer", "quantity": "integer",
	"seconds": "integer", "milliseconds": "integer", "ttl": "integer", "timeout": "integer", "frequency": "integer",
	"start": "integer", "end": "integer", "cursor": "integer", "numkeys": "integer", "numreplicas": "integer",
	"port": "integer", "index": "integer", "index1": "integer", "index2": "integer", "db": "integer", "destination-db": "integer",
	"client-id": "integer", "protover": "integer", "version": "integer", "bits": "integer",
}

// An argument is one of a command's arguments, as COMMAND DOCS tells it.
type argument struct {
	name, kind, token string
	optional          bool
	multiple          bool
	multipleToken     bool // the token is repeated too
	parts             []argument
}

var (
	namedArgument = regexp.MustCompile(`^([a-z0-9_-]+)=(.*)$`)
	keyword       = regexp.MustCompile(`^([A-Z]+)(?: (.*))?$`)
)

// parseArgument reads the notation.
func parseArgument(text string) (a argument) {
	if inner, isOptional := strings.CutPrefix(text, "["); isOptional {
		inner, a.multipleToken = strings.CutSuffix(inner, "...")
		if a.multipleToken = a.multipleToken && strings.HasSuffix(inner, "]"); !a.multipleToken {
			inner = text[1:]
		}
		a.optional, a.multiple = true, a.multipleToken
		text = strings.TrimSuffix(inner, "]")
	}
	if named := namedArgument.FindStringSubmatch(text); named != nil {
		a.name, text = named[1], named[2]
	}
	if choices := splitOutside(text, '|'); len(choices) > 1 {
		a.kind, a.parts = oneOfType, parseArguments(choices)
		return a
	}
	if once, isMultiple := strings.CutSuffix(text, "..."); isMultiple {
		a.multiple, text = true, once
	}
	if found := keyword.FindStringSubmatch(text); found != nil {
		a.token, text = found[1], found[2]
	}
	switch {
	case text == "":
		a.kind = keywordType
		if a.name == "" {
			a.name = strings.ToLower(a.token)
		}
	case text[0] == '(':
		a.kind, a.parts = oneOfType, parseArguments(splitOutside(text[1:len(text)-1], '|'))
	case text[0] == '{':
		a.kind, a.parts = blockType, parseArguments(splitOutside(text[1:len(text)-1], ' '))
	default:
		a.name, a.kind = text, wordType
		if kind, isOther := argumentTypes[text]; isOther {
			a.kind = kind
		}
	}
	return a
}

func parseArguments(texts []string) (all []argument) {
	for _, text := range texts {
		all = append(all, parseArgument(text))
	}
	return all
}

// splitOutside splits a text at a separator that stands outside all brackets.
func splitOutside(text string, separator rune) (parts []string) {
	depth, start := 0, 0
	for i, r := range text {
		switch {
		case strings.ContainsRune("[({", r):
			depth++
		case strings.ContainsRune("])}", r):
			depth--
		case r == separator && depth == 0:
			parts, start = append(parts, text[start:i]), i+1
		}
	}
	return append(parts, text[start:])
}

// writeArguments writes the list of arguments of COMMAND DOCS. keySpecs is how many specifications the command's keys have, and
// keysSeen how many keys came before.
func writeArguments(w *resp.Writer, all []argument, keySpecs int, keysSeen *int) {
	w.Array(len(all))
	for i := range all {
		a := &all[i]
		var flags []string
		for _, flag := range []struct {
			is   bool
			name string
		}{{a.optional, "optional"}, {a.multiple, "multiple"}, {a.multipleToken, "multiple_token"}} {
			if flag.is {
				flags = append(flags, flag.name)
			}
		}
		fields := 2
		for _, extra := range []bool{a.kind == keyType, a.token != "", flags != nil, a.parts != nil} {
			if extra {
				fields++
			}
		}
		w.Map(fields)
		w.BulkString("name")
		w.BulkString(a.name)
		w.BulkString("type")
		w.BulkString(a.kind)
		if a.kind == keyType {
			w.BulkString("key_spec_index")
			w.Int(int64(min(*keysSeen, keySpecs-1)))
			*keysSeen++
		}
		if a.token != "" {
			w.BulkString("token")
			w.BulkString(a.token)
		}
		if flags != nil {
			w.BulkString("flags")
			writeSimpleSet(w, flags)
		}
		if a.parts != nil {
			w.BulkString("arguments")
			writeArguments(w, a.parts, keySpecs, keysSeen)
		}
	}
}

// usage is the argument in a line of HELP.
func (a *argument) usage() string {
	var parts []string
	for i := range a.parts {
		parts = append(parts, a.parts[i].usage())
	}
	text := "<" + a.name + ">"
	switch a.kind {
	case keywordType:
		text = ""
	case blockType:
		text = strings.Join(parts, " ")
	case oneOfType:
		text = strings.Join(parts, "|")
		if !a.optional || a.token != "" {
			text = "(" + text + ")"
		}
	}
	switch {
	case !a.multiple, a.multipleToken:
	case a.kind == oneOfType:
		text += " ..." // any of them, again and again
	default:
		text += " [" + text + " ...]"
	}
	text = strings.TrimSpace(a.token + " " + text)
	if a.multipleToken {
		text += " [" + text + " ...]"
	}
	if a.optional {
		return "[" + text + "]"
	}
	return text
}
