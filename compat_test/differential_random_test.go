package compat_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// randomSteps is the length of one random sequence. A longer one seldom finds more and takes longer to shrink.
const randomSteps = 300

// shrinkRuns is how often a sequence that shows a difference is run again with parts left out.
const shrinkRuns = 300

// TestDifferentialRandom sends random commands over several connections to each server. CELLSERVER_SEED repeats a run.
func TestDifferentialRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text, given := os.LookupEnv("CELLSERVER_SEED"); given {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("CELLSERVER_SEED=%d", seed)
	commands := 6_000
	if heavy {
		commands = 300_000
	}
	for i, frontEnd := range frontEnds {
		t.Run("io"+strings.Join(frontEnd, ""), func(t *testing.T) {
			d := startDuel(t, append(slices.Clone(frontEnd), "--shards", "3"), nil)
			for number := range commands / len(frontEnds) / randomSteps {
				g := grammar{rand.New(rand.NewPCG(seed, uint64(number*len(frontEnds)+i)))}
				s := sequence{steps: g.steps(randomSteps), pipelined: true, resp3: g.oneIn(2)}
				if differences, _ := d.fight(s); len(differences) > 0 {
					t.Fatalf("sequence %d\n%s\n%s", number, strings.Join(differences, "\n"), d.shrink(t, s))
				}
				d.clean(t)
			}
		})
	}
}

// shrink leaves out of a sequence what it can while the servers still differ, and returns the rest with what differs.
func (d *duel) shrink(t *testing.T, s sequence) string {
	differ := func(s sequence) []string {
		d.clean(t)
		differences, _ := d.fight(s)
		return differences
	}
	found := differ(s)
	if len(found) == 0 {
		return "differs no more when it is run again:\n" + s.String()
	}
	for chunk, runs := len(s.steps)/2, 0; chunk > 0 && runs < shrinkRuns; chunk /= 2 {
		for from := 0; from < len(s.steps) && runs < shrinkRuns; runs++ {
			shorter := s
			shorter.steps = slices.Delete(slices.Clone(s.steps), from, min(from+chunk, len(s.steps)))
			if differences := differ(shorter); len(differences) > 0 {
				s, found = shorter, differences
			} else {
				from += chunk
			}
		}
	}
	return s.String() + strings.Join(found, "\n")
}

// String is the sequence as a file of testdata/differential has it.
func (s sequence) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "HELLO 3: %v\n", s.resp3)
	for _, step := range s.steps {
		fmt.Fprintln(&b, step.line)
	}
	return b.String()
}

// A grammar makes up commands. Each gets exactly one reply, and keys hold TATs with their own expiry.
type grammar struct{ *rand.Rand }

func (g grammar) oneIn(n int) bool { return g.IntN(n) == 0 }

func (g grammar) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

// steps are n commands on a few connections, each of which goes on for a while.
func (g grammar) steps(n int) (steps []step) {
	for len(steps) < n {
		conn := g.pick("a", "b", "c")
		for range 1 + g.IntN(12) {
			words := g.command()
			quoted := make([]string, len(words))
			for i, word := range words {
				quoted[i] = quoteWord(word)
			}
			steps = append(steps, step{line: conn + ": " + strings.Join(quoted, " "), conn: conn, words: words, replies: 1})
		}
	}
	return steps[:n]
}

// quoteWord writes a word so that splitWords gives it back.
func quoteWord(word string) string {
	isPlain := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"'\`, r) }
	if word != "" && !strings.ContainsFunc(word, isPlain) {
		return word
	}
	return strconv.Quote(word)
}

func (g grammar) key() string {
	return g.pick("k1", "k2", "k3", "k4", "k5", "k6", "", "\x00\n")
}

func (g grammar) keys() (keys []string) {
	for range 1 + g.IntN(4) {
		keys = append(keys, g.key())
	}
	return keys
}

func (g grammar) database() string { return g.pick("0", "0", "1", "2") }

func (g grammar) tat() string { return fmt.Sprintf("{%d}", 1+g.IntN(9)) }

