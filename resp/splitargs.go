package resp

import "errors"

// ErrUnbalancedQuotes is SplitArgs's only error: a quote that is not closed,
// or is closed in the middle of a word.
var ErrUnbalancedQuotes = errors.New("resp: unbalanced quotes")

// SplitArgs splits a line into words by the rules of inline commands, of
// redis.conf and of redis-cli, and appends them to args:
//
//	set key value               words are separated by white space
//	"a \"b\" \n \r \t \b \a"    escapes as in C; any other \c is c
//	"\x00\xff"                  a byte by its two hexadecimal digits
//	'it\'s \n'                  between single quotes only \' is an escape
//	pre"fix"                    a quote may open within a word
//	"a"b  "a                    but must be closed, and end the word
//
// It works in place: words are sub-slices of line, which is overwritten where
// quotes and escapes are taken out, and nothing is allocated but for args.
// A zero byte is a byte like any other (in Redis it ends the line).
func SplitArgs(line []byte, args [][]byte) ([][]byte, error) {
	for i := 0; ; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return args, nil
		}
		end, next := unquoteWord(line, i)
		if next < 0 {
			return args, ErrUnbalancedQuotes
		}
		args = append(args, line[i:end:end])
		i = next
	}
}

// unquoteWord reads the word at line[start:] and writes it, unquoted, to
// line[start:end]. What it writes never gets ahead of what it has read. The
// bytes after the word begin at next; -1: its quotes are wrong.
func unquoteWord(line []byte, start int) (end, next int) {
	end = start
	for i := start; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\n', '\r', '\t':
			return end, i
		case '"', '\'':
			end, next = unquote(line, end, i)
			if next < 0 || next < len(line) && !isSpace(line[next]) {
				return 0, -1
			}
			return end, next
		default:
			line[end] = c
			end++
		}
	}
	return end, len(line)
}

// unquote writes what stands between the quote at line[open] and its closing
// twin to line[start:end]; the byte after the latter is line[next]; -1: there
// is none.
func unquote(line []byte, start, open int) (end, next int) {
	quote := line[open]
	end = start
	for i := open + 1; i < len(line); i++ {
		c := line[i]
		if c == quote {
			return end, i + 1
		}
		if c == '\\' && i+1 < len(line) {
			if quote == '"' {
				var size int
				c, size = unescape(line[i+1:])
				i += size
			} else if line[i+1] == '\'' {
				c = '\''
				i++
			}
		}
		line[end] = c
		end++
	}
	return 0, -1
}

// unescape returns the byte that stands for \ and b, and how much of b it took.
func unescape(b []byte) (c byte, size int) {
	switch b[0] {
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'b':
		return '\b', 1
	case 'a':
		return '\a', 1
	case 'x':
		if len(b) >= 3 && isHexDigit(b[1]) && isHexDigit(b[2]) {
			return hexValue(b[1])<<4 | hexValue(b[2]), 3
		}
	}
	return b[0], 1
}

// isSpace is C's isspace. (Only four of the six end a word without quotes.)
func isSpace(c byte) bool {
	return c == ' ' || c-'\t' <= '\r'-'\t'
}

func isHexDigit(c byte) bool {
	return c-'0' <= 9 || (c|0x20)-'a' <= 'f'-'a'
}

// hexValue is the value of a byte for which isHexDigit holds.
func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}
