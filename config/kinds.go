package config

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/cellserver/cellserver/resp"
)

// A kind says what the words of a directive must be, and how its value is spelled. A value's text is what CONFIG GET shows.
type kind interface {
	// parse checks the words given for a directive whose value is current, and returns the new value's text. Errors have
	// Redis's words where Redis has the same rule.
	parse(current string, words []string) (text string, err error)
	// lines returns a value as a file spells it: the words of each line.
	lines(text string) []string
}

// severalWords is a kind whose words may be given as one, too: save "60 1". In a file and on the command line quotes within that one
// word count: --save '""' is what a shell's user or a YAML file may make of save "".
type severalWords interface {
	kind
	several()
}

// list makes a kind one of several words.
type list struct{}

func (list) several() {}

var errArity = errors.New("wrong number of arguments")

func one(words []string) (string, error) {
	if len(words) != 1 {
		return "", errArity
	}
	return words[0], nil
}

// boolean is yes or no.
type boolean struct{}

func (boolean) parse(_ string, words []string) (string, error) {
	word, err := one(words)
	if err != nil {
		return "", err
	}
	word = strings.ToLower(word)
	if word != "yes" && word != "no" {
		return "", errors.New("argument must be 'yes' or 'no'")
	}
	return word, nil
}

func (boolean) lines(text string) []string { return []string{text} }

// integer is a number within bounds, in Redis's one spelling.
type integer struct{ least, most int64 }

func (k integer) parse(_ string, words []string) (string, error) {
	word, err := one(words)
	if err != nil {
		return "", err
	}
	n, ok := resp.ParseRedisInt([]byte(word))
	if !ok {
		return "", errors.New("argument couldn't be parsed into an integer")
	}
	return k.within(n)
}

func (k integer) within(n int64) (string, error) {
	if n < k.least || n > k.most {
		return "", fmt.Errorf("argument must be between %d and %d inclusive", k.least, k.most)
	}
	return strconv.FormatInt(n, 10), nil
}

func (integer) lines(text string) []string { return []string{text} }

// permissions are a file's, in octal.
type permissions struct{}

func (permissions) parse(_ string, words []string) (string, error) {
	word, err := one(words)
	if err != nil {
		return "", err
	}
	n, err := strconv.ParseUint(word, 8, 31)
	if err != nil {
		return "", errors.New("argument couldn't be parsed as an octal number")
	}
	if n > 0o777 {
		return "", errors.New("argument must be between 0 and 777 inclusive")
	}
	return strconv.FormatUint(n, 8), nil
}

func (permissions) lines(text string) []string { return []string{text} }

// memory is a number of bytes, given with a unit or without; percent allows shares of maxmemory as well.
type memory struct {
	least   int64
	percent bool
}

func (k memory) parse(_ string, words []string) (string, error) {
	word, err := one(words)
	if err != nil {
		return "", err
	}
	if share, isShare := strings.CutSuffix(word, "%"); isShare && k.percent {
		n, ok := resp.ParseRedisInt([]byte(share))
		switch {
		case !ok || n < 0:
			return "", errors.New("argument must be a memory or percent value")
		case n > 100:
			return "", errors.New("percentage argument must be less or equal to 100")
		}
		return word, nil
	}
	n, ok := parseBytes(word)
	switch {
	case !ok && k.percent:
		return "", errors.New("argument must be a memory or percent value")
	case !ok:
		return "", errors.New("argument must be a memory value")
	}
	return integer{k.least, math.MaxInt64}.within(n)
}

func (memory) lines(text string) []string { return []string{spellBytes(text)} }

// units are those of sizes, the longer names first.
var units = []struct {
	name  string
	bytes uint64
}{{"gb", 1 << 30}, {"mb", 1 << 20}, {"kb", 1 << 10}, {"g", 1e9}, {"m", 1e6}, {"k", 1e3}, {"b", 1}}

// parseBytes reads a size: "100", "1k", "1GB". An empty number is 0, as in Redis.
func parseBytes(word string) (n int64, ok bool) {
	digits, factor := strings.ToLower(word), uint64(1)
	for _, unit := range units {
		if rest, found := strings.CutSuffix(digits, unit.name); found {
			digits, factor = rest, unit.bytes
			break
		}
	}
	if digits == "" {
		return 0, true
	}
	u, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, false
	}
	high, low := bits.Mul64(u, factor)
	return int64(low), high == 0 && low <= math.MaxInt64
}

