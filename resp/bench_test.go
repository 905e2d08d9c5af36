package resp

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/tidwall/redcon"
)

// pipeline is what one read brings from a client that pipelines 128 calls.
func pipeline(depth int) []byte {
	var b bytes.Buffer
	for i := range depth {
		fmt.Fprintf(&b, "*5\r\n$11\r\nCL.THROTTLE\r\n$16\r\nkey:%012d\r\n$3\r\n100\r\n$4\r\n1000\r\n$2\r\n60\r\n", i)
	}
	return b.Bytes()
}

// BenchmarkParser's baseline is the parser most Go servers of this protocol use.
func BenchmarkParser(b *testing.B) {
	const depth = 128
	input := pipeline(depth)
	b.Run("impl=resp", func(b *testing.B) {
		parser := Parser{Limits: DefaultLimits()}
		var args [][]byte
		b.ReportAllocs()
		for b.Loop() {
			for buf := input; len(buf) > 0; {
				cmd, n, err := parser.Next(buf, args)
				if err != nil || len(cmd) != 5 {
					b.Fatal(cmd, err)
				}
				args, buf = cmd, buf[n:]
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/depth, "ns/command")
	})
	b.Run("impl=redcon", func(b *testing.B) {
		var args [][]byte
		b.ReportAllocs()
		for b.Loop() {
			for buf := input; len(buf) > 0; {
				complete, cmd, _, rest, err := redcon.ReadNextCommand(buf, args)
				if err != nil || !complete {
					b.Fatal(cmd, err)
				}
				args, buf = cmd, rest
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/depth, "ns/command")
	})
}

func BenchmarkAppendThrottle(b *testing.B) {
	buf := make([]byte, 0, 256)
	b.Run("impl=resp", func(b *testing.B) {
		for b.Loop() {
			buf = AppendThrottle(buf[:0], false, 101, 57, -1, 26)
		}
	})
	b.Run("ints=large", func(b *testing.B) {
		for b.Loop() {
			buf = AppendThrottle(buf[:0], true, 1_000_001, 570_000, 31_536_000, 26_000)
		}
	})
	b.Run("impl=redcon", func(b *testing.B) {
		for b.Loop() {
			buf = redcon.AppendArray(buf[:0], 5)
			for _, n := range [5]int64{0, 101, 57, -1, 26} {
				buf = redcon.AppendInt(buf, n)
			}
		}
	})
}

func BenchmarkParseInt(b *testing.B) {
	text := []byte("1000")
	b.Run("impl=resp", func(b *testing.B) {
		for b.Loop() {
			if n, ok := ParseInt(text); n != 1000 || !ok {
				b.Fatal(n, ok)
			}
		}
	})
	b.Run("impl=strconv", func(b *testing.B) {
		for b.Loop() {
			if n, err := strconv.ParseInt(string(text), 10, 64); n != 1000 || err != nil {
				b.Fatal(n, err)
			}
		}
	})
}

func BenchmarkInline(b *testing.B) {
	const line = "CL.THROTTLE key:000000123456 100 1000 60\r\n"
	parser := Parser{Limits: DefaultLimits()}
	buf := []byte(line)
	var args [][]byte
	b.ReportAllocs()
	for b.Loop() {
		cmd, _, err := parser.Next(buf, args)
		if err != nil || len(cmd) != 5 {
			b.Fatal(cmd, err)
		}
		args = cmd
	}
}

func TestNothingIsAllocated(t *testing.T) {
	var (
		multibulk = pipeline(1)
		inline    = []byte("ECHO \"a\\x41\" 'b'\r\n")
		quoted    = bytes.Clone(inline)
		parser    = Parser{Limits: DefaultLimits()}
		args      = make([][]byte, 0, 16)
		w2, w3    = Writer{Version: 2}, Writer{Version: 3}
	)
	next := func(buf []byte, want error) {
		if _, _, err := parser.Next(buf, args); err != want {
			t.Fatal(err)
		}
	}
	write := func(w *Writer) {
		w.Buf = AppendThrottle(w.Buf[:0], true, 1, 2, 3, 1<<40)
		w.Map(1)
		w.Simple("PONG")
		w.Double(0.1)
		w.Verbatim("txt", "text")
		w.Null()
		w.Bulk(multibulk)
		w.Error("ERR syntax error")
	}
	for name, f := range map[string]func(){
		"multibulk": func() { next(multibulk, nil) },
		"multibulk in two pieces": func() {
			next(multibulk[:len(multibulk)-10], ErrIncomplete)
			next(multibulk, nil)
		},
		"inline": func() {
			copy(inline, quoted)
			next(inline, nil)
		},
		"replies, version 2": func() { write(&w2) },
		"replies, version 3": func() { write(&w3) },
		"ParseInt":           func() { ParseInt(multibulk[1:2]) },
	} {
		f() // the first call may grow what is kept
		if allocs := testing.AllocsPerRun(100, f); allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

// BenchmarkNextThrottle is the short way of a call, next to Next and the parsing of the integers.
func BenchmarkNextThrottle(b *testing.B) {
	const depth = 128
	input := pipeline(depth)
	room := slices.Grow(input, 16)
	parser := Parser{Limits: DefaultLimits()}
	var sum int64
	var integers [4]int64
	b.Run("impl=short", func(b *testing.B) {
		for b.Loop() {
			for buf := room; len(buf) > 0; {
				_, n := parser.NextThrottle(buf, &integers)
				if n == 0 {
					b.Fatal("not taken")
				}
				sum += integers[0] + integers[3]
				buf = buf[n:]
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/depth, "ns/command")
	})
	b.Run("impl=words", func(b *testing.B) {
		var args [][]byte
		for b.Loop() {
			for buf := input; len(buf) > 0; {
				cmd, n, err := parser.Next(buf, args)
				if err != nil {
					b.Fatal(err)
				}
				for _, word := range cmd[2:] {
					integer, _ := ParseInt(word)
					sum += integer
				}
				args, buf = cmd, buf[n:]
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/depth, "ns/command")
	})
}
