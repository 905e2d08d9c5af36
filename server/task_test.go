package server

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
)

// manyKeys is how many keys take KEYS several steps on any machine.
const manyKeys = 100_000

// startKeys has a connection begin KEYS of many keys, and fails the test unless that takes more than one pass.
func startKeys(s stage, c *conn, after string) {
	s.t.Helper()
	s.say(c, encode("KEYS", "*")+after)
	s.turn()
	if c.task == nil {
		s.t.Fatal("KEYS of many keys is done in a pass")
	}
}

// listed reads the reply to KEYS and returns what is behind it.
func listed(t testing.TB, reply string) (keys map[string]bool, rest string) {
	t.Helper()
	head, rest, _ := strings.Cut(reply, "\r\n")
	count, err := strconv.Atoi(strings.TrimPrefix(head, "*"))
	if err != nil {
		t.Fatalf("a reply begins with %q", head)
	}
	keys = make(map[string]bool)
	for range count {
		var key string
		_, rest, _ = strings.Cut(rest, "\r\n")
		key, rest, _ = strings.Cut(rest, "\r\n")
		if keys[key] {
			t.Fatalf("%q is listed twice", key)
		}
		keys[key] = true
	}
	return keys, rest
}

// TestKeysInSteps: KEYS of many keys lists each that is there throughout once, whatever is done between its steps, and the
// commands behind it are answered behind it.
func TestKeysInSteps(t *testing.T) {
	for name, meanwhile := range map[string]func(s stage, other *conn, i int){
		"nothing": func(stage, *conn, int) {},
		"others come and go": func(s stage, other *conn, i int) {
			s.say(other, encode("DEL", fmt.Sprint("other:", i-1))+encode("CL.THROTTLE", fmt.Sprint("other:", i), "15", "30", "60"))
		},
		"database swapped and back": func(s stage, other *conn, i int) { s.say(other, encode("SWAPDB", "0", "1")) },
	} {
		s := newStage(t)
		s.fill(0, manyKeys)
		s.fill(1, manyKeys)
		c, transport := s.join()
		other, _ := s.join()
		startKeys(s, c, encode("ECHO", "behind"))
		for i := 0; c.task != nil; i++ {
			meanwhile(s, other, i)
			s.turn()
		}
		s.rest()
		keys, rest := listed(t, transport.got.String())
		for i := range manyKeys {
			if !keys[fmt.Sprint("key:", i)] {
				t.Fatalf("%s: key:%d is missing", name, i)
			}
		}
		if rest != "$6\r\nbehind\r\n" {
			t.Errorf("%s: behind it is %.100q", name, rest)
		}
		if held := s.server.unsentMemory.Load(); held != 0 {
			t.Errorf("%s: %d bytes are held", name, held)
		}
		if calls := s.stats.byCommand[s.server.commands.byName["keys"].index].calls; calls != 1 {
			t.Errorf("%s: KEYS is counted %d times", name, calls)
		}
	}
}

// TestKeysMeetsTheEnd: what is flushed between the steps of KEYS is listed in part, and a connection that is closed or killed
// leaves nothing behind.
func TestKeysMeetsTheEnd(t *testing.T) {
	for _, end := range []string{"FLUSHALL", "CLIENT KILL TYPE normal", "close"} {
		s := newStage(t)
		s.fill(0, manyKeys)
		c, transport := s.join()
		other, _ := s.join()
		startKeys(s, c, "")
		if end == "close" {
			s.close(c)
		} else {
			s.ask(other, strings.Fields(end)...)
		}
		s.rest()
		if end == "FLUSHALL" {
			if keys, rest := listed(t, transport.got.String()); len(keys) == 0 || len(keys) == manyKeys || rest != "" {
				t.Errorf("%s: %d keys, then %.20q", end, len(keys), rest)
			}
		} else if !transport.closed || transport.got.Len() > 0 {
			t.Errorf("%s: closed: %v, after %d bytes", end, transport.closed, transport.got.Len())
		}
		if held := s.server.unsentMemory.Load(); held != 0 || c.task != nil {
			t.Errorf("%s: %d bytes are held", end, held)
		}
	}
}

