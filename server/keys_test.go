package server

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cellserver/cellserver/internal/realredis"
)

// keyCommands are all commands with keys that Redis has too, by name, with how a call of each may begin.
func keyCommands(s *Server) (commands [][]string) {
	for _, c := range s.commands.all {
		if (c.keys.step == 0 && c.countedAt == 0) || c.has("module") {
			continue
		}
		words := []string{c.name}
		if c.container != "" {
			words = []string{c.container, c.name}
		}
		commands = append(commands, words)
	}
	return commands
}

// TestRedisAgreesOnKeys: of all commands with keys, those of scripts among them, with random words, Redis names the same keys
// (COMMAND GETKEYS and GETKEYSANDFLAGS) and allows the same to users with random patterns (ACL DRYRUN).
func TestRedisAgreesOnKeys(t *testing.T) {
	theirs := dialTo(t, "tcp", realredis.Start(t).Address)
	s := startServer(t, nil)
	ours := dial(t, s)
	for _, c := range []*client{theirs, ours} {
		_ = c.SetDeadline(time.Now().Add(5 * patience))
	}
	commands := keyCommands(s)
	for _, name := range []string{"eval", "evalsha_ro", "watch", "ssubscribe", "object encoding", "memory usage", "copy"} {
		if !slices.ContainsFunc(commands, func(words []string) bool { return strings.Join(words, " ") == name }) {
			t.Errorf("%s is not among the commands with keys", name)
		}
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	pick := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	rounds := 40
	if heavy {
		rounds = 2000
	}
	for range rounds {
		rules := []string{"ACL", "SETUSER", "u", "reset", "on", "nopass", "+@all"}
		for random.IntN(4) > 0 {
			rules = append(rules, pick("~a*", "%R~b*", "%W~c*", "%RW~d*", "~1", "%R~GET", "allkeys", "-get", "-eval", "(+@read ~c*)", "(+eval +set %W~b*)", "(+@all %R~*)", "&a*"))
		}
		if got, want := ours.do(rules...), theirs.do(rules...); got != want {
			t.Fatalf("seed %d: %q\n got %s\nwant %s", seed, rules, got, want)
		}
		for _, words := range commands {
			call := slices.Clone(words)
			for range random.IntN(7) {
				call = append(call, pick("a1", "a2", "b1", "c1", "d1", "e1", "GET", "0", "1", "2", "3", "-1", "x", "9223372036854775808"))
			}
			for _, ask := range [][]string{{"COMMAND", "GETKEYS"}, {"COMMAND", "GETKEYSANDFLAGS"}, {"ACL", "DRYRUN", "u"}} {
				ask = append(ask, call...)
				if got, want := ours.do(ask...), theirs.do(ask...); got != want {
					t.Fatalf("seed %d: %q, %q\n got %s\nwant %s", seed, rules, ask, got, want)
				}
			}
		}
	}
}
