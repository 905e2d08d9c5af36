package resp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
)

// maxIdleLengths is how many remembered lengths a Parser keeps the memory of
// between commands (512 bytes). A command cut by the end of a read is common
// and small; one of a million arguments must not cost its connection 8 MiB
// for good.
const maxIdleLengths = 64

// argsAtOnce is how many announced arguments memory is made ready for before
// their bytes have come.
const argsAtOnce = 16

// ErrIncomplete says that the command at the end of the buffer is incomplete: read more and call Next again.
var ErrIncomplete = errors.New("resp: incomplete command")

// ErrCrossProtocol says that the peer speaks HTTP: its first word was POST or
// "Host:". A web page can make a browser send such bytes to a server on the
// same machine, so the connection must be closed at once, without a reply.
var ErrCrossProtocol = errors.New("resp: HTTP request on a RESP connection")

// A ProtocolError is the text of the reply to bytes that are not a command. The connection must be closed after it: the
// start of the next command is no longer known.
type ProtocolError string

func (e ProtocolError) Error() string { return string(e) }

const (
	errInlineTooBig             ProtocolError = "ERR Protocol error: too big inline request"
	errUnbalancedQuotes         ProtocolError = "ERR Protocol error: unbalanced quotes in request"
	errMultibulkTooBig          ProtocolError = "ERR Protocol error: too big mbulk count string"
	errMultibulkLength          ProtocolError = "ERR Protocol error: invalid multibulk length"
	errUnauthenticatedMultibulk ProtocolError = "ERR Protocol error: unauthenticated multibulk length"
	errBulkTooBig               ProtocolError = "ERR Protocol error: too big bulk count string"
	errBulkLength               ProtocolError = "ERR Protocol error: invalid bulk length"
	errUnauthenticatedBulk      ProtocolError = "ERR Protocol error: unauthenticated bulk length"
)

// errExpectedDollar is Redis's answer to an element that is not a bulk string. The byte is shown as it is, except \r
// and \n, which would break the line.
func errExpectedDollar(got byte) ProtocolError {
	if got == '\r' || got == '\n' {
		got = ' '
	}
	return ProtocolError("ERR Protocol error: expected '$', got '" + string([]byte{got}) + "'")
}

// Parser holds the progress through one unfinished command. The zero value
// with Limits set is ready. Limits may be changed between calls.
type Parser struct {
	Limits Limits

	// The unfinished command; all zero between commands. Offsets count from
	// its first byte.
	need     int   // a shorter buffer cannot get further; 0: none is unfinished
	argsLeft int   // arguments to come; 0: its first line is unfinished
	pos      int   // where the header of the next argument begins
	scanned  int   // buf[pos:scanned] holds no line end
	lengths  []int // of the arguments before pos
}

// Next looks for the next complete command in buf.
//
// It returns the arguments, at least one, and n, the bytes it is done with.
// Whatever err is, the buf of the next call must begin with the byte after
// those n: after a command with the next one, after ErrIncomplete with the
// same unfinished one, with more bytes at its end. It may have moved in memory.
// Blank lines, *0 and *-1 are part of what n counts, also with ErrIncomplete,
// so that an endless stream of them needs no memory.
//
// The arguments are appended to args[:0] and are sub-slices of buf, valid
// until buf changes. Inline arguments are unquoted in place. After an error
// cmd is empty; it always has the memory of args, grown where that was needed.
//
// The errors are ErrIncomplete, ErrCrossProtocol and a ProtocolError. After
// the latter two the Parser must not be used again.
func (p *Parser) Next(buf []byte, args [][]byte) (cmd [][]byte, n int, err error) {
	cmd = args[:0]
	if len(buf) < p.need {
		return cmd, 0, ErrIncomplete
	}
	for n < len(buf) {
		var size int
		if buf[n] == '*' {
			cmd, size, err = p.multibulk(buf[n:], cmd)
		} else {
			cmd, size, err = p.inline(buf[n:], cmd)
		}
		if err != nil {
			return cmd[:0], n, err
		}
		n += size
		if p.need > 0 {
			p.forget()
		}
		if len(cmd) > 0 {
			if isHTTP(cmd[0]) {
				return cmd[:0], n, ErrCrossProtocol
			}
			return cmd, n, nil
		}
	}
	return cmd, n, ErrIncomplete
}

