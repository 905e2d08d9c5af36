package resp

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/redcon"
)

func TestWriter(t *testing.T) {
	for _, test := range []struct {
		name         string
		write        func(w *Writer)
		resp2, resp3 string
	}{
		{"Int", func(w *Writer) { w.Int(-12) }, ":-12\r\n", ":-12\r\n"},
		{"Int, smallest", func(w *Writer) { w.Int(math.MinInt64) }, ":-9223372036854775808\r\n", ":-9223372036854775808\r\n"},
		{"Bulk", func(w *Writer) { w.Bulk([]byte("a\r\n")) }, "$3\r\na\r\n\r\n", "$3\r\na\r\n\r\n"},
		{"Bulk, nil is empty", func(w *Writer) { w.Bulk(nil) }, "$0\r\n\r\n", "$0\r\n\r\n"},
		{"BulkString", func(w *Writer) { w.BulkString("0123456789") }, "$10\r\n0123456789\r\n", "$10\r\n0123456789\r\n"},
		{"Simple", func(w *Writer) { w.Simple("PO\r\nNG") }, "+PO  NG\r\n", "+PO  NG\r\n"},
		{"OK", func(w *Writer) { w.OK() }, "+OK\r\n", "+OK\r\n"},
		{"Error", func(w *Writer) { w.Error("ERR a\r\nb\n") }, "-ERR a  b \r\n", "-ERR a  b \r\n"},
		{"Array", func(w *Writer) { w.Array(0) }, "*0\r\n", "*0\r\n"},
		{"Array, long", func(w *Writer) { w.Array(16384) }, "*16384\r\n", "*16384\r\n"},
		{"Map", func(w *Writer) { w.Map(7) }, "*14\r\n", "%7\r\n"},
		{"Set", func(w *Writer) { w.Set(12) }, "*12\r\n", "~12\r\n"},
		{"Push", func(w *Writer) { w.Push(3) }, "*3\r\n", ">3\r\n"},
		{"Null", func(w *Writer) { w.Null() }, "$-1\r\n", "_\r\n"},
		{"NullArray", func(w *Writer) { w.NullArray() }, "*-1\r\n", "_\r\n"},
		{"Bool, true", func(w *Writer) { w.Bool(true) }, ":1\r\n", "#t\r\n"},
		{"Bool, false", func(w *Writer) { w.Bool(false) }, ":0\r\n", "#f\r\n"},
		{"Verbatim", func(w *Writer) { w.Verbatim("txt", "abcd") }, "$4\r\nabcd\r\n", "=8\r\ntxt:abcd\r\n"},
	} {
		for version, want := range map[int]string{0: test.resp2, 2: test.resp2, 3: test.resp3} {
			w := Writer{Buf: []byte("before"), Version: version}
			test.write(&w)
			if got := string(w.Buf); got != "before"+want {
				t.Errorf("%s, version %d: got %q, want %q", test.name, version, got, want)
			}
		}
	}
}

// The texts are those of Redis 7.0.15's ZSCORE.
func TestWriterDouble(t *testing.T) {
	for text, f := range map[string]float64{
		"0": 0, "-0": math.Copysign(0, -1), "3.5": 3.5, "0.10000000000000001": 0.1, "100000": 1e5, "123456": 123456,
		"10000000000000000": 1e16, "1e+17": 1e17, "1e+20": 1e20, "1.0000000000000001e-05": 1e-5, "0.0001": 1e-4,
		"1.7976931348623157e+308": math.MaxFloat64, "4.9406564584124654e-324": math.SmallestNonzeroFloat64,
		"inf": math.Inf(1), "-inf": math.Inf(-1), "nan": math.NaN(),
	} {
		w2, w3 := Writer{Version: 2}, Writer{Version: 3}
		w2.Double(f)
		w3.Double(f)
		if got, want := string(w2.Buf), fmt.Sprintf("$%d\r\n%s\r\n", len(text), text); got != want {
			t.Errorf("version 2: got %q, want %q", got, want)
		}
		if got, want := string(w3.Buf), ","+text+"\r\n"; got != want {
			t.Errorf("version 3: got %q, want %q", got, want)
		}
	}
}

func TestVerbatimFormatHasThreeLetters(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a format of four letters was written")
		}
	}()
	(&Writer{Version: 2}).Verbatim("text", "")
}