// TestKeysAtOnce: within a transaction and a script KEYS is one step.
func TestKeysAtOnce(t *testing.T) {
	s := newStage(t)
	s.fill(0, manyKeys)
	c, _ := s.join()
	s.ask(c, "MULTI")
	s.ask(c, "KEYS", "*")
	got := s.ask(c, "EXEC")
	if keys, _ := listed(t, strings.TrimPrefix(got, "*1\r\n")); len(keys) != manyKeys {
		t.Errorf("in a transaction %d keys", len(keys))
	}
	if got := s.ask(c, "EVAL", "return #redis.call('KEYS', '*')", "0"); got != ":100000\r\n" {
		t.Errorf("in a script %q keys", got)
	}
}

// TestMuteTasks: a task that nobody wants the reply to leaves none, nor does it silence the command behind it.
func TestMuteTasks(t *testing.T) {
	s := newStage(t)
	s.fill(0, manyKeys)
	c, transport := s.join()
	s.say(c, encode("CLIENT", "REPLY", "SKIP"))
	s.rest()
	startKeys(s, c, encode("PING"))
	s.rest()
	if got := transport.got.String(); got != "+PONG\r\n" {
		t.Errorf("after SKIP: %.100q", got)
	}
	s.ask(c, "CLIENT", "REPLY", "OFF")
	transport.got.Reset()
	startKeys(s, c, wideCommand("WATCH", 20_000)+encode("CLIENT", "REPLY", "ON"))
	s.rest()
	if got := transport.got.String(); got != "+OK\r\n" {
		t.Errorf("after OFF: %.100q", got)
	}
	if held := s.server.unsentMemory.Load(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

// TestWatchInSteps: a change of a key between the steps of WATCH counts from the step on that came to it, and of all keys after
// the reply. Whatever way the watching ends, the keys are forgotten a piece at a time.
func TestWatchInSteps(t *testing.T) {
	const keys = 100_000
	for _, changed := range []string{"key:0", "other"} {
		s := newStage(t)
		c, transport := s.join()
		other, _ := s.join()
		s.say(c, wideCommand("WATCH", keys))
		for c.task == nil {
			s.turn()
		}
		s.ask(other, "CL.THROTTLE", changed, "15", "30", "60")
		s.rest()
		if got := transport.got.String(); got != "+OK\r\n" || s.engine.Watched() != keys {
			t.Fatalf("WATCH gets %q and watches %d keys", got, s.engine.Watched())
		}
		s.ask(c, "MULTI")
		want := map[string]string{"key:0": "*-1\r\n", "other": "*0\r\n"}[changed]
		if got := s.ask(c, "EXEC"); got != want {
			t.Errorf("EXEC after a change of %s: %q", changed, got)
		}
		if watched := s.engine.Watched(); watched != 0 {
			t.Errorf("%d keys are still watched", watched)
		}
		s.ask(c, "RESET")
		s.say(c, wideCommand("WATCH", keys))
		s.rest()
		if watched := s.engine.Watched(); watched != keys {
			t.Errorf("%d keys are watched", watched)
		}
		s.close(c)
		if turns := s.rest(); turns < 2 || s.engine.Watched() != 0 {
			t.Errorf("in %d turns all but %d keys are forgotten", turns, s.engine.Watched())
		}
	}
}

// TestWatchTwice: a key is watched once by a connection, so that watching it over and over takes no memory.
func TestWatchTwice(t *testing.T) {
	s := newStage(t)
	c, _ := s.join()
	for range 100 {
		s.ask(c, "WATCH", "a", "b", "a")
	}
	if list := c.watched[0].list; len(list) != 2 || s.engine.Watched() != 2 {
		t.Errorf("%d keys, of which the shard knows %d", len(list), s.engine.Watched())
	}
}

// TestSubscriptionsInSteps: a connection may subscribe to very many channels and go. Every name is confirmed in order with the
// right count.
func TestSubscriptionsInSteps(t *testing.T) {
	const channels = 30_000
	s := newStage(t)
	c, transport := s.join()
	other, _ := s.join()
	s.say(c, wideCommand("SUBSCRIBE", channels)+encode("PING"))
	for c.task == nil {
		s.turn()
	}
	s.rest()
	in := strings.Split(transport.got.String(), "*3\r\n$9\r\nsubscribe\r\n")[1:]
	if len(in) != channels {
		t.Fatalf("%d confirmations", len(in))
	}
	for i, confirmation := range in[:channels-1] {
		if name := fmt.Sprint("key:", i); confirmation != fmt.Sprintf("$%d\r\n%s\r\n:%d\r\n", len(name), name, i+1) {
			t.Fatalf("confirmation %d is %q", i, confirmation)
		}
	}
	if !strings.HasSuffix(in[channels-1], "*2\r\n$4\r\npong\r\n$0\r\n\r\n") {
		t.Errorf("at last %q", in[channels-1])
	}
	// RESET leaves them all at once for who publishes, and those that follow are others.
	s.say(c, encode("RESET")+encode("SUBSCRIBE", "key:7"))
	s.turn()
	s.turn()
	if got := s.ask(other, "PUBLISH", "key:7", "x"); got != ":1\r\n" {
		t.Errorf("PUBLISH to one who has come back: %q", got)
	}
	s.rest()
	if got := s.ask(other, "PUBSUB", "CHANNELS"); got != "*1\r\n$5\r\nkey:7\r\n" {
		t.Errorf("channels: %.100q", got)
	}
	if names := len(s.server.pubsub.subscribers[plainChannel]); names != 1 {
		t.Errorf("the registry has %d channels", names)
	}
	s.ask(c, "UNSUBSCRIBE")
	s.say(c, wideCommand("SUBSCRIBE", channels))
	s.rest()
	s.close(c)
	if got := s.ask(other, "PUBLISH", "key:7", "x"); got != ":0\r\n" {
		t.Errorf("PUBLISH to one who is gone: %q", got)
	}
	if names := len(s.server.pubsub.subscribers[plainChannel]); names != 0 {
		t.Errorf("the registry has %d channels", names)
	}
}

// TestRandomKeyAmongTheDead: RANDOMKEY finds the live key among very many that are dead and not swept, in steps.
func TestRandomKeyAmongTheDead(t *testing.T) {
	s := newStage(t)
	s.fill(0, manyKeys)
	s.engine.Advance(s.engine.Now() + 3601e9)
	s.server.clock.notBefore(s.engine.Now())
	s.now = s.server.clock.now()
	c, transport := s.join()
	s.ask(c, "CL.THROTTLE", "live", "15", "30", "60000")
	transport.got.Reset()
	s.say(c, encode("RANDOMKEY"))
	s.turn()
	if c.task == nil {
		t.Error("a search among many keys is done in a pass")
	}
	s.rest()
	if got := transport.got.String(); got != "$4\r\nlive\r\n" {
		t.Errorf("RANDOMKEY: %q", got)
	}
	s.ask(c, "DEL", "live")
	if got := s.ask(c, "RANDOMKEY"); got != "$-1\r\n" {
		t.Errorf("RANDOMKEY where all are dead: %q", got)
	}
}

// TestClientListInSteps: CLIENT LIST has a line for each of many connections, in the order of their numbers.
func TestClientListInSteps(t *testing.T) {
	const clients = 2000
	for version, head := range map[string]string{"2": "$%d\r\n", "3": "=%d\r\ntxt:"} {
		s := newStage(t)
		c, transport := s.join()
		for range clients - 1 {
			s.join()
		}
		s.ask(c, "HELLO", version)
		transport.got.Reset()
		s.say(c, encode("CLIENT", "LIST")+encode("PING"))
		s.turn()
		if c.task == nil {
			t.Error("CLIENT LIST of many connections is done in a pass")
		}
		s.rest()
		text := strings.TrimSuffix(transport.got.String(), "\r\n+PONG\r\n")
		length, err := strconv.Atoi(text[1:strings.Index(text, "\r\n")])
		if err != nil || !strings.HasPrefix(text, fmt.Sprintf(head, length)) {
			t.Fatalf("version %s: %.100q", version, text)
		}
		text = text[len(text)-(length-len(head)+len("$%d\r\n")):]
		lines := strings.SplitAfter(text, "\n")
		if len(lines) != clients+1 || lines[clients] != "" {
			t.Fatalf("version %s: %d lines", version, len(lines)-1)
		}
		for i, line := range lines[:clients] {
			if !strings.HasPrefix(line, fmt.Sprintf("id=%d ", c.id+int64(i))) {
				t.Fatalf("line %d: %q", i, line)
			}
		}
	}
}

// TestTasksOverShards: what is carried out in steps is right with several shards, while other loops are at work.
func TestTasksOverShards(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		defer keepBusy(t, s)()
		c := dial(t, s)
		later := strconv.FormatInt(time.Now().Add(time.Hour).UnixNano(), 10)
		const keys = 20_000
		go func() {
			for i := range keys {
				_, _ = io.WriteString(c, encode("SET", fmt.Sprint("key:", i), later))
			}
		}()
		for range keys {
			c.reply()
		}
		c.send(encode("KEYS", "key:*") + wideCommand("WATCH", keys) + encode("CLIENT", "LIST") + encode("SET", "key:17", later) + encode("MULTI") + encode("EXEC"))
		if got := strings.Count(c.reply(), "key:"); got != keys {
			t.Errorf("KEYS: %d", got)
		}
		for _, want := range []string{"OK", "id=", "OK", "OK", "nil"} {
			if got := c.reply(); !strings.Contains(got, want) {
				t.Errorf("%.100s instead of %s", got, want)
			}
		}
		c.Close()
		eventually(t, "nothing is watched", func() bool {
			watched := 0
			for _, l := range s.loops {
				counted := make(chan int)
				l.post(&envelope{deliver: func(l *loop) { counted <- l.engine.Watched() }})
				watched += <-counted
			}
			return watched == 0
		})
	})
}

