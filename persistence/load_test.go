package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"syscall"
	"testing"

	"github.com/cellserver/cellserver/internal/vfs"
)

// resp makes commands of lines of words; a line that begins with # stays as it is.
func respOf(lines ...string) string {
	var out []byte
	for _, line := range lines {
		if strings.HasPrefix(line, "#") {
			out = append(append(out, line...), "\r\n"...)
			continue
		}
		words := strings.Fields(line)
		out = fmt.Appendf(out, "*%d\r\n", len(words))
		for _, word := range words {
			out = appendBulk(out, []byte(word))
		}
	}
	return string(out)
}

// logOf puts a log of one increment on a disk.
func logOf(t testing.TB, content string) Place {
	t.Helper()
	disk := vfs.NewDisk(1)
	at := onDisk(disk)
	putFile(t, disk, "appendonlydir", at.manifestPath(), "file appendonly.aof.1.incr.aof seq 1 type i\n")
	putFile(t, disk, "appendonlydir", at.path("appendonly.aof.1.incr.aof"), content)
	return at
}

// withExpiry is a TAT and its expiry, as SET takes them.
func withExpiry(tat int64) string { return fmt.Sprint(tat, " PXAT ", ExpiryMillis(tat)) }

func TestLoadCommands(t *testing.T) {
	bare, tat := fmt.Sprint(later), withExpiry(later)
	k := place{0, "k"}
	past, future := now/1e6-1000, now/1e6+1000
	alive := map[place]int64{k: later}
	strings1 := func(l *Loaded) int64 { return l.OtherStrings }
	for _, c := range []struct {
		name  string
		lines []string
		want  map[place]int64
		count func(*Loaded) int64 // 1 where something is left out
	}{
		{"set", []string{"SET k " + tat}, alive, nil},
		{"lower case", []string{"select 3", "set k " + tat}, map[place]int64{{3, "k"}: later}, nil},
		{"set again", []string{"SET k " + tat, "SET k " + withExpiry(later-1)}, map[place]int64{k: later - 1}, nil},
		{"set with an expiry a second off", []string{fmt.Sprint("SET k ", bare, " PXAT ", later/1e6+1000)}, alive, nil},
		{"set with another expiry", []string{"SET k " + tat, fmt.Sprint("SET k ", bare, " PXAT ", later/1e6+1001)}, nil, strings1},
		{"set with an expiry before its TAT", []string{"SET k " + tat, fmt.Sprint("SET k ", bare, " PXAT ", future)}, nil, strings1},
		{"set without an expiry", []string{"SET k " + tat, "SET k " + bare}, nil, strings1},
		{"set with a time that has passed", []string{"SET k " + tat, fmt.Sprint("SET k ", bare, " PXAT ", past)}, nil, nil},
		{"in seconds", []string{fmt.Sprint("SET k ", bare, " EXAT ", later/1e9)}, alive, nil},
		{"in seconds that have passed", []string{"SET k " + tat, fmt.Sprint("SET k ", bare, " EXAT ", past/1000)}, nil, nil},
		{"EX from the time recorded", []string{"#TS:1900000090", "SET k " + bare + " EX 10"}, alive, nil},
		{"EX from another time", []string{"#TS:1900000090", "SET k " + bare + " EX 12"}, nil, strings1},
		{"EX that has passed", []string{"#TS:1000", "SET k " + bare + " EX 100"}, nil, nil},
		{"PX from the time recorded", []string{"#TS:1900000090", "SET k " + bare + " PX 9500"}, alive, nil},
		{"EX of no recorded time", []string{"SET k " + bare + " EX 100"}, alive, nil},
		{"EX beyond all time", []string{fmt.Sprint("SET k ", bare, " EX ", int64(math.MaxInt64))}, nil, strings1},
		{"the last TAT", []string{"SET k " + withExpiry(math.MaxInt64)}, map[place]int64{k: math.MaxInt64}, nil},
		{"conditions", []string{"SET k " + tat + " NX GET"}, alive, nil},
		{"dead TAT", []string{"SET k " + tat, "SET k " + withExpiry(now)}, nil, nil},
		{"setex", []string{"SETEX k 100 " + bare, "#TS:1000", "SETEX l 100 " + bare}, alive, nil},
		{"psetex", []string{"PSETEX k 100000 " + bare, "#TS:1000", "PSETEX l 100 " + bare}, alive, nil},
		{"setex of a lock", []string{"SETEX k 100 1"}, nil, strings1},
		{"psetex of a time stamp", []string{"PSETEX k 5000 " + bare}, nil, strings1},

		{"set and pexpireat", []string{"SET k " + bare, fmt.Sprint("PEXPIREAT k ", later/1e6)}, alive, nil},
		{"set and expireat", []string{"SET k " + bare, fmt.Sprint("EXPIREAT k ", later/1e9)}, alive, nil},
		{"set and pexpire", []string{"SET k " + bare, "PEXPIRE k 100000"}, alive, nil},
		{"others between", []string{"SET k " + bare, "SET l " + bare, fmt.Sprint("PEXPIREAT k ", later/1e6), fmt.Sprint("PEXPIREAT l ", later/1e6)},
			map[place]int64{k: later, {0, "l"}: later}, nil},
		{"set and another expiry", []string{"SET k " + bare, fmt.Sprint("PEXPIREAT k ", future)}, nil, strings1},
		{"set and two expiries", []string{"SET k " + bare, fmt.Sprint("PEXPIREAT k ", future), fmt.Sprint("PEXPIREAT k ", later/1e6)}, alive, nil},
		{"set and an expiry that has passed", []string{"SET k 42", fmt.Sprint("PEXPIREAT k ", past)}, nil, nil},
		{"set and pexpireat in a transaction", []string{"MULTI", "SET k " + bare, fmt.Sprint("PEXPIREAT k ", later/1e6), "EXEC"}, alive, nil},
		{"set and pexpireat of another database", []string{"SET k " + bare, "SELECT 1", fmt.Sprint("PEXPIREAT k ", later/1e6)}, nil, strings1},
		{"set, swapdb and pexpireat", []string{"SET k " + bare, "SWAPDB 0 1", "SELECT 1", fmt.Sprint("PEXPIREAT k ", later/1e6)}, map[place]int64{{1, "k"}: later}, nil},
		{"set and del", []string{"SET k 42", "DEL k"}, nil, nil},
		{"set and flushdb", []string{"SET k 42", "FLUSHDB"}, nil, nil},
		{"set and flushall", []string{"SELECT 5", "SET k 42", "FLUSHALL"}, nil, nil},
		{"counter", []string{"SET k 42", "SET k 43"}, nil, strings1},
		{"counter, then a limit", []string{"SET k 42", "SET k " + tat}, alive, nil},
		{"counter, then a call", []string{"#TS:1900000000", "SET k 42", "CL.THROTTLE k 1 1 60"}, nil, nil},

		{"del", []string{"SET k " + tat, "SET l " + tat, "SET m " + tat, "DEL k m x"}, map[place]int64{{0, "l"}: later}, nil},
		{"unlink", []string{"SET k " + tat, "UNLINK k"}, nil, nil},
		{"getdel", []string{"SET k " + tat, "GETDEL k"}, nil, nil},
		{"flushdb", []string{"SET k " + tat, "SELECT 1", "SET k " + tat, "FLUSHDB ASYNC"}, map[place]int64{k: later}, nil},
		{"flushall", []string{"SET k " + tat, "SELECT 1", "SET k " + tat, "FLUSHALL"}, nil, nil},
		{"swapdb", []string{"SET k " + tat, "SWAPDB 0 15"}, map[place]int64{{15, "k"}: later}, nil},
		{"pexpireat", []string{"SET k " + tat, fmt.Sprint("PEXPIREAT k ", past)}, nil, nil},
		{"pexpireat to come", []string{"SET k " + tat, fmt.Sprint("PEXPIREAT k ", future)}, alive, nil},
		{"expireat", []string{"SET k " + tat, "EXPIREAT k 5"}, nil, nil},
		{"expire", []string{"SET k " + tat, "EXPIRE k -5"}, nil, nil},
		{"expire at the time recorded", []string{"SET k " + tat, "#TS:1000", "EXPIRE k 100"}, nil, nil},
		{"pexpire", []string{"SET k " + tat, "PEXPIRE k 100"}, map[place]int64{k: later}, nil},
		{"transaction", []string{"MULTI", "SET k " + tat, "SELECT 2", "SET l " + tat, "EXEC", "DEL l"},
			map[place]int64{k: later, {2, "l"}: 0}, nil},
		{"annotations", []string{"#TS:x", "#", "#whatever", "#TS:0", "#" + strings.Repeat("x", maxAnnotationBytes-3), "SET k " + tat}, map[place]int64{k: later}, nil},

		{"word", []string{"SET k " + tat, "SET k word"}, nil, strings1},
		{"other command", []string{"SET k " + tat, "RPUSH list a"}, map[place]int64{k: later}, func(l *Loaded) int64 { return l.OtherCommands }},
		{"too few arguments", []string{"SET k " + tat, "SET k"}, map[place]int64{k: later}, func(l *Loaded) int64 { return l.OtherCommands }},
		{"long key", []string{"SET " + strings.Repeat("x", MaxKeyBytes+1) + " " + tat}, nil, func(l *Loaded) int64 { return l.LongKeys }},
		{"longest key", []string{"SET " + strings.Repeat("x", MaxKeyBytes) + " " + tat}, map[place]int64{{0, strings.Repeat("x", MaxKeyBytes)}: later}, nil},
		{"call of no time", []string{"CL.THROTTLE k 1 1 60"}, nil, func(l *Loaded) int64 { return l.TimelessCalls }},
		{"call of a long key", []string{"#TS:1000", "CL.THROTTLE " + strings.Repeat("x", MaxKeyBytes+1) + " 1 1 60"}, nil, func(l *Loaded) int64 { return l.LongKeys }},
		{"call of too few arguments", []string{"#TS:1000", "CL.THROTTLE k 1 1"}, nil, func(l *Loaded) int64 { return l.OtherCommands }},
		{"call of too many arguments", []string{"#TS:1000", "CL.THROTTLE k 1 1 60 1 1"}, nil, func(l *Loaded) int64 { return l.OtherCommands }},
		{"call of a word", []string{"#TS:1000", "CL.THROTTLE k 1 1 x"}, nil, func(l *Loaded) int64 { return l.OtherCommands }},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := logOf(t, respOf(c.lines...))
			got, want := newState(), newState()
			for p, tat := range c.want {
				if tat != 0 {
					want.tats[p] = tat
				}
			}
			loaded, err := LoadLog(at, loadOptions, got)
			must(t, err)
			sameState(t, got, want)
			if left := c.count != nil; left != (loaded.Warning() != "") || left && c.count(loaded) != 1 {
				t.Errorf("%+v: %s", loaded, loaded.Warning())
			}
			options := loadOptions
			options.Strict = true
			if _, err := LoadLog(at, options, newState()); (err != nil) != (c.count != nil) || err != nil && !errors.Is(err, errStrict) {
				t.Errorf("strict: %v", err)
			}
		})
	}
}

