package compat_test

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// encode returns a command as clients send it.
func encode(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	return b.String()
}

// readReply reads one reply of RESP2 and returns it as text.
func readReply(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", err
	}
	kind, rest := line[0], strings.TrimSuffix(line[1:], "\r\n")
	if kind == '+' || kind == '-' || kind == ':' {
		return rest, nil
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return "", fmt.Errorf("no reply: %q", line)
	}
	switch {
	case n < 0:
		return "nil", nil
	case kind == '$':
		bulk := make([]byte, n+2)
		_, err := io.ReadFull(in, bulk)
		return string(bulk[:n]), err
	case kind == '*':
		elements := make([]string, n)
		for i := range elements {
			if elements[i], err = readReply(in); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(elements, " ") + "]", nil
	}
	return "", fmt.Errorf("no reply: %q", line)
}
