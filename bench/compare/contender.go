package main

import (
	_ "embed"
	"strconv"
	"time"
)

// Names of the contenders, as -references and the report spell them.
const (
	cellserver = "cellserver"
	null       = "null"
	redisCell  = "redis-cell"
	redisLua   = "redis-lua"
)

// contender is one server to measure: how it is started and, for redis-lua, the script it is asked to run.
type contender struct {
	name   string
	argv   []string // without the port, which is chosen at the start
	script string   // Lua; empty: the server knows CL.THROTTLE itself
	log    string   // policy of its append-only file, as the report names it; empty: it has none
}

//go:embed gcra.lua
var gcraScript string

// limit is what a call asks for.
type limit struct {
	maxBurst, count, periodSeconds, quantity int
}

// usualLimit is that of redis-cell's own example, give or take a burst.
var usualLimit = limit{maxBurst: 100, count: 1000, periodSeconds: 60, quantity: 1}

// contenders returns cellserver first, then the plan's references in their order.
func contenders(p plan, binary, cellModule string) []contender {
	ours := []string{binary, "--bind", "127.0.0.1", "--shards", strconv.Itoa(p.shards), "--save", ""}
	redis := []string{"redis-server", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"}
	all := []contender{{name: cellserver, argv: ours}}
	for _, name := range p.references {
		c := contender{name: name}
		switch name {
		case redisLua:
			c.argv, c.script = redis, gcraScript
		case redisCell:
			c.argv = append(redis[:len(redis):len(redis)], "--loadmodule", cellModule)
		case null:
			c.argv = append(ours[:len(ours):len(ours)], "--constant-reply", "yes")
		}
		all = append(all, c)
	}
	return all
}

// request returns the call on key. sha names the contender's script in the server, if it has one.
func (c contender) request(sha, key string, l limit) []string {
	words := []string{"cl.throttle", key}
	if c.script != "" {
		words = []string{"evalsha", sha, "1", key}
	}
	for _, n := range []int{l.maxBurst, l.count, l.periodSeconds, l.quantity} {
		words = append(words, strconv.Itoa(n))
	}
	return words
}

// stored returns the number that the contender keeps for a TAT: Unix nanoseconds as redis-cell does, or the script's
// microseconds.
func (c contender) stored(tat time.Time) int64 {
	if c.script != "" {
		return tat.UnixMicro()
	}
	return tat.UnixNano()
}