// TestLoadOfMoreDatabases: a log with a database that there is not is refused, as a snapshot is.
func TestLoadOfMoreDatabases(t *testing.T) {
	for line, refused := range map[string]bool{
		"SELECT 15": false, "SELECT 16": true, "SELECT -1": true, "SELECT x": true,
		"SWAPDB 0 15": false, "SWAPDB 0 16": true, "SWAPDB 16 0": true,
	} {
		at := logOf(t, respOf("SET k "+withExpiry(later), line, "SET k "+withExpiry(later)))
		_, err := LoadLog(at, loadOptions, newState())
		var more *databasesError
		if errors.As(err, &more) != refused || !refused && err != nil || errors.Is(err, ErrDamage) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestLoadRestore has the expiry beside the payload: relative, absolute, or none.
func TestLoadRestore(t *testing.T) {
	other := payload(10, "\x01\x01\x01a")
	for _, c := range []struct {
		ttl     string
		payload []byte
		options string
		alive   bool
		warning string
	}{
		{"100000", AppendPayload(nil, later), "", true, ""},
		{fmt.Sprint(later / 1e6), AppendPayload(nil, later), "REPLACE ABSTTL", true, ""},
		{fmt.Sprint(later / 1e6), AppendPayload(nil, later), "absttl", true, ""},
		{"0", AppendPayload(nil, later), "", false, `left out: 1 strings that are not TATs; among the keys: "k"`},
		{"0", AppendPayload(nil, later), "ABSTTL", false, `left out: 1 strings that are not TATs; among the keys: "k"`},
		{"5000", AppendPayload(nil, later), "", false, `left out: 1 strings that are not TATs; among the keys: "k"`},
		{"100000", AppendPayload(nil, 42), "", false, `left out: 1 strings that are not TATs; among the keys: "k"`},
		{"5", AppendPayload(nil, 42), "ABSTTL", false, ""},
		{"100000", other, "", false, `left out: 1 values of other types; among the keys: "k"`},
		{"5", other, "ABSTTL", false, ""},
		{"100000", []byte("x"), "", false, `left out: 1 values of other types; among the keys: "k"`},
	} {
		words := strings.Fields("RESTORE k " + c.ttl)
		words = append(append(words, string(c.payload)), strings.Fields(c.options)...)
		content := fmt.Sprintf("*%d\r\n", len(words))
		for _, word := range words {
			content += string(appendBulk(nil, []byte(word)))
		}
		got := newState()
		loaded, err := LoadLog(logOf(t, respOf("SET k "+withExpiry(later+1))+content), loadOptions, got)
		must(t, err)
		if warning := loaded.Warning(); warning != c.warning || (got.tats[place{0, "k"}] == later) != c.alive || len(got.tats) > 1 {
			t.Errorf("RESTORE %s %q %s: %v, %s", c.ttl, c.payload, c.options, got.tats, warning)
		}
	}
}

func TestLoadThrottleAtItsTime(t *testing.T) {
	at := logOf(t, respOf("CL.THROTTLE a 1 1 60", "#TS:1700000000", "SELECT 2", "cl.throttle b 1 2 60", "#TS:1700000005", "CL.THROTTLE c -1 +1 60 007"))
	got := newState()
	loaded, err := LoadLog(at, loadOptions, got)
	must(t, err)
	want := []string{"2 b 1 2 60 1 at 1700000000000000000", "2 c -1 1 60 7 at 1700000005000000000"}
	if fmt.Sprint(got.calls) != fmt.Sprint(want) || loaded.Throttles != 2 || loaded.TimelessCalls != 1 || loaded.ClockNanos != 1700000005e9 {
		t.Errorf("%v, %+v", got.calls, loaded)
	}
}

// TestTimeHoldsPerLog: a call's time may have been recorded in an earlier file, or be that of the base.
func TestTimeHoldsPerLog(t *testing.T) {
	call := func(key string) string { return respOf("CL.THROTTLE " + key + " 1 1 60") }
	const created = 1700000000
	base := string(rdbFile(10, "\xfa\x05ctime\xc2\x00\xf1\x53\x65", entryOf("k", later))) // created
	for _, c := range []struct {
		name               string
		base, first, third string
		want               string
		warning            string
	}{
		{"recorded in an earlier file", "", "#TS:1700000007\n" + call("a"), call("b"),
			"0 a 1 1 60 1 at 1700000007000000000, 0 b 1 1 60 1 at 1700000007000000000", ""},
		{"before the first second after the base", base, call("a") + "#TS:1700000001\n" + call("b"), call("c"),
			"0 a 1 1 60 1 at 1700000000000000000, 0 b 1 1 60 1 at 1700000001000000000, 0 c 1 1 60 1 at 1700000001000000000", ""},
		{"and after it in another file", base, call("a"), "#TS:1700000001\n" + call("b"),
			"0 a 1 1 60 1 at 1700000000000000000, 0 b 1 1 60 1 at 1700000001000000000", ""},
		{"never recorded", base, call("a"), call("b"), "0 a 1 1 60 1 at 1700000000000000000, 0 b 1 1 60 1 at 1700000000000000000",
			"2 CL.THROTTLE commands without a time were applied as of 2023-11-14T22:13:20Z, when the log's base was written"},
		{"long before the first second", base, call("a") + "#TS:1700000002\n" + call("b"), call("c"),
			"0 a 1 1 60 1 at 1700000000000000000, 0 b 1 1 60 1 at 1700000002000000000, 0 c 1 1 60 1 at 1700000002000000000",
			"1 CL.THROTTLE commands without a time were applied as of 2023-11-14T22:13:20Z, when the log's base was written"},
		{"long before one in another file", base, call("a"), "#TS:1700009999\n" + call("b") + "#TS:1700009999\n",
			"0 a 1 1 60 1 at 1700000000000000000, 0 b 1 1 60 1 at 1700009999000000000",
			"1 CL.THROTTLE commands without a time were applied as of 2023-11-14T22:13:20Z, when the log's base was written"},
		{"before a clock that went back", base, call("a") + "#TS:1699999999\n", "", "0 a 1 1 60 1 at 1700000000000000000",
			"1 CL.THROTTLE commands without a time were applied as of 2023-11-14T22:13:20Z, when the log's base was written"},
		{"nothing known", "", call("a"), "", "", "left out: 1 CL.THROTTLE commands without a time (aof-timestamp-enabled records it)"},
		{"a base that says nothing", string(rdbFile(10)), call("a"), "#TS:1700000001\n" + call("b"), "0 b 1 1 60 1 at 1700000001000000000",
			"left out: 1 CL.THROTTLE commands without a time (aof-timestamp-enabled records it)"},
	} {
		at := logOf(t, c.first)
		manifest := "file appendonly.aof.1.incr.aof seq 1 type i\nfile appendonly.aof.2.incr.aof seq 2 type i\n"
		if c.base != "" {
			manifest = "file appendonly.aof.1.base.rdb seq 1 type b\n" + manifest
			putFile(t, at.FS, "appendonlydir", at.path("appendonly.aof.1.base.rdb"), c.base)
		}
		putFile(t, at.FS, "appendonlydir", at.manifestPath(), manifest)
		putFile(t, at.FS, "appendonlydir", at.path("appendonly.aof.2.incr.aof"), c.third)
		got := newState()
		loaded, err := LoadLog(at, loadOptions, got)
		must(t, err)
		if calls := strings.Join(got.calls, ", "); calls != c.want || loaded.Warning() != c.warning {
			t.Errorf("%s: %s; %s", c.name, calls, loaded.Warning())
		}
		options := loadOptions
		options.Strict = true
		if _, err := LoadLog(at, options, newState()); (err != nil) != (c.warning != "") || err != nil && (!errors.Is(err, errStrict) || !strings.Contains(err.Error(), "appendonlydir")) {
			t.Errorf("%s, strict: %v", c.name, err)
		}
		reports, err := Check(at.FS, at.manifestPath(), false, checkOptions)
		must(t, err)
		told := ""
		for i := range reports {
			told += reports[i].Loaded.Warning()
		}
		if told != c.warning {
			t.Errorf("%s: check says %s", c.name, told)
		}
	}
	// A single file of Redis before 7 that begins with an RDB file, as its base.
	disk := vfs.NewDisk(1)
	putFile(t, disk, ".", "appendonly.aof", base+call("a")+"#TS:1700000001\n"+call("b"))
	got := newState()
	if loaded, err := LoadLog(onDisk(disk), loadOptions, got); err != nil || len(got.calls) != 2 || loaded.Warning() != "" {
		t.Errorf("%v, %v", got.calls, err)
	}
	if created*second != 1700000000e9 {
		t.Error("the base says another time")
	}
}

// TestLoadRenamed: a Redis that calls commands otherwise writes them down so. Our own blocks have their own names.
func TestLoadRenamed(t *testing.T) {
	options := loadOptions
	options.Renamed = map[string]string{"x": "cl.throttle", "put": "set", "all": "multi", "del": "flushall", "del2": "del", "cl.nothing": "cl.throttle"}
	at := logOf(t, respOf("#TS:1700000000", "X a 1 1 60", "CL.THROTTLE b 1 1 60", "all", "put k "+withExpiry(later), "EXEC", "set l "+withExpiry(later),
		"SET m "+withExpiry(later), "DEL2 m"))
	got := newState()
	loaded, err := LoadLog(at, options, got)
	must(t, err)
	if len(got.calls) != 2 || len(got.tats) != 2 || loaded.Warning() != "" {
		t.Errorf("%v, %v, %s", got.calls, got.tats, loaded.Warning())
	}
	if loaded, err = LoadLog(at, loadOptions, newState()); err != nil || loaded.OtherCommands != 4 ||
		loaded.Warning() != `left out: 4 other commands; among the commands: "X", "ALL", "PUT", "DEL2"` {
		t.Errorf("without the names: %s, %v", loaded.Warning(), err)
	}
	s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: Always})
	s.set(0, "k", later)
	s.set(0, "gone", later)
	must(t, s.pass())
	s.del(0, "gone")
	must(t, s.pass())
	got = newState()
	_, err = LoadLog(s.place, options, got)
	must(t, err)
	sameState(t, got, s.state)
}

