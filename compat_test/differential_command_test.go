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