// multibulk parses the command that begins, or goes on, at buf[0] == '*'. An
// empty one takes size bytes and has no arguments.
func (p *Parser) multibulk(buf []byte, args [][]byte) (cmd [][]byte, size int, err error) {
	pos, argsLeft := p.pos, p.argsLeft
	if argsLeft == 0 {
		if argsLeft, pos, err = p.count(buf); err != nil {
			return args, 0, err
		}
	}
	for argsLeft > 0 {
		args = slices.Grow(args, min(argsLeft, argsAtOnce))
		room := args[len(args):min(len(args)+argsLeft, cap(args))]
		taken, next := shortArgs(buf, pos, room, p.Limits.MaxBulkBytes)
		args, argsLeft, pos = args[:len(args)+taken], argsLeft-taken, next
		if argsLeft == 0 {
			break
		}
		length, body, err := p.bulkHeader(buf, pos)
		if err != nil {
			p.suspend(args, argsLeft, pos)
			return args, 0, err
		}
		if length > len(buf)-body-2 {
			p.suspend(args, argsLeft, pos)
			p.need = body + length + 2
			return args, 0, ErrIncomplete
		}
		end := body + length
		args = append(args, buf[body:end:end])
		argsLeft--
		pos = end + 2
	}
	if len(p.lengths) > 0 {
		args = p.restore(buf, args)
	}
	return args, pos, nil
}

// count reads the first line of a multibulk command: how many arguments it
// has, 0 where it says less, and where they begin.
func (p *Parser) count(buf []byte) (count, next int, err error) {
	if len(buf) >= len("*5\r\n") && buf[1]-'1' < 9 && buf[2] == '\r' { // nearly every command
		count = int(buf[1] - '0')
		return count, len("*5\r\n"), p.Limits.checkArgs(count)
	}
	line, next, err := p.line(buf, 0, errMultibulkTooBig)
	if err != nil {
		return 0, 0, err
	}
	wide, ok := ParseRedisInt(line[1:])
	if count = int(wide); !ok || int64(count) != wide {
		return 0, 0, errMultibulkLength
	}
	return max(count, 0), next, p.Limits.checkArgs(count)
}

// shortArgs takes arguments of less than 100 bytes from buf[pos:], as many as
// are complete and fit into room, and returns their number and where the next
// begins. It leaves every other header, valid or not, to bulkHeader; here is
// where a server of small commands spends its time.
func shortArgs(buf []byte, pos int, room [][]byte, maxBulkBytes int) (taken, next int) {
	for taken < len(room) && len(buf)-pos >= len("$0\r\n\r\n") {
		length, size := shortHeader(binary.LittleEndian.Uint32(buf[pos:]))
		body := pos + size
		end := body + length
		if size == 0 || end+2 > len(buf) || length > maxBulkBytes {
			break
		}
		room[taken] = buf[body:end:end]
		taken++
		pos = end + 2
	}
	return taken, pos
}

// shortHeader reads the first four bytes, little endian, of an argument: its
// length and that of its header; 0 unless it says, validly, less than 100.
func shortHeader(word uint32) (length, size int) {
	tens, ones := word>>8&0xff-'0', word>>16&0xff-'0'
	if word&0xff00ff == '$'|'\r'<<16 && tens <= 9 {
		return int(tens), len("$1\r\n")
	}
	if word&0xff0000ff == '$'|'\r'<<24 && tens-1 < 9 && ones <= 9 {
		return int(tens*10 + ones), len("$10\r\n")
	}
	return 0, 0
}

