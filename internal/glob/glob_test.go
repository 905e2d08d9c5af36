package glob

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestMatches(t *testing.T) {
	rows := []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "abc", true}, {"**", "abc", true},
		{"a*", "abc", true}, {"a*", "bac", false}, {"*c", "abc", true}, {"a*c", "abbc", true}, {"a*c", "abcd", false},
		{"a*b*c", "aXbYbZc", true}, {"?", "a", true}, {"?", "", false}, {"??", "a", false},
		{"h[ae]llo", "hello", true}, {"h[ae]llo", "hillo", false}, {"h[^e]llo", "hallo", true}, {"h[^e]llo", "hello", false},
		{"h[a-c]llo", "hbllo", true}, {"h[c-a]llo", "hbllo", true}, {"h[a-c]llo", "hdllo", false},
		{"[a", "a", true}, {"[", "[", false}, {"[]", "]", false}, {"[^]", "x", true}, {"[a-]", "a", true},
		{"\\*", "*", true}, {"\\*", "x", false}, {"\\", "\\", true}, {"[\\]]", "]", true}, {"a\\?c", "a?c", true},
		{"\xff*", "\xff\x00", true},
	}
	for _, row := range rows {
		if got := Match([]byte(row.pattern), []byte(row.text)); got != row.want {
			t.Errorf("Match(%q, %q) = %v", row.pattern, row.text, got)
		}
	}
}

// TestMatchesTakesBoundedTime: patterns that make a backtracking matcher run for years.
func TestMatchesTakesBoundedTime(t *testing.T) {
	began := time.Now()
	if Match([]byte(strings.Repeat("a*", 1000)+"b"), bytes.Repeat([]byte("a"), 20_000)) {
		t.Error("matches")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
