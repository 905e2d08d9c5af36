package resp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// stream is what a client sends, the commands it holds, and the error that
// ends it, nil if the server reads on. The names are those of the rows of
// section 5.1 of the reference on Redis's surface.
type stream struct {
	name     string
	limits   Limits
	input    string
	commands [][]string
	err      error
}

var (
	ping    = []string{"PING"}
	authed  = DefaultLimits()
	unknown = UnauthenticatedLimits()
)

func commands(list ...[]string) [][]string { return list }

// streams are small enough to be cut at every byte.
var streams = []stream{
	{"nothing", authed, "", nil, nil},
	{"command", authed, "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", commands([]string{"ECHO", "hi"}), nil},
	{"pipeline", authed, "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\nPING\r\n", commands(ping, ping, ping), nil},
	{"bulk of 100 bytes", authed, "*2\r\n$4\r\nECHO\r\n$100\r\n" + strings.Repeat("x", 100) + "\r\n",
		commands([]string{"ECHO", strings.Repeat("x", 100)}), nil},
	{"12 arguments", authed, "*12\r\n" + strings.Repeat("$1\r\na\r\n", 12), commands(strings.Split("aaaaaaaaaaaa", "")), nil},
	{"any bytes", authed, "*1\r\n$6\r\n\r\n\x00$*\n\r\n", commands([]string{"\r\n\x00$*\n"}), nil},

	{"inline with CRLF", authed, "PING\r\n", commands(ping), nil},
	{"inline with LF alone", authed, "PING\n", commands(ping), nil},
	{"inline words", authed, "  ECHO \t a\r\n", commands([]string{"ECHO", "a"}), nil},
	{"inline quotes and escapes", authed, "ECHO \"a\\x41 \\n\" 'it\\'s'\r\n", commands([]string{"ECHO", "aA \n", "it's"}), nil},
	{"inline with a zero byte", authed, "A\x00B\r\n", commands([]string{"A\x00B"}), nil},
	{"leading blank lines", authed, "\r\n\n  \r\n\r\r\nPING\r\n", commands(ping), nil},
	{"*0 and *-1 are skipped", authed, "*0\r\n*-1\r\n*-9223372036854775808\r\nPING\r\n*0\r\n", commands(ping), nil},
	{"+PING and :1 are inline", authed, "+PING\r\n:1\r\n$4\r\n", commands([]string{"+PING"}, []string{":1"}, []string{"$4"}), nil},
	{"*1 $0", authed, "*1\r\n$0\r\n\r\n", commands([]string{""}), nil},
	{"bytes after a bulk are skipped", authed, "*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n", commands(ping, ping), nil},
	{"byte after a header is skipped", authed, "*1\rx$4\rxPINGxx*0\rxPING\n", commands(ping, ping), nil},
	{"header without CR goes on", authed, "*1\n$4\nPING\n", nil, nil},

	{"unbalanced quotes", authed, "PING\r\nECHO \"a\r\n", commands(ping), errUnbalancedQuotes},
	{"text after a closing quote", authed, "ECHO \"a\"b\r\n", nil, errUnbalancedQuotes},
	{"*abc", authed, "*abc\r\n", nil, errMultibulkLength},
	{"* alone", authed, "*\r\n", nil, errMultibulkLength},
	{"*+1", authed, "*+1\r\n", nil, errMultibulkLength},
	{"*01", authed, "*01\r\n", nil, errMultibulkLength},
	{"*1 with a space", authed, "*1 \r\n", nil, errMultibulkLength},
	{"*2147483648", authed, "*2147483648\r\n", nil, errMultibulkLength},
	{"*2^63", authed, "*9223372036854775808\r\n", nil, errMultibulkLength},
	{"*1048576", authed, "*1048576\r\n", nil, nil},
	{"*1048577", authed, "*1048577\r\n", nil, errMultibulkLength},
	{"element not $", authed, "*1\r\n+PING\r\n", nil, errExpectedDollar('+')},
	{"element not $, later", authed, "*2\r\n$1\r\na\r\n*1\r\n", nil, errExpectedDollar('*')},
	{"element not $, its line unfinished", authed, "*1\r\n+PING", nil, nil},
	{"element is an empty line", authed, "*1\r\n\r\n", nil, errExpectedDollar('\r')},
	{"element is not printable", authed, "*1\r\n\xff\r\n", nil, errExpectedDollar(0xff)},
	{"$-1", authed, "*1\r\n$-1\r\n", nil, errBulkLength},
	{"$abc", authed, "*1\r\n$abc\r\n", nil, errBulkLength},
	{"$ alone", authed, "*1\r\n$\r\n", nil, errBulkLength},
	{"$04", authed, "*1\r\n$04\r\nPING\r\n", nil, errBulkLength},
	{"$4 with a letter", authed, "*1\r\n$4a\r\nPING\r\n", nil, errBulkLength},
	{"$2^63", authed, "*1\r\n$9223372036854775808\r\n", nil, errBulkLength},
	{"$2^63-1", authed, "*1\r\n$9223372036854775807\r\n", nil, errBulkLength},
	{"$536870912", authed, "*1\r\n$536870912\r\n", nil, nil},
	{"$536870913", authed, "*1\r\n$536870913\r\n", nil, errBulkLength},
	{"own limit of arguments", Limits{MaxArgs: 3, MaxBulkBytes: 5}, "*3\r\n" + strings.Repeat("$1\r\na\r\n", 3) + "*4\r\n",
		commands([]string{"a", "a", "a"}), errMultibulkLength},
	{"own limit of bytes", Limits{MaxArgs: 3, MaxBulkBytes: 5}, "*1\r\n$5\r\nabcde\r\n*1\r\n$6\r\nabcdef\r\n",
		commands([]string{"abcde"}), errBulkLength},

	{"POST", authed, "PING\r\npost / HTTP/1.1\r\nPING\r\n", commands(ping), ErrCrossProtocol},
	{"POST as multibulk", authed, "*1\r\n$4\r\nPOST\r\n", nil, ErrCrossProtocol},
	{"Host:", authed, "GET / HTTP/1.1\r\nHOST: a\r\n", commands([]string{"GET", "/", "HTTP/1.1"}), ErrCrossProtocol},
	{"nearly HTTP", authed, "POSS\r\nHost;\r\nECHO POST\r\n", commands([]string{"POSS"}, []string{"Host;"}, []string{"ECHO", "POST"}), nil},

	{"unauthenticated: 10 arguments", unknown, "*10\r\n" + strings.Repeat("$1\r\na\r\n", 10), commands(strings.Split("aaaaaaaaaa", "")), nil},
	{"unauthenticated: 11 arguments", unknown, "*11\r\n", nil, errUnauthenticatedMultibulk},
	{"unauthenticated: too many for anyone", unknown, "*2147483648\r\n", nil, errMultibulkLength},
	{"unauthenticated: bulk of 16384", unknown, "*1\r\n$16384\r\n", nil, nil},
	{"unauthenticated: bulk of 16385", unknown, "*1\r\n$16385\r\n", nil, errUnauthenticatedBulk},
	{"unauthenticated: too long for anyone", unknown, "*1\r\n$536870913\r\n", nil, errBulkLength},
	{"unauthenticated: inline is not limited", unknown, "a a a a a a a a a a a\n", commands(strings.Split("aaaaaaaaaaa", "")), nil},
}

