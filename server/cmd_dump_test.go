package server

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestDumpAndRestore moves a key to another name and database, over shards, and refuses what Redis refuses.
func TestDumpAndRestore(t *testing.T) {
	tat := strconv.FormatInt(time.Now().Add(time.Hour).UnixNano(), 10)
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, configure))
		c.run("SET a " + tat)
		payload, err := strconv.Unquote(c.run("DUMP a"))
		if err != nil {
			t.Fatal(err)
		}
		if want := "\x00" + string(rune(len(tat))) + tat + "\x0a\x00"; !strings.HasPrefix(payload, want) || len(payload) != len(want)+8 {
			t.Errorf("DUMP is %q, want %q and a checksum", payload, want)
		}
		damaged := payload[:len(payload)-1] + string([]byte{^payload[len(payload)-1]})
		for _, step := range []struct {
			words []string
			want  string
		}{
			{[]string{"DUMP", "none"}, "nil"},
			{[]string{"RESTORE", "a", "0", payload}, "-BUSYKEY Target key name already exists."},
			{[]string{"RESTORE", "b", "0", damaged}, "-ERR DUMP payload version or checksum are wrong"},
			{[]string{"RESTORE", "b", "-1", payload}, "-ERR Invalid TTL value, must be >= 0"},
			{[]string{"RESTORE", "b", "x", payload}, "-ERR value is not an integer or out of range"},
			{[]string{"RESTORE", "b", "0", payload, "IDLETIME", "-1"}, "-ERR Invalid IDLETIME value, must be >= 0"},
			{[]string{"RESTORE", "b", "0", payload, "FREQ", "256"}, "-ERR Invalid FREQ value, must be >= 0 and <= 255"},
			{[]string{"RESTORE", "b", "0", payload, "FREQ"}, "-ERR syntax error"},
			{[]string{"RESTORE", "b", "0", payload, "FREQ", "255", "IDLETIME", "0", "ABSTTL"}, "OK"},
			{[]string{"GET", "b"}, fmt.Sprintf("%q", tat)},
			{[]string{"CL.THROTTLE", "a", "15", "30", "60", "0"}, "*"},
			{[]string{"SET", "a", strconv.FormatInt(time.Now().Add(time.Minute).UnixNano(), 10)}, "OK"},
			{[]string{"RESTORE", "a", "3", payload, "REPLACE"}, "OK"},
			{[]string{"GET", "a"}, fmt.Sprintf("%q", tat)},
		} {
			if got := c.do(step.words...); !fits(step.want, got) {
				t.Errorf("%q: got %s, want %s", step.words, got, step.want)
			}
		}
	})
}
