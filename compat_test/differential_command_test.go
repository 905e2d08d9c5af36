package compat_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// ask sends a command to a server, in the given version of the protocol, and returns the reply as go-redis reads it.
func (r rival) ask(t *testing.T, version int, words ...any) any {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: r.address, Protocol: version})
	defer client.Close()
	reply, err := client.Do(context.Background(), words...).Result()
	if err != nil {
		t.Fatal(r.name, words, err)
	}
	return reply
}

// describe adds what COMMAND says of a command and its subcommands, sets in order, to descriptions by name.
func describe(commands []any, into map[string]string) {
	for _, each := range commands {
		fields := slices.Clone(each.([]any))
		describe(fields[9].([]any), into)
		for _, set := range []int{2, 6, 7} {
			words := strings.Fields(strings.Trim(fmt.Sprint(fields[set]), "[]"))
			slices.Sort(words)
			fields[set] = words
		}
		into[fields[0].(string)] = fmt.Sprint(fields[:9]...)
	}
}

// TestCommandInfo: COMMAND says of every command that Redis has too what Redis says.
func TestCommandInfo(t *testing.T) {
	d := startDuel(t, nil, nil)
	redisSays, cellSays := map[string]string{}, map[string]string{}
	describe(d.redis.ask(t, 2, "COMMAND").([]any), redisSays)
	describe(d.cell.ask(t, 2, "COMMAND").([]any), cellSays)
	compared := 0
	for name, cell := range cellSays {
		if redis, has := redisSays[name]; has {
			compared++
			if redis != cell {
				t.Errorf("%s\n\tredis      %s\n\tcellserver %s", name, redis, cell)
			}
		}
	}
	if compared < 150 {
		t.Errorf("only %d commands are compared", compared)
	}
}

// arguments adds what COMMAND DOCS says of the arguments of commands and their subcommands, by name. What is said of them in
// prose is left out.
func arguments(docs any, into map[string]string) {
	for name, each := range docs.(map[any]any) {
		fields := each.(map[any]any)
		if list, has := fields["arguments"]; has {
			into[name.(string)] = fmt.Sprint(withoutProse(list)) // fmt sorts the keys of maps
		}
		if subcommands, has := fields["subcommands"]; has {
			arguments(subcommands, into)
		}
	}
}

func withoutProse(list any) any {
	for _, each := range list.([]any) {
		argument := each.(map[any]any)
		for _, prose := range []string{"summary", "since", "deprecated_since"} {
			delete(argument, prose)
		}
		if parts, has := argument["arguments"]; has {
			withoutProse(parts)
		}
	}
	return list
}

// TestCommandDocsArguments: COMMAND DOCS gives the arguments of every command that Redis has too their names, types, keywords and
// structure in Redis, on which redis-cli's hints and generated clients rest, and those of our own alike.
func TestCommandDocsArguments(t *testing.T) {
	d := startDuel(t, nil, nil)
	redisSays, cellSays := map[string]string{}, map[string]string{}
	arguments(d.redis.ask(t, 3, "COMMAND", "DOCS"), redisSays)
	arguments(d.cell.ask(t, 3, "COMMAND", "DOCS"), cellSays)
	throttle := "[map[key_spec_index:0 name:key type:key] map[name:max_burst type:integer] map[name:count type:integer]" +
		" map[name:period type:integer] map[flags:[optional] name:quantity type:integer]]"
	redisSays["cl.throttle"], redisSays["cl.probe"] = throttle, throttle
	for _, name := range d.cell.ask(t, 3, "COMMAND", "LIST").([]any) {
		name := name.(string)
		if redis, has := redisSays[name]; has && redis != cellSays[name] {
			t.Errorf("%s\n\tredis      %s\n\tcellserver %s", name, redis, cellSays[name])
		}
	}
}