// TestWaitingIsBounded: strings that no expiry comes for are left out in the end, and do not crowd out the others.
func TestWaitingIsBounded(t *testing.T) {
	var content []byte
	const others = 3 * maxWaiting
	for i := range others {
		content = append(content, respOf(fmt.Sprint("SET counter:", i, " 42"))...)
		if i%1000 == 0 {
			content = append(content, respOf(fmt.Sprint("SET k", i, " ", later), fmt.Sprint("PEXPIREAT k", i, " ", later/1e6))...)
		}
	}
	got := newState()
	h := &newHistory(loadOptions).applier.strings
	loaded, err := LoadLog(logOf(t, string(content)), loadOptions, got)
	must(t, err)
	if loaded.OtherStrings != others || len(got.tats) != others/1000+1 {
		t.Errorf("%d left out, %d keys", loaded.OtherStrings, len(got.tats))
	}
	if want := `left out: 49152 strings that are not TATs; among the keys: "counter:0", "counter:1", "counter:2", "counter:3", "counter:4"`; loaded.Warning() != want {
		t.Error(loaded.Warning())
	}
	long := make([]byte, MaxKeyBytes)
	for i := range 3 * maxWaitingBytes / MaxKeyBytes {
		long[0], long[1] = byte(i), byte(i>>8)
		must(t, h.wait(0, long, 0, loaded))
	}
	if held := len(h.young) + len(h.old); held > 2*maxWaitingBytes/MaxKeyBytes+2 {
		t.Errorf("%d long keys are held", held)
	}
}

