package persistence

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
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

func TestLoadCommands(t *testing.T) {
	tat := fmt.Sprint(later)
	k := place{0, "k"}
	past, future := now/1e6-1000, now/1e6+1000
	for _, c := range []struct {
		name  string
		lines []string
		want  map[place]int64
		count func(*Loaded) int64 // 1 where something is left out
	}{
		{"set", []string{"SET k " + tat}, map[place]int64{k: later}, nil},
		{"lower case", []string{"select 3", "set k " + tat}, map[place]int64{{3, "k"}: later}, nil},
		{"set again", []string{"SET k " + tat, fmt.Sprint("SET k ", later-1)}, map[place]int64{k: later - 1}, nil},
		{"set with a time to come", []string{fmt.Sprint("SET k ", tat, " PXAT ", future)}, map[place]int64{k: later}, nil},
		{"set with a time that has passed", []string{"SET k " + tat, fmt.Sprint("SET k ", tat, " PXAT ", past)}, nil, nil},
		{"in seconds", []string{"SET k " + tat, fmt.Sprint("SET k ", tat, " EXAT ", past/1000)}, nil, nil},
		{"EX from the time recorded", []string{"#TS:1000", "SET k " + tat + " EX 100"}, nil, nil},
		{"PX from the time recorded", []string{"#TS:1000", "SET k " + tat + " PX 100"}, nil, nil},
		{"EX of no recorded time", []string{"SET k " + tat + " EX 100"}, map[place]int64{k: later}, nil},
		{"EX beyond all time", []string{fmt.Sprint("SET k ", tat, " EX ", int64(math.MaxInt64))}, map[place]int64{k: later}, nil},
		{"conditions", []string{"SET k " + tat + " NX GET KEEPTTL"}, map[place]int64{k: later}, nil},
		{"dead TAT", []string{"SET k " + tat, fmt.Sprint("SET k ", now)}, nil, nil},
		{"setex", []string{"SETEX k 100 " + tat, "#TS:1000", "SETEX l 100 " + tat}, map[place]int64{k: later}, nil},
		{"psetex", []string{"PSETEX k 100 " + tat, "#TS:1000", "PSETEX l 100 " + tat}, map[place]int64{k: later}, nil},
		{"del", []string{"SET k " + tat, "SET l " + tat, "SET m " + tat, "DEL k m x"}, map[place]int64{{0, "l"}: later}, nil},
		{"unlink", []string{"SET k " + tat, "UNLINK k"}, nil, nil},
		{"getdel", []string{"SET k " + tat, "GETDEL k"}, nil, nil},
		{"flushdb", []string{"SET k " + tat, "SELECT 1", "SET k " + tat, "FLUSHDB ASYNC"}, map[place]int64{k: later}, nil},
		{"flushall", []string{"SET k " + tat, "SELECT 1", "SET k " + tat, "FLUSHALL"}, nil, nil},
		{"swapdb", []string{"SET k " + tat, "SWAPDB 0 15"}, map[place]int64{{15, "k"}: later}, nil},
		{"pexpireat", []string{"SET k " + tat, fmt.Sprint("PEXPIREAT k ", past)}, nil, nil},
		{"pexpireat to come", []string{"SET k " + tat, fmt.Sprint("PEXPIREAT k ", future)}, map[place]int64{k: later}, nil},
		{"expireat", []string{"SET k " + tat, "EXPIREAT k 5"}, nil, nil},
		{"expire", []string{"SET k " + tat, "EXPIRE k -5"}, nil, nil},
		{"expire at the time recorded", []string{"SET k " + tat, "#TS:1000", "EXPIRE k 100"}, nil, nil},
		{"pexpire", []string{"SET k " + tat, "PEXPIRE k 100"}, map[place]int64{k: later}, nil},
		{"transaction", []string{"MULTI", "SET k " + tat, "SELECT 2", "SET l " + tat, "EXEC", "DEL l"},
			map[place]int64{k: later, {2, "l"}: 0}, nil},
		{"annotations", []string{"#TS:x", "#", "#whatever", "#TS:99999999999999", "#" + strings.Repeat("x", maxAnnotationBytes-3), "SET k " + tat}, map[place]int64{k: later}, nil},

		{"word", []string{"SET k " + tat, "SET k word"}, nil, func(l *Loaded) int64 { return l.OtherStrings }},
		{"other command", []string{"SET k " + tat, "RPUSH list a"}, map[place]int64{k: later}, func(l *Loaded) int64 { return l.OtherCommands }},
		{"too few arguments", []string{"SET k " + tat, "SET k"}, map[place]int64{k: later}, func(l *Loaded) int64 { return l.OtherCommands }},
		{"database 16", []string{"SET k " + tat, "SELECT 16", "SET k 5", "SELECT 0"}, map[place]int64{k: later},
			func(l *Loaded) int64 { return l.OtherDatabases }},
		{"swap with database 16", []string{"SET k " + tat, "SWAPDB 0 16"}, map[place]int64{k: later},
			func(l *Loaded) int64 { return l.OtherDatabases }},
		{"long key", []string{"SET " + strings.Repeat("x", MaxKeyBytes+1) + " " + tat}, nil, func(l *Loaded) int64 { return l.LongKeys }},
		{"longest key", []string{"SET " + strings.Repeat("x", MaxKeyBytes) + " " + tat}, map[place]int64{{0, strings.Repeat("x", MaxKeyBytes)}: later}, nil},
		{"call of no time", []string{"CL.THROTTLE k 1 1 60"}, nil, func(l *Loaded) int64 { return l.TimelessCalls }},
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

func TestLoadRestore(t *testing.T) {
	at := logOf(t, "*4\r\n$7\r\nRESTORE\r\n$1\r\nk\r\n$1\r\n0\r\n"+string(appendBulk(nil, AppendPayload(nil, later)))+respOf("SET l "+fmt.Sprint(later), "RESTORE l 0 x"))
	got := newState()
	loaded, err := LoadLog(at, loadOptions, got)
	must(t, err)
	if len(got.tats) != 1 || got.tats[place{0, "k"}] != later || loaded.OtherTypes != 1 {
		t.Errorf("%v, %+v", got.tats, loaded)
	}
}

func TestLoadThrottleAtItsTime(t *testing.T) {
	at := logOf(t, respOf("CL.THROTTLE a 1 1 60", "#TS:1700000000", "SELECT 2", "cl.throttle b 1 1 60", "#TS:1700000005", "CL.THROTTLE c 1 1"))
	got := newState()
	loaded, err := LoadLog(at, loadOptions, got)
	must(t, err)
	want := []string{
		`2 ["cl.throttle" "b" "1" "1" "60"] at 1700000000000000000`,
		`2 ["CL.THROTTLE" "c" "1" "1"] at 1700000005000000000`,
	}
	if fmt.Sprint(got.calls) != fmt.Sprint(want) || loaded.Throttles != 2 || loaded.TimelessCalls != 1 || loaded.ClockNanos != 1700000005e9 {
		t.Errorf("%v, %+v", got.calls, loaded)
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
	tat := fmt.Sprint(later)
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
	tat := fmt.Sprint(later)
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
	tat := fmt.Sprint(later)
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
