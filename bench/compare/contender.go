package main

import (
	_ "embed"
	"strconv"
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
}

//go:embed gcra.lua
var gcraScript string

// throttleArguments of every call: max_burst, count, period in seconds, quantity.
var throttleArguments = []string{"100", "1000", "60", "1"}

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
func (c contender) request(sha, key string) []string {
	if c.script != "" {
		return append([]string{"evalsha", sha, "1", key}, throttleArguments...)
	}
	return append([]string{"cl.throttle", key}, throttleArguments...)
}
