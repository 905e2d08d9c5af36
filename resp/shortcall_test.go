package resp

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// asThrottle says what NextThrottle should find in input: what Next does, if that is a call in the short form.
func asThrottle(input []byte, limits Limits) string {
	parser := Parser{Limits: limits}
	words, n, err := parser.Next(input, nil)
	if err != nil || len(words) < 5 || len(words) > 6 || !bytes.EqualFold(words[0], []byte("CL.THROTTLE")) || len(words[1]) > 999 {
		return "none"
	}
	integers := [4]int64{3: 1}
	for i, word := range words[2:] {
		integer, ok := ParseInt(word)
		if !ok || len(word) > 8 || word[0] == '+' || word[0] == '-' {
			return "none"
		}
		integers[i] = integer
	}
	written := fmt.Appendf(nil, "*%d\r\n", len(words))
	anything := func(count int) { // as Next does not look at what ends an argument
		written = append(written, input[min(len(written), n):min(len(written)+count, n)]...)
	}
	for i, word := range words {
		written = fmt.Appendf(written, "$%d\r", len(word))
		if i == 1 {
			anything(1)
		} else {
			written = append(written, '\n')
		}
		written = append(written, word...)
		if i == 0 {
			written = append(written, "\r\n"...)
		} else {
			anything(2)
		}
	}
	if !bytes.Equal(written, input[:n]) { // blank commands before it, or lines with other ends
		return "none"
	}
	return fmt.Sprint(string(words[1]), integers, n)
}

// nextThrottle says what NextThrottle finds in input, where that is a part of a larger buffer.
func nextThrottle(input []byte, limits Limits) string {
	parser := Parser{Limits: limits}
	input = append(bytes.Clone(input), "\r\n99999999\r\n$1\r\n1\r\n"...)[:len(input)]
	var integers [4]int64
	key, n := parser.NextThrottle(input, &integers)
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(string(key), integers, n)
}

func throttle(words ...string) string {
	words = append([]string{"CL.THROTTLE"}, words...)
	text := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	return text
}

var shortCalls = []string{
	throttle("user123", "15", "30", "60"),
	throttle("user123", "15", "30", "60", "2"),
	throttle("", "0", "1", "1"),
	throttle("k", "99999999", "007", "00000000", "0"),
	throttle(strings.Repeat("k", 99), "1", "2", "3"),
	throttle(strings.Repeat("k", 100), "1", "2", "3"),
	throttle(strings.Repeat("k", 999), "1", "2", "3"),
	strings.Replace(throttle("\r\n$1\r\n", "15", "30", "60"), "CL.THROTTLE", "cl.Throttle", 1),
	throttle("a", "1", "2", "3") + throttle("b", "4", "5", "6", "7"),
	strings.Replace(throttle("k", "1", "2", "3"), "k\r\n", "k\rx", 1),
	strings.Replace(throttle("k", "1", "2", "3"), "3\r\n", "3x\n", 1),
}

var otherCalls = []string{
	"",
	"*6\r\n",
	"CL.THROTTLE user123 15 30 60\r\n",
	"\r\n" + throttle("user123", "15", "30", "60"),
	throttle(),
	throttle("user123", "15", "30"),
	throttle("user123", "15", "30", "60", "2", "3"),
	throttle(strings.Repeat("k", 1000), "1", "2", "3"),
	strings.Replace(throttle(strings.Repeat("k", 99), "1", "2", "3"), "$99", "$099", 1),
	throttle("k", "100000000", "2", "3"),
	throttle("k", "-1", "2", "3"),
	throttle("k", "1", "+2", "3"),
	throttle("k", "1", "2", ""),
	throttle("k", "1", "2", "3", "4x"),
	throttle("k", "1", "2", "3", "4/"),
	throttle("k", "1", "2", "3", "4:"),
	strings.Replace(throttle("k", "1", "2", "3"), "$1\r\nk", "$01\r\nk", 1),
	strings.Replace(throttle("k", "1", "2", "3"), "$1\r\n3", "$1\rx3", 1),
	strings.Replace(throttle("k", "1", "2", "3"), "CL.THROTTLE", "CL\x0eTHROTTLE", 1),
	strings.Replace(throttle("k", "1", "2", "3"), "*5", "*4", 1),
	strings.Replace(throttle("k", "1", "2", "3"), "*5", "*7", 1),
}

// NextThrottle takes a call as Next does, or leaves it.
func TestNextThrottle(t *testing.T) {
	limits := DefaultLimits()
	for _, input := range shortCalls {
		if got, want := nextThrottle([]byte(input), limits), asThrottle([]byte(input), limits); got != want || got == "none" {
			t.Errorf("%.80q: %s, want %s", input, got, want)
		}
	}
	for _, input := range otherCalls {
		if got := nextThrottle([]byte(input), limits); got != "none" {
			t.Errorf("%.80q: %s, want none", input, got)
		}
	}
	// Every cut and every changed byte of every input.
	for _, input := range append(shortCalls, otherCalls...) {
		if len(input) > 200 {
			continue // a key of 100 bytes shows the same in less time
		}
		for i := range len(input) {
			if got, want := nextThrottle([]byte(input[:i]), limits), asThrottle([]byte(input[:i]), limits); got != want {
				t.Errorf("%.80q cut at %d: %s, want %s", input, i, got, want)
			}
			for change := range 256 {
				changed := []byte(input)
				changed[i] = byte(change)
				if got, want := nextThrottle(changed, limits), asThrottle(changed, limits); got != want {
					t.Errorf("%.80q: %s, want %s", changed, got, want)
				}
			}
		}
	}
}

// Where the buffer ends soon after the call, it is left to Next.
func TestNextThrottleAtTheEndOfTheBuffer(t *testing.T) {
	input := []byte(throttle("k", "1", "2", "3"))
	longest := len("$8\r\n12345678\r\n") - len("$1\r\n3\r\n")
	for spare := range longest + 1 {
		buf := append(bytes.Clone(input), make([]byte, spare)...)[: len(input) : len(input)+spare]
		parser := Parser{Limits: DefaultLimits()}
		_, n := parser.NextThrottle(buf, new([4]int64))
		if taken := n == len(input); taken != (spare == longest) {
			t.Errorf("with %d bytes to spare it takes %d of %d", spare, n, len(input))
		}
	}
}

// A command that has begun, and limits that not every short call keeps, are for Next.
func TestNextThrottleStandsBack(t *testing.T) {
	call := []byte(throttle("user123", "15", "30", "60"))
	parser := Parser{Limits: DefaultLimits()}
	if _, _, err := parser.Next(call[:10], nil); err != ErrIncomplete {
		t.Fatal(err)
	}
	if _, n := parser.NextThrottle(call, new([4]int64)); n != 0 {
		t.Error("took a command that Next has begun")
	}
	for name, limits := range map[string]Limits{
		"unauthenticated": UnauthenticatedLimits(),
		"few arguments":   {MaxArgs: 5, MaxBulkBytes: DefaultMaxBulkBytes},
		"short arguments": {MaxArgs: DefaultMaxArgs, MaxBulkBytes: 998},
	} {
		if got := nextThrottle(call, limits); got != "none" {
			t.Errorf("%s: took %s", name, got)
		}
	}
}

func FuzzNextThrottle(f *testing.F) {
	for _, input := range append(shortCalls, otherCalls...) {
		f.Add([]byte(input))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if got, want := nextThrottle(input, DefaultLimits()), asThrottle(input, DefaultLimits()); got != want {
			t.Errorf("%.200q: %s, want %s", input, got, want)
		}
	})
}
