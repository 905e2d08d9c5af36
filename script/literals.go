package script

import (
	"bytes"
	"strings"
)

// maxEscapedByte is the largest number that \ddd may be in a quoted string.
const maxEscapedByte = 255

// largeEscape finds the first escape sequence beyond maxEscapedByte in a source: the parser would take its low byte. It returns where
// the quoted string begins and how many bytes of it there are before the sequence; found is false if there is none.
func largeEscape(source []byte) (start, length int, found bool) {
	if bytes.IndexByte(source, '\\') < 0 {
		return 0, 0, false
	}
	for i := 0; i < len(source); {
		switch source[i] {
		case '-':
			i += commentBytes(source[i:])
		case '[':
			i += max(1, longBytes(source[i:]))
		case '"', '\'':
			n, isLarge := quotedBytes(source[i:])
			if isLarge {
				return i, n, true
			}
			i += n
		default:
			i++
		}
	}
	return 0, 0, false
}

// commentBytes is the length of the comment that a source begins with, or 1 for a minus.
func commentBytes(source []byte) int {
	if !bytes.HasPrefix(source, []byte("--")) {
		return 1
	}
	if n := longBytes(source[2:]); n > 0 {
		return 2 + n
	}
	if n := bytes.IndexAny(source, "\r\n"); n >= 0 {
		return n
	}
	return len(source)
}

// longBytes is the length of the [==[text]==] that a source begins with, or 0 if it begins with none.
func longBytes(source []byte) int {
	level := 1
	for level < len(source) && source[level] == '=' {
		level++
	}
	if level >= len(source) || source[0] != '[' || source[level] != '[' {
		return 0
	}
	end := "]" + strings.Repeat("=", level-1) + "]"
	if n := bytes.Index(source[level:], []byte(end)); n >= 0 {
		return level + n + len(end)
	}
	return len(source)
}

// quotedBytes is the length of the quoted string that a source begins with, or of what there is of it before an escape sequence
// beyond maxEscapedByte.
func quotedBytes(source []byte) (n int, isLarge bool) {
	for i := 1; i < len(source); i++ {
		switch source[i] {
		case source[0]:
			return i + 1, false
		case '\n', '\r':
			return i, false
		case '\\':
			number, digits := escapedNumber(source[i+1:])
			if number > maxEscapedByte {
				return i, true
			}
			i += max(1, digits)
			if bytes.HasPrefix(source[i:], []byte("\r\n")) || bytes.HasPrefix(source[i:], []byte("\n\r")) {
				i++
			}
		}
	}
	return len(source), false
}

// escapedNumber reads the digits, three at most, that follow a backslash.
func escapedNumber(source []byte) (number, digits int) {
	for digits < min(3, len(source)) && '0' <= source[digits] && source[digits] <= '9' {
		number = 10*number + int(source[digits]-'0')
		digits++
	}
	return number, digits
}

// lineAt is the number of the line at an offset. A line ends with \n, \r or both, in either order.
func lineAt(source []byte, offset int) int {
	line := 1
	for i := 0; i < offset; i++ {
		if source[i] != '\n' && source[i] != '\r' {
			continue
		}
		line++
		if i+1 < len(source) && source[i]^source[i+1] == '\n'^'\r' {
			i++
		}
	}
	return line
}