// TestKeepLeftOut: each file is kept once, whatever was kept before.
func TestKeepLeftOut(t *testing.T) {
	disk := vfs.NewDisk(1)
	for i, want := range []string{"dump.rdb.left-out", "dump.rdb.left-out.2", "dump.rdb.left-out.3"} {
		putFile(t, disk, ".", "new", string(rdbFile(10, fmt.Sprintf("\x01\x01%d\x00", i))))
		must(t, disk.Rename("new", "dump.rdb")) // as an operator or a snapshot puts it there
		for range 2 {
			loaded, err := LoadSnapshot(disk, "dump.rdb", loadOptions, newState())
			must(t, err)
			names, err := loaded.KeepLeftOut(disk)
			must(t, err)
			if len(names) != 1 || names[0] != want || string(readFile(t, disk, want)) != string(readFile(t, disk, "dump.rdb")) {
				t.Errorf("%d: %q, want %q", i, names, want)
			}
		}
	}
	failOn(disk, vfs.OpLink, "")
	loaded, err := LoadSnapshot(disk, "dump.rdb", loadOptions, newState())
	must(t, err)
	if names, err := loaded.KeepLeftOut(disk); !errors.Is(err, syscall.EIO) || len(names) != 0 {
		t.Error(names, err)
	}
}