// spellBytes writes a size with the largest unit that leaves a whole number. It leaves a text that is not a number as
// it is.
func spellBytes(text string) string {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 {
		return text
	}
	for _, unit := range units[:3] {
		if n%unit.bytes == 0 {
			return strconv.FormatUint(n/unit.bytes, 10) + unit.name
		}
	}
	return text
}

// choice is one of some words.
type choice []string

func (k choice) parse(_ string, words []string) (string, error) {
	word, err := one(words)
	if err != nil {
		return "", err
	}
	for _, each := range k {
		if strings.EqualFold(each, word) {
			return each, nil
		}
	}
	return "", k.refusal()
}

func (k choice) refusal() error {
	return errors.New("argument(s) must be one of the following: " + strings.Join(k, ", "))
}

func (choice) lines(text string) []string { return []string{text} }

// widened is a choice to which later versions have added words. Errors list those of Redis 7.0.
type widened struct {
	choice
	more choice
}

func (k widened) parse(current string, words []string) (string, error) {
	text, err := k.choice.parse(current, words)
	if err == nil {
		return text, nil
	}
	if text, later := k.more.parse(current, words); later == nil {
		return text, nil
	}
	return "", err
}

// flags are any number of some words; the first word stands for none. They are shown in the order of the list.
type flags struct {
	choice, more choice
	apart        [2]string // may not be given both
	reason       string
}

func (k flags) parse(current string, words []string) (string, error) {
	chosen := make(map[string]bool)
	words = split(words)
	for _, word := range words {
		each, err := widened{k.choice, k.more}.parse(current, []string{word})
		if err != nil {
			return "", err
		}
		chosen[each] = true
	}
	if len(words) == 0 {
		return "", k.choice.refusal()
	}
	if k.reason != "" && chosen[k.apart[0]] && chosen[k.apart[1]] {
		return "", errors.New(k.reason)
	}
	var texts []string
	for _, each := range slices.Concat(k.choice[1:], k.more) {
		if chosen[each] {
			texts = append(texts, each)
		}
	}
	if texts == nil {
		return k.choice[0], nil
	}
	return strings.Join(texts, " "), nil
}

func (flags) several() {}

func (flags) lines(text string) []string { return []string{text} }

// text is any word, or one that check accepts.
type text struct {
	check func(word string) error
}

func (k text) parse(_ string, words []string) (string, error) {
	word, err := one(words)
	if err == nil && k.check != nil {
		err = k.check(word)
	}
	return word, err
}

func (text) lines(text string) []string { return []string{Quote(text)} }

// fileName checks the name of a file in a directory of its own; what is the directive's name in errors.
func fileName(what, noun string) text {
	return text{check: func(word string) error {
		switch {
		case word == "":
			return fmt.Errorf("%s can't be empty", what)
		case strings.ContainsAny(word, `/\`):
			return fmt.Errorf("%s can't be a path, just a %s", what, noun)
		}
		return nil
	}}
}

// only is a directive with a single value that is true of this server; any other would be a promise not kept.
type only struct{ value, reason string }

func (k only) parse(_ string, words []string) (string, error) {
	if !strings.EqualFold(strings.Join(split(words), " "), k.value) {
		return "", errors.New(k.reason)
	}
	return k.value, nil
}

func (only) lines(text string) []string { return []string{Quote(text)} }

// noReplica is replicaof: "no one", or nothing.
type noReplica struct{}

func (noReplica) parse(_ string, words []string) (string, error) {
	switch words = split(words); {
	case len(words) == 0:
		return "", nil
	case len(words) != 2:
		return "", errArity
	case strings.EqualFold(words[0], "no") && strings.EqualFold(words[1], "one"):
		return "", nil
	}
	return "", errors.New("replication is not implemented")
}

func (noReplica) lines(text string) []string { return []string{Quote(text)} }

// split cuts a single word at its spaces: directives of several words take them as one, too.
func split(words []string) []string {
	if len(words) == 1 {
		return strings.Fields(words[0])
	}
	return words
}

// Quote spells a word so that resp.SplitArgs reads it back.
func Quote(word string) string {
	b := []byte{'"'}
	for i := range len(word) {
		switch c := word[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ' || c > '~':
			b = fmt.Appendf(b, `\x%02x`, c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}
