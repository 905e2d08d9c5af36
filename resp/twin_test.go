package resp

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// twinParse is the obvious parser: it has the whole input, and never stops and
// goes on. It returns what a connection's outcome is.
func twinParse(input string, limits Limits) string {
	var commands [][]string
	for {
		words, rest, err := twinCommand(input, limits)
		if err == ErrIncomplete {
			return fmt.Sprintf("%q %v", commands, nil)
		}
		if err == nil && len(words) > 0 && (strings.EqualFold(words[0], "post") || strings.EqualFold(words[0], "host:")) {
			err = ErrCrossProtocol
		}
		if err != nil {
			return fmt.Sprintf("%q %v", commands, err)
		}
		if len(words) > 0 {
			commands = append(commands, words)
		}
		input = rest
	}
}

func twinCommand(input string, limits Limits) (words []string, rest string, err error) {
	if !strings.HasPrefix(input, "*") {
		line, rest, err := twinLine(input, "\n", 1, errInlineTooBig)
		if err != nil {
			return nil, "", err
		}
		args, err := SplitArgs([]byte(line), nil)
		if err != nil {
			return nil, "", errUnbalancedQuotes
		}
		for _, arg := range args {
			words = append(words, string(arg))
		}
		return words, rest, nil
	}
	line, rest, err := twinLine(input, "\r", 2, errMultibulkTooBig)
	if err != nil {
		return nil, "", err
	}
	count, err := strconv.Atoi(line[1:])
	if err != nil || strconv.Itoa(count) != line[1:] || count > limits.MaxArgs {
		return nil, "", errMultibulkLength
	}
	if limits.Unauthenticated && count > 10 {
		return nil, "", errUnauthenticatedMultibulk
	}
	for range max(count, 0) {
		line, bulk, err := twinLine(rest, "\r", 2, errBulkTooBig)
		if err != nil {
			return nil, "", err
		}
		if !strings.HasPrefix(line, "$") {
			return nil, "", errExpectedDollar(rest[0])
		}
		length, err := strconv.Atoi(line[1:])
		if err != nil || strconv.Itoa(length) != line[1:] || length < 0 || length > limits.MaxBulkBytes {
			return nil, "", errBulkLength
		}
		if limits.Unauthenticated && length > 16384 {
			return nil, "", errUnauthenticatedBulk
		}
		if len(bulk) < length+2 {
			return nil, "", ErrIncomplete
		}
		words, rest = append(words, bulk[:length]), bulk[length+2:]
	}
	return words, rest, nil
}

func twinLine(input, end string, endBytes int, tooBig error) (line, rest string, err error) {
	line, _, found := strings.Cut(input, end)
	switch {
	case len(line) > 65536:
		return "", "", tooBig
	case !found || len(input) < len(line)+endBytes:
		return "", "", ErrIncomplete
	}
	return line, input[len(line)+endBytes:], nil
}

func TestTwin(t *testing.T) {
	for _, list := range [][]stream{streams, longStreams, tooLong} {
		for _, s := range list {
			if got := twinParse(s.input, s.limits); got != s.want() {
				t.Errorf("%s: got %.300s\nwant %.300s", s.name, got, s.want())
			}
		}
	}
}