// TestExamples: names of what was left out are safe to print, short and few.
func TestExamples(t *testing.T) {
	var e examples
	for _, name := range []string{"a\r\nb\x00\x1b[2J\xff", "twice", "twice", strings.Repeat("x", maxExampleBytes), strings.Repeat("y", maxExampleBytes+1), "", "too many", "far too many"} {
		e.add([]byte(name))
	}
	want := []string{`"a\r\nb\x00\x1b[2J\xff"`, `"twice"`, `"` + strings.Repeat("x", maxExampleBytes) + `"`, `"` + strings.Repeat("y", maxExampleBytes) + `"...`, `""`}
	if fmt.Sprint(e) != fmt.Sprint(want) {
		t.Error(e)
	}
}

// TestImpossibleClocks are refused, wherever they stand, unless they are to be passed over.
func TestImpossibleClocks(t *testing.T) {
	disk := vfs.NewDisk(1)
	number := func(n int64) string { return string(appendString(nil, fmt.Append(nil, n))) }
	block := func(clock int64) string {
		e := encoder{db: -1}
		e.begin(clock, 0)
		var b Batch
		b.Set(0, 1, []byte("k"), later)
		e.batch(&b, 0, 1)
		e.end()
		return string(e.buf)
	}
	for _, c := range []struct {
		name, content string
		clock         int64 // that is taken over; -1: refused
	}{
		{"dump.rdb", string(rdbFile(10, "\xfa\x10cellserver-clock"+number(math.MaxInt64))), -1},
		{"dump.rdb", string(rdbFile(10, "\xfa\x10cellserver-clock"+number(latestClock+1))), -1},
		{"dump.rdb", string(rdbFile(10, "\xfa\x10cellserver-clock"+number(latestClock))), latestClock},
		{"dump.rdb", string(rdbFile(10, "\xfa\x10cellserver-clock"+number(-1))), -1},
		{"dump.rdb", string(rdbFile(10, "\xfa\x10cellserver-clock"+number(0))), 0},
		{"dump.rdb", string(rdbFile(10, "\xfa\x05ctime"+number(1900000000))), 1900000000e9},
		{"dump.rdb", string(rdbFile(10, "\xfa\x05ctime"+number(latestClock/1e9))), latestClock},
		{"dump.rdb", string(rdbFile(10, "\xfa\x05ctime"+number(latestClock/1e9+1))), -1},
		{"dump.rdb", string(rdbFile(10, "\xfa\x05ctime"+number(math.MaxInt64))), -1},
		{"dump.rdb", string(rdbFile(10, "\xfa\x05ctime"+number(math.MinInt64))), -1},
		{"dump.rdb", string(rdbFile(10, "\xfa\x05ctime\x03abc")), 0},
		{"appendonly.aof", "#TS:1900000000\r\n", 1900000000e9},
		{"appendonly.aof", "#TS:-1\r\n", -1},
		{"appendonly.aof", "#TS:9223372036854775807\r\n", -1},
		{"appendonly.aof", fmt.Sprintf("#TS:%d\r\n", latestClock/int64(1e9)), latestClock},
		{"appendonly.aof", fmt.Sprintf("#TS:%d\r\n", latestClock/int64(1e9)+1), -1},
		{"appendonly.aof", block(now) + fmt.Sprintf("#TS:%d\r\n", latestClock/int64(1e9)+1), -1},
		{"appendonly.aof", block(latestClock), latestClock},
		{"appendonly.aof", block(latestClock + 1), -1},
		{"appendonly.aof", block(now) + block(math.MaxInt64), -1},
		{"appendonly.aof", block(-1), -1},
	} {
		putFile(t, disk, ".", c.name, c.content)
		load := func(options LoadOptions) (*Loaded, error) {
			if c.name == "dump.rdb" {
				return LoadSnapshot(disk, c.name, options, newState())
			}
			return LoadLog(onDisk(disk), options, newState())
		}
		loaded, err := load(loadOptions)
		refused := errors.Is(err, ErrDamage) && strings.Contains(err.Error(), "accept-machine-clock")
		if refused != (c.clock < 0) || !refused && (err != nil || loaded.ClockNanos != c.clock) {
			t.Errorf("%q: %+v, %v", c.content, loaded, err)
		}
		if checked := checked(t, disk, c.name, false); (checked.Err != nil) != refused {
			t.Errorf("%q: check says %s", c.content, checked.String())
		}
		options := loadOptions
		options.AnyClock = true
		if loaded, err := load(options); err != nil || loaded.ClockNanos > latestClock || loaded.TornBytes > 0 {
			t.Errorf("%q, any clock: %+v, %v", c.content, loaded, err)
		}
	}
}