// longStreams stand at the limit of a line, or one byte past it.
var longStreams = []stream{
	{"inline of 65536 bytes", authed, strings.Repeat("x", 65536) + "\n", commands([]string{strings.Repeat("x", 65536)}), nil},
	{"inline of 65536 bytes without newline", authed, strings.Repeat("x", 65536), nil, nil},
	{"inline of 65537 bytes without newline", authed, strings.Repeat("x", 65537), nil, errInlineTooBig},
	{"* header of 65536 bytes", authed, "*" + strings.Repeat("1", 65535) + "\r\n", nil, errMultibulkLength},
	{"* header of 65536 bytes without CR", authed, "*" + strings.Repeat("1", 65535), nil, nil},
	{"* header of 65537 bytes without CR", authed, "*" + strings.Repeat("1", 65536), nil, errMultibulkTooBig},
	{"$ header of 65536 bytes", authed, "*1\r\n$" + strings.Repeat("1", 65535) + "\r\n", nil, errBulkLength},
	{"$ header of 65536 bytes without CR", authed, "*1\r\n$" + strings.Repeat("1", 65535), nil, nil},
	{"$ header of 65537 bytes without CR", authed, "*1\r\n$" + strings.Repeat("1", 65536), nil, errBulkTooBig},
	{"element not $ of 65537 bytes without CR", authed, "*1\r\n+" + strings.Repeat("1", 65536), nil, errBulkTooBig},
}

// tooLong cannot be compared with Redis, which lets a line of any length pass
// if its end arrives in the same read.
var tooLong = []stream{
	{"inline of 65537 bytes", authed, strings.Repeat("x", 65537) + "\n", nil, errInlineTooBig},
	{"* header of 65537 bytes", authed, "*" + strings.Repeat("1", 65536) + "\r\n", nil, errMultibulkTooBig},
	{"$ header of 65537 bytes", authed, "*1\r\n$" + strings.Repeat("1", 65536) + "\r\n", nil, errBulkTooBig},
}

func TestMostArguments(t *testing.T) {
	c := parse(t, authed, "*1048576\r\n"+strings.Repeat("$1\r\na\r\n", 1048576))
	if len(c.commands) != 1 || len(c.commands[0]) != 1048576 {
		t.Error(len(c.commands), c.err)
	}
}

func (s stream) want() string { return fmt.Sprintf("%q %v", s.commands, s.err) }

func TestStreams(t *testing.T) {
	for _, list := range [][]stream{streams, longStreams, tooLong} {
		for _, s := range list {
			t.Run(s.name, func(t *testing.T) {
				if got := parse(t, s.limits, s.input).outcome(); got != s.want() {
					t.Errorf("got  %.300s\nwant %.300s", got, s.want())
				}
			})
		}
	}
}

