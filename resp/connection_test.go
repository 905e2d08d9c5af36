package resp

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"
)

// connection is the server's end of one: a parser and the buffer that what was
// received waits in. With moves, the buffer moves at every read, and its old
// memory is scrambled.
type connection struct {
	parser Parser
	moves  bool
	buf    []byte
	args   [][]byte

	commands [][]string
	err      error // what ended the connection
}

func newConnection(limits Limits) *connection {
	return &connection{parser: Parser{Limits: limits}, moves: true}
}

// receive takes what one read brought and parses all that is complete.
func (c *connection) receive(t testing.TB, data []byte) {
	t.Helper()
	if c.err != nil {
		return
	}
	if c.moves {
		moved := slices.Concat(c.buf, data)
		for i := range c.buf {
			c.buf[i] = 0xdb
		}
		c.buf = moved
	} else {
		c.buf = append(c.buf, data...)
	}
	for {
		cmd, n, err := c.parser.Next(c.buf, c.args)
		if n < 0 || n > len(c.buf) {
			t.Fatalf("n = %d of %d bytes", n, len(c.buf))
		}
		if (err == nil) != (len(cmd) > 0) {
			t.Fatalf("%d arguments with error %v", len(cmd), err)
		}
		var words []string
		for i, arg := range cmd {
			if !within(arg, c.buf[:n]) {
				t.Fatalf("argument %d is not in the first %d bytes of the buffer", i, n)
			}
			words = append(words, string(arg))
		}
		c.args, c.buf = cmd, c.buf[n:]
		if errors.Is(err, ErrIncomplete) {
			return
		}
		if err != nil {
			c.err = err
			return
		}
		c.commands = append(c.commands, words)
	}
}

// within reports whether part is a sub-slice of whole that cannot be appended
// to without leaving it.
func within(part, whole []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(part)))
	from := uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
	return at >= from && at+uintptr(cap(part)) <= from+uintptr(len(whole)) && cap(part) == len(part)
}

// outcome is all that can be seen of a connection, but for what was dropped
// early of an unfinished command.
func (c *connection) outcome() string {
	return fmt.Sprintf("%q %v", c.commands, c.err)
}

// parse is the outcome of receiving the input in the given pieces.
func parse(t testing.TB, limits Limits, pieces ...string) *connection {
	t.Helper()
	c := newConnection(limits)
	for _, piece := range pieces {
		c.receive(t, []byte(piece))
	}
	return c
}