// bulkHeader reads any header of an argument. Redis looks at its first byte
// only when it has the whole line, and so do we.
func (p *Parser) bulkHeader(buf []byte, pos int) (length, body int, err error) {
	line, body, err := p.line(buf, pos, errBulkTooBig)
	if err != nil {
		return 0, 0, err
	}
	if len(line) == 0 || line[0] != '$' {
		return 0, 0, errExpectedDollar(buf[pos])
	}
	wide, ok := ParseRedisInt(line[1:])
	if length = int(wide); !ok || int64(length) != wide {
		return 0, 0, errBulkLength
	}
	return length, body, p.Limits.checkBulk(length)
}

// line returns the header line at buf[pos:] up to its \r, and where the bytes
// after its end begin. The second byte of the end may be any. Where it finds
// no end it remembers from where to look for it next time.
func (p *Parser) line(buf []byte, pos int, tooBig ProtocolError) (line []byte, next int, err error) {
	from := max(pos, p.scanned)
	end := bytes.IndexByte(buf[from:min(len(buf), pos+MaxInlineBytes+1)], '\r')
	if end < 0 && len(buf)-pos > MaxInlineBytes {
		return nil, 0, tooBig
	}
	if end < 0 {
		p.scanned, p.need = len(buf), len(buf)+1
		return nil, 0, ErrIncomplete
	}
	end += from
	if end+2 > len(buf) {
		p.scanned, p.need = end, end+2
		return nil, 0, ErrIncomplete
	}
	return buf[pos:end], end + 2, nil
}

// inline parses the command that begins at buf[0], or goes on there. A blank
// line takes size bytes and has no arguments.
func (p *Parser) inline(buf []byte, args [][]byte) (cmd [][]byte, size int, err error) {
	end := bytes.IndexByte(buf[p.scanned:min(len(buf), MaxInlineBytes+1)], '\n')
	if end < 0 && len(buf) > MaxInlineBytes {
		return args, 0, errInlineTooBig
	}
	if end < 0 {
		p.scanned, p.need = len(buf), len(buf)+1
		return args, 0, ErrIncomplete
	}
	end += p.scanned
	cmd, err = SplitArgs(buf[:end], args) // to which a \r at the end is a space
	if err != nil {
		return cmd, 0, errUnbalancedQuotes
	}
	return cmd, end + 1, nil
}

// suspend remembers how far this call came in an unfinished multibulk command.
func (p *Parser) suspend(args [][]byte, argsLeft, pos int) {
	p.argsLeft, p.pos = argsLeft, pos
	for _, arg := range args {
		p.lengths = append(p.lengths, len(arg))
	}
}

// restore puts the arguments that earlier calls have read before those of
// this call, which were the last.
func (p *Parser) restore(buf []byte, args [][]byte) [][]byte {
	earlier := len(p.lengths)
	count := earlier + len(args)
	args = slices.Grow(args, earlier)[:count]
	copy(args[earlier:], args[:count-earlier])
	pos := headerBytes(count)
	for i, length := range p.lengths {
		body := pos + headerBytes(length)
		end := body + length
		args[i] = buf[body:end:end]
		pos = end + 2
	}
	return args
}

// Need returns the length that the buffer must have for the unfinished command to get further; 0: none is unfinished.
func (p *Parser) Need() int { return p.need }

// forget ends the unfinished command.
func (p *Parser) forget() {
	p.need, p.argsLeft, p.pos, p.scanned = 0, 0, 0, 0
	p.lengths = p.lengths[:0]
	if cap(p.lengths) > maxIdleLengths {
		p.lengths = nil
	}
}

// headerBytes returns how long the one valid header with the number n >= 0 is.
func headerBytes(n int) int {
	size := len("$0\r\n")
	for ; n >= 10; n /= 10 {
		size++
	}
	return size
}

// isHTTP reports whether a command's first word is one that only an HTTP
// request begins a line with. "GET / HTTP/1.1" may pass: its Host: line follows.
func isHTTP(word []byte) bool {
	switch len(word) {
	case len("POST"):
		return word[0]|0x20 == 'p' && bytes.EqualFold(word, []byte("POST"))
	case len("Host:"):
		return word[0]|0x20 == 'h' && bytes.EqualFold(word, []byte("Host:"))
	}
	return false
}
