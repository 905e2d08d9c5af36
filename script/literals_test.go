package script

import "testing"

// TestLargeEscape: the text of the error is Lua's too, and what comes before the sequence is told first.
func TestLargeEscape(t *testing.T) {
	r := New(Options{})
	for source, want := range map[string]string{
		`return '\255'`:              "",
		`return '\256'`:              "user_script:1: escape sequence too large near '''",
		"return 1,\n\"a\\999\"":      `user_script:2: escape sequence too large near '"a'`,
		"return 1 2\nreturn '\\300'": "user_script:1: unexpected symbol near '2'",
		`return [[\300]] -- '\300'`:  "",
	} {
		got := ""
		if _, err := r.Load([]byte(source)); err != nil {
			got = err.Error()
		}
		if want != "" {
			want = "ERR Error compiling script (new function): " + want
		}
		if got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}
