package compat_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// absentCommands are the commands of Redis that cellserver does not have, being a limiter. A word that begins with @ stands for
// all commands of that category in Redis, and a container for its subcommands too.
var absentCommands = []struct{ commands, reason string }{
	{"@hash @list @set @sortedset @stream @bitmap @hyperloglog @geo", "a key holds a TAT and nothing else"},
	{"append decr decrby incr incrby incrbyfloat lcs setrange", "they make something of a value that is no TAT"},
	{"function fcall fcall_ro", "a limiter's scripts are short enough for EVAL"},
	{"replconf psync sync failover", "there is no replication yet"},
	{"cluster restore-asking migrate", "there is no cluster yet; CLUSTER itself says so"},
	{"module|load module|loadex module|unload", "the commands of redis-cell are built in, and there are no other modules"},
	{"script|debug", "there is no debugger for scripts"},
}

// TestAbsentCommandsAreDocumented: R-36 lists the words of absentCommands, in that order.
func TestAbsentCommandsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/COMPATIBILITY.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, row := range absentCommands {
		for word := range strings.FieldsSeq(row.commands) {
			if !strings.HasPrefix(word, "@") {
				word = strings.ReplaceAll(strings.ToUpper(word), "|", " ")
			}
			names = append(names, word)
		}
	}
	_, row, _ := strings.Cut(string(text), "\n| R-36 |")
	row, _, _ = strings.Cut(row, "\n")
	if want := ": " + strings.Join(names, ", ") + " |"; !strings.Contains(row, want) {
		t.Errorf("docs/COMPATIBILITY.md, R-36: %s\ndoes not say%s", row, want)
	}
}

// TestAbsentCommands: what Redis has and cellserver has not is listed with its reason, and nothing else is.
func TestAbsentCommands(t *testing.T) {
	ctx := context.Background()
	d := startDuel(t, nil, nil)
	list := func(server rival, filter ...any) (names []string) {
		client := redis.NewClient(&redis.Options{Addr: server.address})
		defer client.Close()
		names, err := client.Do(ctx, append([]any{"COMMAND", "LIST"}, filter...)...).StringSlice()
		if err != nil {
			t.Fatal(server.name, err)
		}
		return names
	}
	absent := map[string]bool{}
	for _, row := range absentCommands {
		for word := range strings.FieldsSeq(row.commands) {
			if category, isCategory := strings.CutPrefix(word, "@"); isCategory {
				for _, name := range list(d.redis, "FILTERBY", "ACLCAT", category) {
					container, _, _ := strings.Cut(name, "|")
					absent[container] = true
				}
			} else {
				absent[word] = true
			}
		}
	}
	own := list(d.cell)
	for _, name := range list(d.redis) {
		container, _, _ := strings.Cut(name, "|")
		switch has, listed := slices.Contains(own, name), absent[container] || absent[name]; {
		case has && listed && name != "cluster":
			t.Errorf("%s is there: take it off the list", name)
		case !has && !listed:
			t.Errorf("%s is missing", name)
		}
	}
}
