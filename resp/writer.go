package resp

import (
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/redcon"
)

// Writer appends replies to Buf in the connection's protocol version, 2 or 3
// (0 is 2). A reply that holds others (Array, Map, Set, Push) is its head,
// followed by as many replies as that announces.
type Writer struct {
	Buf     []byte
	Version int
}

// Int appends an integer.
func (w *Writer) Int(n int64) { w.Buf = redcon.AppendInt(w.Buf, n) }

// Bulk appends a string of any bytes.
func (w *Writer) Bulk(b []byte) { w.Buf = redcon.AppendBulk(w.Buf, b) }

// BulkString appends a string of any bytes.
func (w *Writer) BulkString(s string) { w.Buf = redcon.AppendBulkString(w.Buf, s) }

// Simple appends a status such as PONG. \r and \n become spaces.
func (w *Writer) Simple(s string) { w.Buf = redcon.AppendString(w.Buf, s) }

// OK appends the status OK.
func (w *Writer) OK() { w.Buf = redcon.AppendOK(w.Buf) }

// Error appends an error: text is what follows the '-', its first word the
// code (ERR, WRONGTYPE, …). \r and \n become spaces.
func (w *Writer) Error(text string) { w.Buf = redcon.AppendError(w.Buf, text) }

// Array appends the head of an array of n replies.
func (w *Writer) Array(n int) { w.Buf = redcon.AppendArray(w.Buf, n) }

// Map appends the head of a map; key and value of each pair follow.
func (w *Writer) Map(pairs int) {
	if w.Version == 3 {
		w.head('%', pairs)
		return
	}
	w.Array(2 * pairs)
}

// Set appends the head of an array without order and duplicates.
func (w *Writer) Set(n int) { w.arrayLike('~', n) }

// Push appends the head of a message that answers no command.
func (w *Writer) Push(n int) { w.arrayLike('>', n) }

// Null appends the absence of a value, where there might have been a string.
func (w *Writer) Null() { w.null("$-1\r\n") }

// NullArray appends the absence of a value, where there might have been an array.
func (w *Writer) NullArray() { w.null("*-1\r\n") }

// Bool appends a truth value, in RESP2 the integer 1 or 0.
func (w *Writer) Bool(b bool) {
	switch {
	case w.Version == 3 && b:
		w.Buf = append(w.Buf, "#t\r\n"...)
	case w.Version == 3:
		w.Buf = append(w.Buf, "#f\r\n"...)
	case b:
		w.Int(1)
	default:
		w.Int(0)
	}
}

// Double appends a floating-point number in Redis 7.0's form, C's %.17g, in
// RESP2 as a bulk string.
func (w *Writer) Double(f float64) {
	var memory [32]byte
	text := memory[:0]
	switch {
	case math.IsNaN(f) && math.Signbit(f):
		text = append(text, "-nan"...)
	case math.IsNaN(f):
		text = append(text, "nan"...)
	case math.IsInf(f, 1):
		text = append(text, "inf"...)
	case math.IsInf(f, -1):
		text = append(text, "-inf"...)
	default:
		text = strconv.AppendFloat(text, f, 'g', 17, 64)
	}
	if w.Version != 3 {
		w.Bulk(text)
		return
	}
	w.Buf = append(w.Buf, ',')
	w.Buf = append(w.Buf, text...)
	w.Buf = append(w.Buf, '\r', '\n')
}

// BigNumber appends an integer of any size by its decimal digits, in RESP2 as a
// bulk string. \r and \n become spaces.
func (w *Writer) BigNumber(digits string) {
	digits = strings.NewReplacer("\r", " ", "\n", " ").Replace(digits)
	if w.Version != 3 {
		w.BulkString(digits)
		return
	}
	w.Buf = append(w.Buf, '(')
	w.Buf = append(w.Buf, digits...)
	w.Buf = append(w.Buf, '\r', '\n')
}

// Verbatim appends a text to be shown as it is. Its format is txt or mkd; RESP2
// has no place for that.
func (w *Writer) Verbatim(format, text string) {
	w.VerbatimHead(format, len(text))
	w.Buf = append(w.Buf, text...)
	w.Buf = append(w.Buf, '\r', '\n')
}

// VerbatimHead appends what is before the text of a verbatim string, which has so many bytes. A line's end is to follow it.
func (w *Writer) VerbatimHead(format string, bytes int) {
	if len(format) != 3 {
		panic("resp: a verbatim string's format has three letters, not " + strconv.Quote(format))
	}
	if w.Version != 3 {
		w.head('$', bytes)
		return
	}
	w.head('=', len("txt:")+bytes)
	w.Buf = append(w.Buf, format...)
	w.Buf = append(w.Buf, ':')
}

// arrayLike appends the head of a type that RESP2 has only arrays for.
func (w *Writer) arrayLike(kind byte, n int) {
	if w.Version == 3 {
		w.head(kind, n)
		return
	}
	w.Array(n)
}

// null appends the one null of RESP3, or the one given of RESP2's two.
func (w *Writer) null(resp2 string) {
	if w.Version == 3 {
		resp2 = "_\r\n"
	}
	w.Buf = append(w.Buf, resp2...)
}

func (w *Writer) head(kind byte, n int) {
	w.Buf = append(w.Buf, kind)
	w.Buf = strconv.AppendInt(w.Buf, int64(n), 10)
	w.Buf = append(w.Buf, '\r', '\n')
}