func TestNoLog(t *testing.T) {
	if loaded, err := LoadLog(onDisk(vfs.NewDisk(1)), loadOptions, newState()); !errors.Is(err, fs.ErrNotExist) || loaded != nil {
		t.Error(loaded, err)
	}
	if loaded, err := LoadSnapshot(vfs.NewDisk(1), "dump.rdb", loadOptions, newState()); !errors.Is(err, fs.ErrNotExist) || loaded != nil {
		t.Error(loaded, err)
	}
}

// TestForeignTornTail cuts a log of Redis anywhere: what is whole is loaded, and a transaction without its end is not.
func TestForeignTornTail(t *testing.T) {
	tat := withExpiry(later)
	parts := []string{respOf("SET a " + tat), respOf("#TS:1000", "SET b "+tat), respOf("MULTI", "SET c "+tat, "SET d "+tat, "EXEC"), respOf("SET e " + tat)}
	content := strings.Join(parts, "")
	for size := 1; size < len(content); size++ {
		at := logOf(t, content[:size])
		got := newState()
		loaded, err := LoadLog(at, loadOptions, got)
		must(t, err)
		whole, keys := 0, 0
		for i, part := range parts {
			if whole+len(part) > size {
				break
			}
			whole += len(part)
			keys += []int{1, 1, 2, 1}[i]
		}
		if len(got.tats) != keys {
			t.Fatalf("cut to %d: %v", size, got.tats)
		}
		if kept := int64(size) - loaded.TornBytes; kept < int64(whole) || kept > int64(whole)+int64(len("#TS:1000\r\n")) {
			t.Fatalf("cut to %d: %d bytes are torn, %d whole", size, loaded.TornBytes, whole)
		}
		if loaded.TornBytes == 0 {
			continue
		}
		options := loadOptions
		options.TruncatedOK = false
		var damage *DamageError
		if _, err := LoadLog(at, options, newState()); !errors.As(err, &damage) || damage.Offset != int64(size)-loaded.TornBytes {
			t.Fatalf("cut to %d: %v", size, err)
		}
	}
}

