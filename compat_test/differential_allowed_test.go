package compat_test

import (
	"regexp"
	"slices"
	"strings"
)

// An allowance is a difference between the replies of Redis and of cellserver that is meant to be.
type allowance struct {
	commands string // their names, as commandName gives them
	reason   string
	same     func(redis, cell reply) bool // called where the bytes differ
}

var allowances = []allowance{
	{"client|id", "connections are counted by each server for itself", bothIntegers},
	{"hello", "so are they here; redis-cell is listed as a module", sameHello},
	{"client|list client|info", "addresses, ages, buffers; cellserver has the fields of Redis 7.2 too", sameClientLines},
	{"client|getredir", "for they tell such a number", bothIntegers},
	{"acl|help client|help command|help config|help debug|help latency|help memory|help object|help pubsub|help script|help slowlog|help", "each lists its own subcommands", sameFirst},
	{"ttl", "time passes between the two", near(10)},
	{"pttl", "time passes between the two", near(10_000)},
	{"time", "and microseconds", shapeOf},
	{"keys", "keys have no order", sameElements},
	{"pubsub|channels pubsub|shardchannels", "channels have no order", sameElements},
	{"config|get", "directives have no order", samePairs},
	{"acl|getuser acl|list", "categories have no order", sameWords},
	{"slowlog|get", "numbers, times and addresses", sameSlowlog},
	{"command|list", "commands have no order", sameElements},
	{"scan", "keys have no order", sameScan},
	{"eval eval_ro evalsha evalsha_ro exec", "an unknown command is named", sameUnknown},
	{"object|encoding", "keys are embstr as those of redis-cell, not int as those of SET", bothOf("$3 int", "$6 embstr")},
	{"object|refcount", "Redis counts the command that waits in a transaction", bothIntegers},
	{"memory|usage", "entries have another layout", bothIntegers},
}

// sameBytes is the rule for all else.
func sameBytes(redis, cell reply) bool { return redis.raw == cell.raw }

// sameReply compares by the rule of a command.
func sameReply(command string, redis, cell reply) bool {
	if sameBytes(redis, cell) {
		return true
	}
	for i := range allowances {
		a := &allowances[i]
		for name := range strings.FieldsSeq(a.commands) {
			if name == command && a.same(redis, cell) {
				return true
			}
		}
	}
	return false
}

// containers are the commands whose second word is part of the name.
var containers = " acl client command config debug function latency memory module object pubsub script slowlog xgroup xinfo cluster "

// commandName is how Redis calls a command: "get", "client|id".
func commandName(words []string) string {
	if len(words) == 0 {
		return ""
	}
	name := strings.ToLower(words[0])
	if len(words) > 1 && strings.Contains(containers, " "+name+" ") {
		name += "|" + strings.ToLower(words[1])
	}
	return name
}

// sameFirst compares the first elements of arrays whose others differ.
func sameFirst(redis, cell reply) bool {
	return redis.isArray() && cell.isArray() && len(cell.elements) > 0 && sameBytes(redis.elements[0], cell.elements[0])
}

func bothIntegers(redis, cell reply) bool { return redis.kind == ':' && cell.kind == ':' }

// unknownInScript is what cellserver says behind Redis's error for an unknown command in a script.
var (
	unknownInScript = regexp.MustCompile(`(Unknown Redis command called from script): '[^']*'( \(cellserver holds limiter keys only\))?`)
	bulkLength      = regexp.MustCompile(`\$\d+\r\n([^\r]*Unknown Redis command)`)
)

func sameUnknown(redis, cell reply) bool {
	own := unknownInScript.ReplaceAllString(cell.raw, "$1")
	return own != cell.raw && bulkLength.ReplaceAllString(redis.raw, "$1") == bulkLength.ReplaceAllString(own, "$1")
}

// near lets integers differ by as much.
func near(most int64) func(redis, cell reply) bool {
	return func(redis, cell reply) bool {
		r, isInteger := redis.integer()
		c, isIntegerToo := cell.integer()
		return isInteger && isIntegerToo && max(r-c, c-r) <= most && r >= 0 && c >= 0
	}
}

// bothOf lets these two replies differ, as reply.String shows them.
func bothOf(redisSays, cellSays string) func(redis, cell reply) bool {
	return func(redis, cell reply) bool { return redis.String() == redisSays && cell.String() == cellSays }
}

func sameElements(redis, cell reply) bool {
	return redis.kind == cell.kind && strings.Join(redis.sorted(), "") == strings.Join(cell.sorted(), "")
}

// samePairs compares what a map has in any order, in RESP2 too.
func samePairs(redis, cell reply) bool {
	if redis.kind != cell.kind || len(redis.elements) != len(cell.elements) {
		return false
	}
	for i := 0; i+1 < len(redis.elements); i += 2 {
		if value, found := cell.field(redis.elements[i].text); !found || !sameBytes(redis.elements[i+1], value) {
			return false
		}
	}
	return true
}

// sameWords compares replies by the words in them, in any order.
func sameWords(redis, cell reply) bool {
	r, c := strings.Fields(redis.raw), strings.Fields(cell.raw)
	slices.Sort(r)
	slices.Sort(c)
	return slices.Equal(r, c)
}

// sameSlowlog compares entries of number, time, duration, arguments, address and name by the arguments and the name.
func sameSlowlog(redis, cell reply) bool {
	if !redis.isArray() || !cell.isArray() || len(redis.elements) != len(cell.elements) {
		return false
	}
	for i, entry := range redis.elements {
		if own := cell.elements[i]; !shapeOf(entry, own) || len(entry.elements) != 6 ||
			!sameBytes(entry.elements[3], own.elements[3]) || !sameBytes(entry.elements[5], own.elements[5]) {
			return false
		}
	}
	return true
}

// sameScan compares a cursor and keys.
func sameScan(redis, cell reply) bool {
	return len(redis.elements) == 2 && len(cell.elements) == 2 && sameBytes(redis.elements[0], cell.elements[0]) &&
		sameElements(redis.elements[1], cell.elements[1])
}

// shapeOf compares types and numbers of elements alone.
func shapeOf(redis, cell reply) bool {
	same := redis.kind == cell.kind && len(redis.elements) == len(cell.elements)
	for i := 0; same && i < len(redis.elements); i++ {
		same = shapeOf(redis.elements[i], cell.elements[i])
	}
	return same
}

func sameHello(redis, cell reply) bool {
	if redis.kind != cell.kind || len(redis.elements) != len(cell.elements) {
		return false
	}
	for i := range redis.elements {
		switch key := redis.elements[i&^1].text; {
		case key == "id" && i%2 == 1:
			if !bothIntegers(redis.elements[i], cell.elements[i]) {
				return false
			}
		case key == "modules" && i%2 == 1:
			if !redis.elements[i].isArray() || !cell.elements[i].isArray() {
				return false
			}
		case !sameBytes(redis.elements[i], cell.elements[i]):
			return false
		}
	}
	return true
}

var (
	ownFields  = regexp.MustCompile(`\b(id|addr|laddr|fd|age|idle|qbuf|qbuf-free|argv-mem|multi-mem|rbs|rbp|obl|oll|omem|tot-mem)=\S*`)
	laterField = regexp.MustCompile(` (lib-name|lib-ver)=\S*`)
)

func sameClientLines(redis, cell reply) bool {
	plain := func(r reply) string { return laterField.ReplaceAllString(ownFields.ReplaceAllString(r.text, "$1"), "") }
	return redis.kind == cell.kind && plain(redis) == plain(cell)
}