func TestErrorTexts(t *testing.T) {
	for text, err := range map[string]error{
		"ERR Protocol error: unbalanced quotes in request":     errUnbalancedQuotes,
		"ERR Protocol error: too big inline request":           errInlineTooBig,
		"ERR Protocol error: too big mbulk count string":       errMultibulkTooBig,
		"ERR Protocol error: invalid multibulk length":         errMultibulkLength,
		"ERR Protocol error: expected '$', got '+'":            errExpectedDollar('+'),
		"ERR Protocol error: expected '$', got ' '":            errExpectedDollar('\r'),
		"ERR Protocol error: too big bulk count string":        errBulkTooBig,
		"ERR Protocol error: invalid bulk length":              errBulkLength,
		"ERR Protocol error: unauthenticated multibulk length": errUnauthenticatedMultibulk,
		"ERR Protocol error: unauthenticated bulk length":      errUnauthenticatedBulk,
	} {
		var protocolError ProtocolError
		if err.Error() != text || !errors.As(err, &protocolError) {
			t.Errorf("%#v, want %s", err, text)
		}
	}
	if errExpectedDollar('\n') != errExpectedDollar(' ') {
		t.Error("a line feed would break the reply")
	}
}

// What Next is done with: also the bytes that are no command, also when the
// next command is unfinished.
func TestConsumed(t *testing.T) {
	for _, test := range []struct {
		input string
		n     int
		err   error
	}{
		{"PING\r\nPING\r\n", 6, nil},
		{"\r\n*0\r\nPING\r\nPING\r\n", 12, nil},
		{"*1\r\n$4\r\nPING\r\n\r\n", 14, nil},
		{"\r\n\r\n", 4, ErrIncomplete},
		{"\r\n*0\r\n*1\r\n$4\r\nPI", 6, ErrIncomplete},
		{"*0\r\nPING", 4, ErrIncomplete},
		{"*0\r", 0, ErrIncomplete},
		{"", 0, ErrIncomplete},
	} {
		parser := Parser{Limits: DefaultLimits()}
		if _, n, err := parser.Next([]byte(test.input), nil); n != test.n || err != test.err {
			t.Errorf("%q: done with %d (%v), want %d (%v)", test.input, n, err, test.n, test.err)
		}
	}
}

func TestEndlessBlankLinesNeedNoMemory(t *testing.T) {
	c := newConnection(DefaultLimits())
	for range 10_000 {
		c.receive(t, []byte("\r\n*-1\r\n*0"))
		c.receive(t, []byte("\r\n \n"))
		if len(c.buf) > 0 || cap(c.args) > 0 {
			t.Fatalf("%d bytes, %d arguments are kept", len(c.buf), cap(c.args))
		}
	}
}

func TestAnnouncedArgumentsNeedNoMemory(t *testing.T) {
	parser := Parser{Limits: DefaultLimits()}
	cmd, _, err := parser.Next([]byte("*1048576\r\n$1\r\na\r\n$536870912\r\n"), nil)
	if err != ErrIncomplete || cap(cmd) > 32 || cap(parser.lengths) > 32 {
		t.Errorf("room for %d arguments and %d lengths (%v)", cap(cmd), cap(parser.lengths), err)
	}
}

func TestMemoryOfHugeCommandIsGivenBack(t *testing.T) {
	c := newConnection(DefaultLimits())
	c.receive(t, []byte("*1000\r\n"+strings.Repeat("$1\r\na\r\n", 999)))
	c.receive(t, []byte("$1\r\na\r\n"))
	if len(c.commands) != 1 || len(c.commands[0]) != 1000 {
		t.Fatal("the command was not parsed")
	}
	if cap(c.parser.lengths) > maxIdleLengths {
		t.Errorf("memory for %d lengths is kept", cap(c.parser.lengths))
	}
}

// AUTH lifts the limits of a connection for what comes after it.
func TestLimitsMayChange(t *testing.T) {
	c := newConnection(UnauthenticatedLimits())
	c.receive(t, []byte("AUTH secret\r\n"))
	c.parser.Limits = DefaultLimits()
	c.receive(t, []byte("*11\r\n"+strings.Repeat("$1\r\na\r\n", 11)))
	if len(c.commands) != 2 || c.err != nil {
		t.Error(c.outcome())
	}
}

func TestAfterErrorTheMemoryOfArgsIsKept(t *testing.T) {
	args := make([][]byte, 3, 8)
	for _, input := range []string{"", "\r\n", "*2\r\n$1\r\na\r\n", "*2\r\n$1\r\na\r\n+\r\n", "POST\r\n", "a 'b\r\n"} {
		parser := Parser{Limits: DefaultLimits()}
		cmd, _, err := parser.Next([]byte(input), args)
		if err == nil || len(cmd) != 0 || cap(cmd) < cap(args) {
			t.Errorf("%q: %d arguments, room for %d, error %v", input, len(cmd), cap(cmd), err)
		}
	}
}
