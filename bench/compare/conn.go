package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/cellserver/cellserver/resp"
)

// conn is a connection to a server, for what is asked of it beside the load.
type conn struct {
	net.Conn
	in *bufio.Reader
}

func dial(ctx context.Context, port int) (*conn, error) {
	var d net.Dialer
	raw, err := d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	return &conn{raw, bufio.NewReaderSize(raw, 64<<10)}, nil
}

// do sends one command and returns the reply as readReply does.
func (c *conn) do(words ...string) (string, error) {
	if _, err := c.Write(appendCommand(nil, words...)); err != nil {
		return "", err
	}
	reply, err := readReply(c.in)
	if err != nil {
		return "", fmt.Errorf("%s: %w", words[0], err)
	}
	return reply, nil
}

func appendCommand(dst []byte, words ...string) []byte {
	w := resp.Writer{Buf: dst}
	w.Array(len(words))
	for _, word := range words {
		w.BulkString(word)
	}
	return w.Buf
}

// readReply returns a reply's text, the elements of an array on a line each. An error reply is an error.
func readReply(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return "", errors.New("an empty line for a reply")
	}
	kind, text := line[0], line[1:]
	if kind == '+' || kind == ':' {
		return text, nil
	}
	if kind == '-' {
		return "", errors.New(text)
	}
	length, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return "", fmt.Errorf("not a reply: %q", line)
	case kind == '$' && length >= 0:
		bulk := make([]byte, length+len("\r\n"))
		_, err := io.ReadFull(in, bulk)
		return string(bulk[:length]), err
	case kind == '*' && length >= 0:
		elements := make([]string, length)
		for i := range elements {
			if elements[i], err = readReply(in); err != nil {
				return "", err
			}
		}
		return strings.Join(elements, "\n"), nil
	}
	return "", fmt.Errorf("not a reply that is expected here: %q", line)
}