// inAnyCase changes some letters of a command's name.
func (g grammar) inAnyCase(word string) string {
	switch g.IntN(8) {
	case 0:
		return strings.ToLower(word)
	case 1:
		return word[:1] + strings.ToLower(word[1:])
	}
	return word
}

// command makes up one command. One in ten of those for which that is safe is spoiled.
func (g grammar) command() []string {
	feature := g.IntN(100)
	var words []string
	var spoilable bool
	switch {
	case feature < 35:
		words, spoilable = g.write()
	case feature < 65:
		words, spoilable = g.read(), true
	case feature < 75:
		words, spoilable = g.connection(), true
	case feature < 95:
		words = g.transaction()
	default:
		words = g.script()
	}
	words[0] = g.inAnyCase(words[0])
	if spoilable && g.oneIn(10) {
		words = g.spoil(words)
	}
	return words
}

func (g grammar) write() (words []string, spoilable bool) {
	switch g.IntN(16) {
	case 0, 1, 2, 3, 4:
		return g.set(), false
	case 13:
		return g.setUntilTAT(), false
	case 14:
		return []string{g.pick("GETDEL", "GETEX"), g.key()}, true
	case 5:
		return append([]string{"DEL"}, g.keys()...), true
	case 6:
		return append([]string{"UNLINK"}, g.keys()...), true
	case 7:
		return []string{"RENAME", g.key(), g.key()}, true
	case 8:
		return []string{"RENAMENX", g.key(), g.key()}, true
	case 9:
		words := []string{"COPY", g.key(), g.key()}
		if g.oneIn(2) {
			words = append(words, "REPLACE")
		}
		if g.oneIn(2) {
			words = append(words, "DB", g.database())
		}
		return words, true
	case 10:
		words := []string{g.pick("EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"), g.key(), g.pick("0", "-1", "-9223372036854775808")}
		for g.oneIn(2) {
			words = append(words, g.pick("NX", "XX", "GT", "LT", "nx", "gt"))
		}
		return words, true
	case 11:
		return []string{"SWAPDB", g.database(), g.database()}, true
	case 12:
		if g.oneIn(4) {
			return []string{g.pick("FLUSHDB", "FLUSHALL"), g.pick("SYNC", "ASYNC", "x")}, true
		}
		return []string{"FLUSHDB"}, true
	}
	return []string{"SELECT", g.database()}, true
}

// set is a SET that gives a key a TAT or fails. With a TAT that has passed DBSIZE would differ: Redis counts the key until it
// comes across it.
func (g grammar) set() []string {
	words := []string{"SET", g.key(), g.tat()}
	for g.oneIn(3) {
		words = append(words, g.pick("NX", "XX", "GET", "nx", "xx", "get"))
	}
	if g.oneIn(12) {
		words = append(words, g.pick("x", "EX", "KEEPTTL", "PXAT", "\x00"))
	}
	return words
}

// setUntilTAT gives keys that Redis would let live for ever the expiry that they have here, and fails where that can't be said.
func (g grammar) setUntilTAT() []string {
	switch g.IntN(6) {
	case 0:
		return []string{"SETEX", g.key(), g.pick("0", "-1", "x"), "{v1}"}
	case 1:
		return append([]string{g.pick("MSET", "MSETNX")}, g.key(), "{v1}", g.key())
	}
	number := fmt.Sprint(1 + g.IntN(9))
	write := g.pick("'SETNX',KEYS[1],ARGV[1]", "'GETSET',KEYS[1],ARGV[1]", "'MSET',KEYS[1],ARGV[1]", "'MSETNX',KEYS[1],ARGV[1]")
	_, millis := farTAT(int(number[0] - '0'))
	return []string{"EVAL", "local r=redis.call(" + write + ") if r ~= 0 then redis.call('PEXPIREAT',KEYS[1],ARGV[2]) end return r", "1", g.key(), "{v" + number + "}", millis}
}