// Parser and Writer are inverse: a command written as an array of bulks is parsed back.
func FuzzWrittenCommandParsesBack(f *testing.F) {
	f.Add([]byte("CL.THROTTLE"), []byte("key\r\n"), []byte(""), uint8(9))
	f.Fuzz(func(t *testing.T, a, b, c []byte, repeat uint8) {
		var w Writer
		want := []string{"command"}
		for range repeat {
			want = append(want, string(a), string(b), string(c))
		}
		w.Array(len(want))
		for _, arg := range want {
			w.BulkString(arg)
		}
		got := parse(t, DefaultLimits(), string(w.Buf)).outcome()
		if want := fmt.Sprintf("%q %v", [][]string{want}, nil); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// writeRandom writes a random value and returns how readReply shows it.
func writeRandom(w *Writer, random *rand.Rand, depth int) string {
	kinds := 12
	if depth == 0 {
		kinds = 8
	}
	text := strings.Repeat("\r\nx", random.IntN(40))
	n := random.IntN(13)
	switch random.IntN(kinds) {
	case 0:
		w.Int(int64(n) - 5)
		return strconv.Itoa(n - 5)
	case 1:
		w.Bulk([]byte(text))
		return strconv.Quote(text)
	case 2:
		w.BulkString(text)
		return strconv.Quote(text)
	case 3:
		w.Simple("status")
		return "status"
	case 4:
		w.Null()
		return "null"
	case 5:
		w.NullArray()
		return "null"
	case 6:
		w.Double(float64(n) / 4)
		return w.only3(fmt.Sprint(float64(n)/4), strconv.Quote(fmt.Sprint(float64(n)/4)))
	case 7:
		w.Verbatim("txt", text)
		return w.only3(strconv.Quote("txt:"+text), strconv.Quote(text))
	case 8:
		w.Array(n)
		return "array" + writeRandomList(w, random, n, depth)
	case 9:
		w.Set(n)
		return w.only3("set", "array") + writeRandomList(w, random, n, depth)
	case 10:
		w.Push(n)
		return w.only3("push", "array") + writeRandomList(w, random, n, depth)
	default:
		w.Map(n)
		return w.only3("map", "array") + writeRandomList(w, random, 2*n, depth)
	}
}

func writeRandomList(w *Writer, random *rand.Rand, n, depth int) string {
	var list []string
	for range n {
		list = append(list, writeRandom(w, random, depth-1))
	}
	return fmt.Sprint(list)
}

func (w *Writer) only3(resp3, resp2 string) string {
	if w.Version == 3 {
		return resp3
	}
	return resp2
}

// readReply reads a reply of either version, and shows it.
func readReply(b []byte) (shown string, rest []byte) {
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	n, _ := strconv.Atoi(string(line[1:]))
	list := map[byte]string{'*': "array", '~': "set", '>': "push", '%': "map"}[line[0]]
	switch {
	case line[0] == '_' || n == -1 && (line[0] == '$' || line[0] == '*'):
		return "null", rest
	case line[0] == '$' || line[0] == '=':
		return strconv.Quote(string(rest[:n])), rest[n+len("\r\n"):]
	case list == "":
		return string(line[1:]), rest
	}
	if list == "map" {
		n *= 2
	}
	var items []string
	for range n {
		var item string
		item, rest = readReply(rest)
		items = append(items, item)
	}
	return list + fmt.Sprint(items), rest
}

func TestRepliesReadBack(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range 2000 {
		w := Writer{Version: 2 + i%2}
		want := writeRandom(&w, random, 3)
		got, rest := readReply(w.Buf)
		if got != want || len(rest) > 0 {
			t.Fatalf("seed %d, value %d: got %s, want %s, %d bytes left of %q", seed, i, got, want, len(rest), w.Buf)
		}
		if n, _ := redcon.ReadNextRESP(w.Buf); w.Version == 2 && n != len(w.Buf) {
			t.Fatalf("seed %d, value %d: redcon reads %d bytes of %q", seed, i, n, w.Buf)
		}
	}
}

func TestBigNumber(t *testing.T) {
	for version, want := range map[int]string{2: "$5\r\n12  3\r\n", 3: "(12  3\r\n"} {
		w := Writer{Version: version}
		w.BigNumber("12\r\n3")
		if string(w.Buf) != want {
			t.Errorf("RESP%d: %q", version, w.Buf)
		}
	}
}
