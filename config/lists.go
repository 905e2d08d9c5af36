package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cellserver/cellserver/internal/cores"
	"github.com/cellserver/cellserver/resp"
)

// This file has the kinds of the directives that take several words, and those whose value or bounds depend on the machine or on this server.

// maxBindAddresses is how many addresses bind takes, as in Redis.
const maxBindAddresses = 16

// addresses are those of bind.
type addresses struct{ list }

func (addresses) parse(_ string, words []string) (string, error) {
	words = split(words)
	if len(words) > maxBindAddresses {
		return "", errors.New("Too many bind addresses specified.")
	}
	return strings.Join(words, " "), nil
}

func (addresses) lines(text string) []string {
	if text == "" {
		return []string{`""`}
	}
	return []string{text}
}

// savePoints are pairs of seconds and changes. One empty word means no pairs.
type savePoints struct{ list }

func (savePoints) parse(_ string, words []string) (string, error) {
	if len(words) == 0 {
		return "", errArity
	}
	words = split(words)
	if len(words)%2 != 0 {
		return "", errors.New("Invalid save parameters")
	}
	for i, word := range words {
		n, ok := resp.ParseRedisInt([]byte(word))
		if !ok || n < 0 || n == 0 && i%2 == 0 {
			return "", errors.New("Invalid save parameters")
		}
	}
	return strings.Join(words, " "), nil
}

func (savePoints) lines(text string) []string {
	words := strings.Fields(text)
	if len(words) == 0 {
		return []string{`""`}
	}
	var lines []string
	for i := 0; i < len(words); i += 2 {
		lines = append(lines, words[i]+" "+words[i+1])
	}
	return lines
}

// outputClasses are the classes of client-output-buffer-limit in their order. CONFIG GET calls the second slave.
var outputClasses = [...]string{"normal", "slave", "pubsub"}

// outputLimits are groups of four words: class, hard limit, soft limit, seconds. Classes that aren't named stay as they
// are.
type outputLimits struct{ list }

func (outputLimits) parse(current string, words []string) (string, error) {
	words = split(words)
	if len(words)%4 != 0 {
		return "", errors.New("Wrong number of arguments in buffer limit configuration.")
	}
	limits := strings.Fields(current)
	for ; len(words) > 0; words = words[4:] {
		class := 0
		for class < len(outputClasses) && !strings.EqualFold(outputClasses[class], words[0]) {
			class++
		}
		if strings.EqualFold(words[0], "replica") {
			class = 1
		}
		if class == len(outputClasses) {
			return "", errors.New("Invalid client class specified in buffer limit configuration.")
		}
		hard, hardOK := parseBytes(words[1])
		soft, softOK := parseBytes(words[2])
		seconds, secondsOK := resp.ParseRedisInt([]byte(words[3]))
		if !hardOK || !softOK || !secondsOK || seconds < 0 {
			return "", errors.New("Error in hard, soft or soft_seconds setting in buffer limit configuration.")
		}
		copy(limits[4*class+1:], strings.Fields(fmt.Sprint(hard, soft, seconds)))
	}
	return strings.Join(limits, " "), nil
}

func (outputLimits) lines(text string) []string {
	var lines []string
	for words := strings.Fields(text); len(words) > 0; words = words[4:] {
		class := words[0]
		if class == "slave" {
			class = "replica"
		}
		lines = append(lines, strings.Join([]string{class, spellBytes(words[1]), spellBytes(words[2]), words[3]}, " "))
	}
	return lines
}

// percentiles are numbers from 0 to 100. One empty word means no numbers.
type percentiles struct{ list }

func (percentiles) parse(_ string, words []string) (string, error) {
	var texts []string
	for _, word := range split(words) {
		number, err := strconv.ParseFloat(word, 64)
		if err != nil || number != number {
			return "", errors.New("Invalid latency-tracking-info-percentiles parameters")
		}
		if number < 0 || number > 100 {
			return "", errors.New("latency-tracking-info-percentiles parameters should sit between [0.0,100.0]")
		}
		texts = append(texts, strconv.FormatFloat(number, 'f', -1, 64))
	}
	return strings.Join(texts, " "), nil
}

func (percentiles) lines(text string) []string {
	if text == "" {
		return []string{`""`}
	}
	return []string{text}
}

// oomScores are the three of oom-score-adj-values.
type oomScores struct{ list }

func (oomScores) parse(_ string, words []string) (string, error) {
	words = split(words)
	if len(words) != 3 {
		return "", errArity
	}
	for _, word := range words {
		if n, ok := resp.ParseRedisInt([]byte(word)); !ok || n < -2000 || n > 2000 {
			return "", errors.New("Invalid oom-score-adj-values, elements must be between -2000 and 2000.")
		}
	}
	return strings.Join(words, " "), nil
}

func (oomScores) lines(text string) []string { return []string{text} }

// Classes of keyspace events in the order in which Redis shows them. A stands for all of the first list.
const (
	keyEvents   = "g$lshzxetd"
	otherEvents = "KEmn"
	laterEvents = "ocraSTIV" // of Redis 8, which A does not stand for
)

// events are the letters of notify-keyspace-events.
type events struct{}

func (events) parse(_ string, words []string) (string, error) {
	word, err := one(words)
	if err != nil {
		return "", err
	}
	if rest := strings.Trim(word, "A"+keyEvents+otherEvents+laterEvents); rest != "" {
		return "", errors.New("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")
	}
	word = strings.ReplaceAll(word, "A", keyEvents)
	keep := func(list string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(word, r) {
				return r
			}
			return -1
		}, list)
	}
	keys := keep(keyEvents)
	if keys == keyEvents {
		keys = "A"
	}
	return keys + keep(otherEvents+laterEvents), nil
}

func (events) lines(text string) []string { return []string{Quote(text)} }

// directory is one that exists, as an absolute path.
type directory struct{}

func (directory) parse(_ string, words []string) (string, error) {
	word, err := one(words)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(word)
	switch {
	case word == "" || errors.Is(err, os.ErrNotExist):
		return "", errors.New("No such file or directory")
	case err != nil:
		return "", cause(err)
	case !info.IsDir():
		return "", errors.New("Not a directory")
	}
	return filepath.Abs(word)
}

func (directory) lines(text string) []string { return []string{Quote(text)} }

// maxShards is the most event loops that one server runs: SCAN cursors carry the shard's number in 8 bits.
const maxShards = 256

// shardCount is a number of event loops; 0 stands for half of the cores, or of the control group's CPU quota where that is less:
// the kernel's network stack, the garbage collector and the log need the other half.
type shardCount struct{ integer }

func (k shardCount) parse(current string, words []string) (string, error) {
	n, err := k.integer.parse(current, words)
	if n == "0" {
		n = strconv.Itoa(halfOf(cores.Available()))
	}
	return n, err
}

// halfOf returns how many event loops to run on this many cores.
func halfOf(available float64) int { return min(max(1, int(available/2)), maxShards) }

// MaxDatabases is how many databases a server has at most: as many as Redis has unless told otherwise.
const MaxDatabases = 16

// databaseCount is a number of databases.
type databaseCount struct{ integer }

func (k databaseCount) parse(current string, words []string) (string, error) {
	n, err := k.integer.parse(current, words)
	if err == nil && integerOf(n) > MaxDatabases {
		return "", fmt.Errorf("cellserver has at most %d databases", MaxDatabases)
	}
	return n, err
}