func TestForeignDamage(t *testing.T) {
	tat := withExpiry(later)
	good := respOf("SET a " + tat)
	for _, bad := range []string{"x", "\x00\x00\x00", "*0\r\n", "*-1\r\n", "*x\r\n", "*1\r\nx", "*3\r\n$-1\r\n", "PING\r\n", "#" + strings.Repeat("x", maxAnnotationBytes-1) + "\n",
		"*2000000000\r\n", "#cellserver what\r\n"} {
		var damage *DamageError
		_, err := LoadLog(logOf(t, good+bad+good), loadOptions, newState())
		if !errors.As(err, &damage) || damage.Offset != int64(len(good)) || !strings.Contains(damage.File, "1.incr.aof") || damage.Advice == "" {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

// TestTornFileAmidOthers: a file may end amid a command only if nothing comes after it.
func TestTornFileAmidOthers(t *testing.T) {
	tat := withExpiry(later)
	torn := respOf("SET a "+tat) + "*3\r\n$3\r\nSE"
	for second, ok := range map[string]bool{"": true, "#cellserver\r\n": false, respOf("SET b " + tat): false, "*3\r\n": false} {
		at := logOf(t, torn)
		putFile(t, at.FS, "appendonlydir", at.manifestPath(), "file appendonly.aof.1.incr.aof seq 1 type i\nfile appendonly.aof.2.incr.aof seq 2 type i\n")
		putFile(t, at.FS, "appendonlydir", at.path("appendonly.aof.2.incr.aof"), strings.Replace(second, "#cellserver\r\n", "x", 1))
		loaded, err := LoadLog(at, loadOptions, newState())
		if (err == nil) != ok || err != nil && !errors.Is(err, ErrDamage) {
			t.Errorf("%q: %v", second, err)
		}
		if !ok {
			continue
		}
		log, err := OpenLog(at, Settings{Policy: Always}, loaded, now)
		must(t, err)
		must(t, log.Close())
		options := loadOptions
		options.TruncatedOK = false
		if _, err := LoadLog(at, options, newState()); err != nil {
			t.Errorf("the tail was not cut: %v", err)
		}
	}
}

// blocks returns a log of one base and one increment of ours, in which a change is synced after the other.
func blocks(t *testing.T, changes int) (*shop, string) {
	s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: Always})
	for i := range changes {
		s.set(0, fmt.Sprint("k", i), later)
		must(t, s.pass())
	}
	return s, s.file("appendonly.aof.1.incr.aof")
}

// TestOwnTornTail cuts a log of ours anywhere, and puts zeros in place of its end: whole blocks are loaded.
func TestOwnTornTail(t *testing.T) {
	s, content := blocks(t, 3)
	first := strings.Index(content[1:], blockPrefix) + 1
	for size := first; size < len(content); size++ {
		for _, zeros := range []int{0, 5000} {
			putFile(t, s.disk, "appendonlydir", s.place.path("appendonly.aof.1.incr.aof"), content[:size]+strings.Repeat("\x00", zeros))
			got, loaded := s.reload()
			whole := strings.Count(content[:size], "PXAT\r\n$13\r\n1900000100000\r\n")
			if len(got.tats) != whole || loaded.TornBytes > int64(200+zeros) {
				t.Fatalf("cut to %d and %d zeros: %d keys, %+v", size, zeros, len(got.tats), loaded)
			}
			torn := content[:size][size-min(size, int(loaded.TornBytes)+zeros):]
			if in := "a batch of commands"; zeros == 0 && (loaded.TornIn == in) != strings.HasPrefix(torn, blockPrefix) {
				t.Fatalf("cut to %d: torn in %q is %q", size, loaded.TornIn, torn)
			}
		}
	}
}

// TestOwnDamage turns every bit of a log of ours. In the last block it is a tail; before, the start is refused, unless the bit makes
// no difference.
func TestOwnDamage(t *testing.T) {
	s, content := blocks(t, 3)
	lastBlock := strings.LastIndex(content, blockPrefix)
	path := s.place.path("appendonly.aof.1.incr.aof")
	refused := 0
	for i := range content {
		for bit := range 8 {
			damaged := []byte(content)
			damaged[i] ^= 1 << bit
			putFile(t, s.disk, "appendonlydir", path, string(damaged))
			got := newState()
			loaded, err := LoadLog(s.place, loadOptions, got)
			switch {
			case i >= lastBlock && (err != nil || len(got.tats) < 2):
				t.Fatalf("bit %d of byte %d turned: %v, %v", bit, i, err, got.tats)
			case err != nil && !errors.Is(err, ErrDamage):
				t.Fatal(err)
			case err != nil:
				refused++
			case i < lastBlock && (len(got.tats) != 3 || loaded.TornBytes != 0):
				t.Fatalf("bit %d of byte %d turned: %v, %+v", bit, i, got.tats, loaded)
			}
			for p, tat := range got.tats {
				if s.state.tats[p] != tat {
					t.Fatalf("bit %d of byte %d turned: %v is %d", bit, i, p, tat)
				}
			}
		}
	}
	if refused < lastBlock*8*9/10 {
		t.Errorf("%d refused of %d", refused, lastBlock*8)
	}
}

func TestLoadProgress(t *testing.T) {
	s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: Always})
	for i := range 20_000 {
		s.set(0, fmt.Sprint(i), later)
	}
	must(t, s.pass())
	must(t, s.rewrite())
	for i := range 20_000 {
		s.set(1, fmt.Sprint(i), later)
	}
	must(t, s.pass())
	var calls, last, total int64
	options := loadOptions
	options.Progress = func(done, all int64) error {
		if done < last || done > all {
			t.Errorf("%d after %d, of %d", done, last, all)
		}
		calls, last, total = calls+1, done, all
		return nil
	}
	_, err := LoadLog(s.place, options, newState())
	must(t, err)
	if total != s.log.Stats().CurrentBytes || calls < total/(4*inputBytes) || last < total/2 {
		t.Errorf("%d calls, the last at %d of %d, %d", calls, last, total, s.log.Stats().CurrentBytes)
	}
	for _, end := range []int64{1, calls / 2, calls} { // in the base, between the files, at the end
		calls = 0
		enough := errors.New("enough")
		options.Progress = func(_, _ int64) error {
			if calls++; calls == end {
				return enough
			}
			return nil
		}
		if _, err := LoadLog(s.place, options, newState()); !errors.Is(err, enough) || errors.Is(err, ErrDamage) || calls != end {
			t.Errorf("ended at call %d: %v after %d calls", end, err, calls)
		}
	}
}

func FuzzLoadLog(f *testing.F) {
	f.Add([]byte(respOf("SELECT 1", "SET k 1900000100000000000 PXAT 1900000100000", "#TS:5", "CL.THROTTLE k 1 1 1", "MULTI", "DEL k", "EXEC")))
	e := encoder{db: -1}
	e.begin(now, 0)
	var b Batch
	b.Set(1, 1, []byte("k"), later)
	e.batch(&b, 0, 1)
	e.end()
	f.Add(append(e.buf, e.buf...))
	f.Fuzz(func(t *testing.T, content []byte) {
		at := logOf(t, string(content))
		first := newState()
		loaded, err := LoadLog(at, loadOptions, first)
		if err != nil {
			return
		}
		log, err := OpenLog(at, Settings{Policy: Always}, loaded, now)
		must(t, err)
		must(t, log.Close())
		options := loadOptions
		options.TruncatedOK = false
		again := newState()
		if _, err := LoadLog(at, options, again); err != nil {
			t.Fatal(err)
		}
		sameState(t, again, first)
	})
}
