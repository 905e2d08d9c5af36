package server

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestShortCalls sends calls in the form that has a way of its own, and the same ones with a + before an integer, which have
// not: in every state of a connection the replies must be the same, also where all of it comes in one piece.
func TestShortCalls(t *testing.T) {
	const call = "CL.THROTTLE user 15 30 600"
	script := []string{
		call, "cl.throttle user 15 30 600 2", "CL.THROTTLE user 15 0 600", "CL.THROTTLE user 15 30 600 0", call,
		"MULTI", call, call, "EXEC", call,
		"CLIENT REPLY SKIP", call, call,
		"CLIENT REPLY OFF", call, "CLIENT REPLY ON", call,
		"SELECT 3", call, "SELECT 0", call,
		"SUBSCRIBE news", call, "UNSUBSCRIBE news", call,
		"HELLO 3", call, "HELLO 2", call,
		"CLIENT LIST", "DBSIZE", "GET nothing", call,
		"ACL SETUSER guest on nopass ~allowed* +@all -config", "AUTH guest x", call, "CL.THROTTLE allowed 15 30 600",
		"AUTH default x", call, "RESET", call,
		"ACL SETUSER guest -cl.throttle", "AUTH guest x", "CL.THROTTLE allowed 15 30 600", "AUTH default x", call,
		"CONFIG SET requirepass secret", call, "ACL LOG RESET", call, "QUIT", call,
	}
	longScript := make([]string, len(script))
	for i, line := range script {
		longScript[i] = strings.Replace(line, " 15 ", " +15 ", 1)
	}
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		for _, pieces := range []bool{false, true} {
			short := strings.Join(replies(t, startServer(t, configure), script, pieces), "\n")
			long := strings.Join(replies(t, startServer(t, configure), longScript, pieces), "\n")
			if short != long {
				t.Fatalf("in pieces: %t\nshort calls:\n%s\nlong calls:\n%s", pieces, short, long)
			}
		}
	})
}

// replies sends the commands, one by one or together, and returns all that the server says before it closes the connection.
// What tells of the connection itself is left out.
func replies(t *testing.T, s *Server, script []string, pieces bool) (lines []string) {
	c := dial(t, s)
	all := ""
	for _, line := range script {
		bytes := encode(strings.Fields(line)...)
		if pieces {
			c.send(bytes)
			time.Sleep(time.Millisecond)
		}
		all += bytes
	}
	if !pieces {
		c.send(all)
	}
	for {
		line, err := readReply(c.in)
		if err != nil {
			return lines
		}
		if !strings.Contains(line, "addr=") && !strings.Contains(line, "proto") {
			lines = append(lines, seconds.ReplaceAllStringFunc(line, wholeTokens))
		}
	}
}

// seconds finds the integers of replies that fall as time passes: multiples of 20 s, the time of a token, at first.
var seconds = regexp.MustCompile(`\d+ \d+\]`)

// wholeTokens puts them back to where they were, so that a slow machine sees the same replies twice.
func wholeTokens(found string) string {
	words := strings.Fields(strings.TrimSuffix(found, "]"))
	for i, word := range words {
		if n, _ := strconv.Atoi(word); n > 1 {
			words[i] = strconv.Itoa((n + 19) / 20 * 20)
		}
	}
	return strings.Join(words, " ") + "]"
}

// TestShortCallsAreSeen: a monitor sees them, a pause of writing holds them, and the last command of a client may be one.
func TestShortCallsAreSeen(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		c, other := dial(t, s), dial(t, s)
		if got := other.run("MONITOR"); got != "OK" {
			t.Fatal(got)
		}
		c.send(strings.Repeat(encode("CL.THROTTLE", "user", "15", "30", "600"), 3))
		for range 3 {
			c.reply()
			if got := other.reply(); !strings.Contains(got, `"CL.THROTTLE" "user" "15" "30" "600"`) {
				t.Errorf("the monitor sees %s", got)
			}
		}
		other.run("RESET")
		if got := other.run("CLIENT LIST"); !strings.Contains(got, "cmd=cl.throttle") {
			t.Errorf("the client's last command is not told: %s", got)
		}
		const pause = 300 * time.Millisecond
		started := time.Now()
		if got := other.run("CLIENT PAUSE 300 WRITE"); got != "OK" {
			t.Fatal(got)
		}
		c.run("CL.THROTTLE user 15 30 600")
		if waited := time.Since(started); waited < pause {
			t.Errorf("a call was answered after %v of a pause of %v", waited, pause)
		}
	})
}
