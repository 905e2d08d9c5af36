package resp

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestEverySplitParsesTheSame(t *testing.T) {
	for _, s := range streams {
		t.Run(s.name, func(t *testing.T) {
			for cut := range len(s.input) {
				if got := parse(t, s.limits, s.input[:cut], s.input[cut:]).outcome(); got != s.want() {
					t.Fatalf("cut at %d: got %s\nwant %s", cut, got, s.want())
				}
			}
			if got := parse(t, s.limits, strings.Split(s.input, "")...).outcome(); got != s.want() {
				t.Fatalf("byte by byte: got %s\nwant %s", got, s.want())
			}
		})
	}
}

func TestSplitsAtTheEndOfLongLines(t *testing.T) {
	for _, list := range [][]stream{longStreams, tooLong} {
		for _, s := range list {
			for cut := len(s.input) - 4; cut < len(s.input); cut++ {
				if got := parse(t, s.limits, s.input[:cut], s.input[cut:]).outcome(); got != s.want() {
					t.Fatalf("%s, cut at %d: got %.200s\nwant %.200s", s.name, cut, got, s.want())
				}
			}
		}
	}
}

// The parser must not notice changes to bytes it has scanned: here every byte of a scanned line becomes an end of line.
func TestUnfinishedLineIsNotScannedAgain(t *testing.T) {
	for start, end := range map[string]byte{"PING": '\n', "*1": '\r', "*1\r\n$4": '\r'} {
		parser := Parser{Limits: DefaultLimits()}
		buf := []byte(start)
		for range 1000 {
			if _, _, err := parser.Next(buf, nil); err != ErrIncomplete {
				t.Fatalf("%q: %v after %d bytes", start, err, len(buf))
			}
			buf[len(buf)-1] = end
			buf = append(buf, 'x')
		}
	}
}

// Of finished arguments the parser remembers where they are; here they are
// all overwritten, headers too, when it has seen them.
func TestFinishedArgumentsAreNotScannedAgain(t *testing.T) {
	parser := Parser{Limits: DefaultLimits()}
	buf := []byte("*100\r\n")
	for i := range 100 {
		arg := strings.Repeat("a", 3*i)
		for _, piece := range []string{fmt.Sprintf("$%d", len(arg)), "\r\n" + arg[:i], arg[i:] + "\r"} {
			buf = append(buf, piece...)
			if _, n, err := parser.Next(buf, nil); n != 0 || err != ErrIncomplete {
				t.Fatal(n, err)
			}
		}
		buf = append(buf, '\n')
		if i == 99 {
			break
		}
		if _, n, err := parser.Next(buf, nil); n != 0 || err != ErrIncomplete {
			t.Fatal(n, err)
		}
		for j := range buf[1:] {
			buf[1+j] = '?'
		}
	}
	cmd, n, err := parser.Next(buf, nil)
	if len(cmd) != 100 || n != len(buf) || err != nil {
		t.Fatal(len(cmd), n, err)
	}
	for i, arg := range cmd {
		want := strings.Repeat("?", 3*i)
		if i == 99 {
			want = strings.Repeat("a", 3*i)
		}
		if string(arg) != want {
			t.Fatalf("argument %d is %q", i, arg)
		}
	}
}

// This one and the next would take minutes if their time were not linear.
func TestLargeBulkInSmallPieces(t *testing.T) {
	const size, piece = 64 << 20, 16 << 10
	buf := append(make([]byte, 0, size+100), fmt.Sprintf("*2\r\n$3\r\nSET\r\n$%d\r\n", size)...)
	header := len(buf)
	parser := Parser{Limits: DefaultLimits()}
	for len(buf) < header+size {
		buf = buf[:len(buf)+piece]
		if _, _, err := parser.Next(buf, nil); err != ErrIncomplete {
			t.Fatal(err)
		}
	}
	cmd, n, err := parser.Next(append(buf, '\r', '\n'), nil)
	if len(cmd) != 2 || len(cmd[1]) != size || n != header+size+2 || err != nil {
		t.Fatal(len(cmd), n, err)
	}
}

func TestManyArgumentsByteByByte(t *testing.T) {
	count := DefaultMaxArgs / 10
	if os.Getenv("CELLSERVER_HEAVY") == "1" {
		count = DefaultMaxArgs
	}
	input := fmt.Appendf(nil, "*%d\r\n%s", count, strings.Repeat("$1\r\na\r\n", count))
	parser := Parser{Limits: DefaultLimits()}
	var args [][]byte
	for i := 1; i < len(input); i++ {
		cmd, n, err := parser.Next(input[:i], args)
		if n != 0 || err != ErrIncomplete {
			t.Fatal(i, n, err)
		}
		args = cmd
	}
	if cap(args) > 32 {
		t.Errorf("an unfinished command holds %d arguments", cap(args))
	}
	cmd, n, err := parser.Next(input, args)
	if len(cmd) != count || n != len(input) || err != nil {
		t.Fatal(len(cmd), n, err)
	}
	for _, arg := range cmd {
		if string(arg) != "a" {
			t.Fatalf("%q", arg)
		}
	}
}

// FuzzSplit: however the input is cut, the outcome is the twin's.
func FuzzSplit(f *testing.F) {
	for _, s := range streams {
		f.Add([]byte(s.input), uint16(len(s.input)/2), s.limits.Unauthenticated)
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint16, unauthenticated bool) {
		input, limits := string(data), Limits{MaxArgs: 50, MaxBulkBytes: 20000, Unauthenticated: unauthenticated}
		at := min(int(cut), len(input))
		want := parse(t, limits, input).outcome()
		if got := parse(t, limits, input[:at], input[at:]).outcome(); got != want {
			t.Errorf("cut at %d: got %s\nwant %s", at, got, want)
		}
		if got := parse(t, limits, strings.Split(input, "")...).outcome(); got != want {
			t.Errorf("byte by byte: got %s\nwant %s", got, want)
		}
	})
}

// FuzzParser: the outcome is that of the obvious parser of twin_test.go. (That
// nothing points out of the buffer is checked by the connection.)
func FuzzParser(f *testing.F) {
	for _, s := range streams {
		f.Add([]byte(s.input), s.limits.Unauthenticated)
	}
	f.Fuzz(func(t *testing.T, data []byte, unauthenticated bool) {
		limits := Limits{MaxArgs: 50, MaxBulkBytes: 20000, Unauthenticated: unauthenticated}
		got := parse(t, limits, string(data)).outcome()
		if want := twinParse(string(data), limits); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