func (g grammar) read() []string {
	switch g.IntN(14) {
	case 0, 1, 2:
		return []string{"GET", g.key()}
	case 3:
		return append([]string{"MGET"}, g.keys()...)
	case 4:
		return append([]string{g.pick("EXISTS", "TOUCH")}, g.keys()...)
	case 5:
		return []string{g.pick("TYPE", "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"), g.key()}
	case 6:
		return []string{"DBSIZE"}
	case 7:
		return []string{"KEYS", g.pick("*", "k*", "k?", "k[1-3]", "k[^2]", "\\k1", "", "[", "k[", "k**", "?", "k[a-")}
	case 8:
		return []string{"OBJECT", g.pick("ENCODING", "REFCOUNT"), g.key()}
	case 9:
		return []string{"COMMAND", "GETKEYS", g.pick("GET", "MGET", "SET", "RENAME", "COPY"), g.key(), g.key()}
	case 10:
		return []string{"MEMORY", "USAGE", g.key()}
	case 11:
		return []string{"STRLEN", g.key()}
	case 12:
		return []string{g.pick("GETRANGE", "SUBSTR"), g.key(), fmt.Sprint(g.IntN(50) - 25), fmt.Sprint(g.IntN(50) - 25)}
	}
	return []string{"ECHO", g.key()}
}

func (g grammar) connection() []string {
	switch g.IntN(8) {
	case 0:
		return []string{"PING"}
	case 1:
		return []string{"CLIENT", "SETNAME", g.pick("joe", "jim", "", "a b")}
	case 2:
		return []string{"CLIENT", "GETNAME"}
	case 3:
		return []string{"HELLO", g.pick("2", "3", "4")}
	case 4:
		return []string{"HELLO", g.pick("2", "3"), "SETNAME", g.pick("joe", "a b")}
	case 5:
		return []string{"RESET"}
	case 6:
		return []string{"NOSUCH", g.key()}
	}
	return []string{"AUTH", g.pick("default", "nobody"), "x"}
}

func (g grammar) transaction() []string {
	switch g.IntN(10) {
	case 0, 1, 2:
		return []string{"MULTI"}
	case 3, 4, 5:
		return []string{"EXEC"}
	case 6:
		return []string{"DISCARD"}
	case 7, 8:
		return append([]string{"WATCH"}, g.keys()...)
	}
	return []string{"UNWATCH"}
}

func (g grammar) script() []string {
	switch g.IntN(8) {
	case 0:
		return []string{"EVAL", "return redis.call('GET',KEYS[1])", "1", g.key()}
	case 1:
		return []string{"EVAL", "return redis.call('SET',KEYS[1],ARGV[1],ARGV[2],ARGV[3])", "1", g.key(), g.tat()}
	case 2:
		return []string{"EVAL", "return {redis.call('DEL',KEYS[1],KEYS[2]), redis.pcall('SELECT',ARGV[1])}", "2", g.key(), g.key(), g.pick("0", "1", "16", "x")}
	case 3:
		return []string{"EVAL", "for i,k in ipairs(KEYS) do redis.call('RENAME',k,ARGV[1]) end return #KEYS", "2", g.key(), g.key(), g.key()}
	case 4:
		return []string{"EVALSHA", g.pick("e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "E0E1F9FABFC9D4800C877A703B823AC0578FF8DB"), g.pick("0", "1", "-1", "x")}
	case 5:
		return []string{"SCRIPT", "LOAD", "return 1"}
	case 6:
		return []string{"SCRIPT", g.pick("FLUSH", "EXISTS"), g.pick("SYNC", "ASYNC", "x", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db")}
	}
	return []string{"EVAL", g.pick("return ARGV", "return #ARGV", "return {1,{2,nil,3},'x'}", "return redis.error_reply(ARGV[1])", "return x",
		"return redis.call('nosuch')", "return {ok=ARGV[1]}", "return 3.99", "return redis.pcall('GET')"), "0", g.pick("a", "1", "0.5")}
}

// spoil drops, doubles or replaces a word. The word that takes the place of a name does not name a command of another kind.
func (g grammar) spoil(words []string) []string {
	i := g.IntN(len(words))
	switch g.IntN(3) {
	case 0:
		if i > 0 {
			return slices.Delete(words, i, i+1)
		}
		return append(words, "x")
	case 1:
		return slices.Insert(words, i, words[i])
	}
	words[i] = g.pick("", "x", "-1", "0", "9223372036854775808", "nx", "get", "*", "\x00", "1.5", "'\"\r\n")
	return words
}
