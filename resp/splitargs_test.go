package resp

import (
	"fmt"
	"strings"
	"testing"
)

func TestSplitArgs(t *testing.T) {
	for _, test := range []struct {
		line string
		want []string // nil: unbalanced quotes
	}{
		{"", []string{}},
		{" \t\v\f\r\n", []string{}},
		{"set key value", []string{"set", "key", "value"}},
		{"  a\tb\rc\nd  ", []string{"a", "b", "c", "d"}},
		{"\va\vb\f c", []string{"a\vb\f", "c"}},
		{"a\x00b \x00", []string{"a\x00b", "\x00"}},
		{`"a b" 'c d'`, []string{"a b", "c d"}},
		{`"" ''`, []string{"", ""}},
		{`"\n\r\t\b\a\q\\\""`, []string{"\n\r\t\b\aq\\\""}},
		{`"\x41\xfF\x00"`, []string{"A\xff\x00"}},
		{`"\x4" "\xg1" "\x1g" "\x"`, []string{"x4", "xg1", "x1g", "x"}},
		{`'it\'s \n \\ "'`, []string{`it's \n \\ "`}},
		{`\n \x41`, []string{`\n`, `\x41`}},
		{`pre"fix" p'x y'`, []string{"prefix", "px y"}},
		{"\"a\"\vb", []string{"a", "b"}},
		{`"a"b`, nil},
		{`"a""b"`, nil},
		{`'a'b`, nil},
		{`"a`, nil},
		{`'a`, nil},
		{`a"`, nil},
		{`a'`, nil},
		{`"a\`, nil},
		{`"a\"`, nil},
		{`'a\'`, nil},
		{`"\x41`, nil},
	} {
		line := []byte(test.line)
		args, err := SplitArgs(line, [][]byte{[]byte("kept")})
		if (err != nil) != (test.want == nil) {
			t.Errorf("%q: error %v", test.line, err)
			continue
		}
		if got, want := fmt.Sprintf("%q", args), fmt.Sprintf("%q", append([]string{"kept"}, test.want...)); err == nil && got != want {
			t.Errorf("%q: got %s, want %s", test.line, got, want)
		}
		for _, arg := range args[1:] {
			if !within(arg, line) {
				t.Errorf("%q: %q is not in the line", test.line, arg)
			}
		}
	}
}

// FuzzSplitArgs: any words come back when they are quoted, in either way.
func FuzzSplitArgs(f *testing.F) {
	f.Add("a b", "it's", "\"\\x00\xff")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var double, single strings.Builder
		for _, word := range []string{a, b, c} {
			double.WriteString(" \"")
			for i := range len(word) {
				fmt.Fprintf(&double, `\x%02x`, word[i])
			}
			double.WriteString("\"")
			single.WriteString(" '" + strings.ReplaceAll(word, "'", `\'`) + "'")
		}
		want := fmt.Sprintf("%q", []string{a, b, c})
		if args, err := SplitArgs([]byte(double.String()), nil); err != nil || fmt.Sprintf("%q", args) != want {
			t.Errorf("double quotes: %q %v, want %s", args, err, want)
		}
		if strings.Contains(a+b+c, `\'`) || strings.HasSuffix(a, `\`) || strings.HasSuffix(b, `\`) || strings.HasSuffix(c, `\`) {
			return // these cannot be written in single quotes
		}
		if args, err := SplitArgs([]byte(single.String()), nil); err != nil || fmt.Sprintf("%q", args) != want {
			t.Errorf("single quotes: %q %v, want %s", args, err, want)
		}
	})
}