// TestMemoryOfLargeRepliesGoesBack: soon after a large reply is sent, the process holds about as much as before.
func TestMemoryOfLargeRepliesGoesBack(t *testing.T) {
	s := startServer(t, func(c *Config) { c.Shards = 1 })
	c := dial(t, s)
	later := strconv.FormatInt(time.Now().Add(time.Hour).UnixNano(), 10)
	long := strings.Repeat("x", 60_000)
	const keys = 2000
	for i := range keys {
		c.do("SET", fmt.Sprint(long, i), later)
	}
	c.run("MEMORY PURGE")
	before := readMemory().mapped
	c.send(encode("KEYS", "*"))
	if n, err := io.CopyN(io.Discard, c.in, keys*int64(len(long))); err != nil {
		t.Fatalf("%v after %d bytes", err, n)
	}
	if growth := int64(readMemory().mapped) - int64(before); growth < 60<<20 {
		t.Fatalf("the reply takes %d bytes: the test is none", growth)
	}
	eventually(t, "the memory is given back", func() bool { return readMemory().mapped < before+20<<20 })
}

// TestScanCountIsBounded: however large COUNT is, a call looks at about as many keys as it may, and the scan goes on.
func TestScanCountIsBounded(t *testing.T) {
	s := newStage(t)
	s.fill(0, 3*scanCountMax)
	c, _ := s.join()
	for _, count := range []int{scanCountMax, scanCountMax + 1, 1_000_000_000} {
		found, calls := 0, 0
		for cursor := ""; cursor != "0"; calls++ {
			reply := s.ask(c, "SCAN", cursor, "COUNT", strconv.Itoa(count))
			lines := strings.SplitN(reply, "\r\n", 4)
			cursor = lines[2]
			keys, _ := listed(t, lines[3])
			if found += len(keys); len(keys) > scanCountMax+100 { // those of one position come together
				t.Errorf("COUNT %d: %d keys at once", count, len(keys))
			}
		}
		if found != 3*scanCountMax || calls < 3 || calls > 5 {
			t.Errorf("COUNT %d: %d keys in %d calls", count, found, calls)
		}
	}
}

// TestPurgeKeepsNobodyWaiting: MEMORY PURGE is answered when it is done, in its turn, and others are answered meanwhile.
func TestPurgeKeepsNobodyWaiting(t *testing.T) {
	s := newStage(t)
	c, transport := s.join()
	other, _ := s.join()
	s.say(c, encode("MEMORY", "PURGE")+encode("PING"))
	s.turn()
	if transport.got.Len() > 0 || !c.waiting {
		t.Errorf("before it is done: %q", transport.got.String())
	}
	if got := s.ask(other, "PING"); got != "+PONG\r\n" {
		t.Errorf("another gets %q", got)
	}
	eventually(t, "the purge is done", func() bool {
		s.rest()
		return transport.got.String() == "+OK\r\n+PONG\r\n"
	})
	s.ask(c, "MULTI")
	s.ask(c, "MEMORY", "PURGE")
	if got := s.ask(c, "EXEC"); got != "*1\r\n+OK\r\n" {
		t.Errorf("in a transaction: %q", got)
	}
	s.say(c, encode("MEMORY", "PURGE"))
	s.turn()
	s.close(c)
	eventually(t, "the end is told", func() bool { return !s.inbox.empty() })
	s.rest()
}
