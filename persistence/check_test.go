package persistence

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cellserver/cellserver/internal/vfs"
)

// checkOptions are those of a start.
var checkOptions = LoadOptions{NowNanos: now, Databases: 16}

// checked checks a path and wants one report.
func checked(t testing.TB, fsys vfs.FS, path string, fix bool) Checked {
	t.Helper()
	reports, err := Check(fsys, path, fix, checkOptions)
	if err != nil || len(reports) != 1 {
		t.Fatal(reports, err)
	}
	return reports[0]
}

func TestCheckTornTail(t *testing.T) {
	s, content := blocks(t, 3)
	path := s.place.path("appendonly.aof.1.incr.aof")
	if c := checked(t, s.disk, path, true); c.Err != nil || c.Copy != "" || !strings.HasSuffix(c.String(), "3 entries, 3 commands: sound") {
		t.Error(c.String())
	}
	whole := int64(strings.LastIndex(content, blockPrefix))
	for i := 1; i <= 2; i++ {
		torn := content[:len(content)-i]
		putFile(t, s.disk, "appendonlydir", path, torn)
		var damage *DamageError
		if c := checked(t, s.disk, path, false); !errors.As(c.Err, &damage) || damage.Offset != whole || !strings.Contains(c.String(), "--fix") {
			t.Error(c.String())
		}
		if got := readFile(t, s.disk, path); string(got) != torn {
			t.Error("checked and changed")
		}
		c := checked(t, s.disk, path, true)
		if c.Err != nil || c.Copy != fmt.Sprint(path, ".torn.", i) || !strings.Contains(c.String(), c.Copy) {
			t.Error(c.String())
		}
		s.disk.Crash()
		if got := readFile(t, s.disk, c.Copy); string(got) != torn {
			t.Errorf("the copy is %q", got)
		}
		if got := readFile(t, s.disk, path); string(got) != content[:whole] {
			t.Errorf("the file is %q", got)
		}
		if c := checked(t, s.disk, path, false); c.Err != nil {
			t.Error(c.String())
		}
	}
	putFile(t, s.disk, "appendonlydir", path, content[:len(content)-1])
	failOn(s.disk, vfs.OpSync, ".torn.3")
	if _, err := Check(s.disk, path, true, checkOptions); !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	if got := readFile(t, s.disk, path); string(got) != content[:len(content)-1] {
		t.Error("cut without a copy")
	}
}

func TestCheckDamage(t *testing.T) {
	s, content := blocks(t, 3)
	path := s.place.path("appendonly.aof.1.incr.aof")
	damaged := strings.Replace(content, "k0", "k9", 1)
	putFile(t, s.disk, "appendonlydir", path, damaged)
	for _, fix := range []bool{false, true} {
		c := checked(t, s.disk, path, fix)
		if !errors.Is(c.Err, ErrDamage) || !strings.Contains(c.String(), "checksum") {
			t.Error(c.String())
		}
	}
	if got := readFile(t, s.disk, path); string(got) != damaged {
		t.Error("damage was cut")
	}
}

func TestCheckRDB(t *testing.T) {
	disk := vfs.NewDisk(1)
	content := string(rdbFile(10, entryOf("k", later), "\x01\x01l\x00"))
	putFile(t, disk, ".", "dump.rdb", content)
	if c := checked(t, disk, "dump.rdb", true); c.Err != nil || c.String() != fmt.Sprintf(
		"dump.rdb: %d bytes, 1 entries, 0 commands, left out: 1 values of other types; among the keys: \"l\": sound", len(content)) {
		t.Error(c.String())
	}
	putFile(t, disk, ".", "dump.rdb", content[:len(content)-1])
	if c := checked(t, disk, "dump.rdb", true); !errors.Is(c.Err, ErrDamage) || c.Copy != "" {
		t.Error(c.String())
	}
}

// TestCheckAgreesWithLoad: a snapshot is sound to one as it is to the other, and either names it once.
func TestCheckAgreesWithLoad(t *testing.T) {
	whole := string(rdbFile(10, entryOf("k", later)))
	for _, c := range []struct {
		name, content, says string
		sound               bool
	}{
		{"whole", whole, "1 entries, 0 commands: sound", true},
		{"empty", "", "damaged at offset 0: ", false},
		{"cut", whole[:len(whole)-1], "damaged at offset ", false},
		{"followed by something", whole + "???", ": sound; the 3 bytes after its end are passed over", true},
		{"followed by a command", whole + respOf("DEL k"), "0 commands: sound; the 20 bytes after its end are passed over", true},
		{"a log", respOf("DEL k"), "not an RDB file. Restore it from a backup", false},
	} {
		disk := vfs.NewDisk(1)
		putFile(t, disk, ".", "dump.rdb", c.content)
		_, err := LoadSnapshot(disk, "dump.rdb", checkOptions, newState())
		if (err == nil) != c.sound || err != nil && strings.Count(err.Error(), "dump.rdb") != 1 {
			t.Errorf("%s: the load says %v", c.name, err)
		}
		for _, fix := range []bool{false, true} {
			found := checked(t, disk, "dump.rdb", fix)
			if text := found.String(); (found.Err == nil) != c.sound || !strings.Contains(text, c.says) || strings.Count(text, "dump.rdb") != 1 {
				t.Errorf("%s: %s", c.name, text)
			}
		}
		if got := readFile(t, disk, "dump.rdb"); string(got) != c.content {
			t.Errorf("%s: checked and changed", c.name)
		}
	}
}

// TestUnreadableSnapshot: the error of the disk names the file, and nobody does again.
func TestUnreadableSnapshot(t *testing.T) {
	folder := t.TempDir()
	if _, err := LoadSnapshot(vfs.OS{}, folder, LoadOptions{}, newState()); err == nil || strings.Count(err.Error(), folder) != 1 {
		t.Error(err)
	}
}

// TestEmptyFilesOfALog are sound, to a load as well.
func TestEmptyFilesOfALog(t *testing.T) {
	at := logOf(t, "")
	putFile(t, at.FS, "appendonlydir", at.manifestPath(), "file appendonly.aof.1.base.rdb seq 1 type b\nfile appendonly.aof.1.incr.aof seq 1 type i\n")
	base := at.path("appendonly.aof.1.base.rdb")
	putFile(t, at.FS, "appendonlydir", base, "")
	if _, err := LoadLog(at, checkOptions, newState()); err != nil {
		t.Error(err)
	}
	reports, err := Check(at.FS, at.manifestPath(), false, checkOptions)
	if err != nil || len(reports) != 2 || reports[0].Err != nil || reports[1].Err != nil {
		t.Error(reports, err)
	}
	if c := checked(t, at.FS, base, false); c.Err != nil {
		t.Error(c.String())
	}
}

func TestCheckManifest(t *testing.T) {
	s, _ := blocks(t, 3)
	must(t, s.rewrite())
	s.set(0, "last", later)
	must(t, s.pass())
	reports, err := Check(s.disk, s.place.manifestPath(), false, checkOptions)
	if err != nil || len(reports) != 2 || reports[0].Loaded.Entries != 3 || reports[1].Loaded.Records != 1 || reports[0].Err != nil || reports[1].Err != nil {
		t.Fatal(reports, err)
	}
	if filepath.Base(reports[0].Path) != "appendonly.aof.2.base.rdb" {
		t.Error(reports[0].Path)
	}
	tat := fmt.Sprint(later)
	at := logOf(t, respOf("SET a "+tat)+"*3\r\n")
	putFile(t, at.FS, "appendonlydir", at.manifestPath(), "file appendonly.aof.1.incr.aof seq 1 type i\nfile appendonly.aof.2.incr.aof seq 2 type i\n")
	putFile(t, at.FS, "appendonlydir", at.path("appendonly.aof.2.incr.aof"), respOf("SET b "+tat)+"*3\r\n")
	reports, err = Check(at.FS, at.manifestPath(), true, checkOptions)
	if err != nil || !errors.Is(reports[0].Err, ErrDamage) || reports[1].Err != nil || reports[1].Copy == "" {
		t.Error(reports, err)
	}
	putFile(t, at.FS, "appendonlydir", at.path("appendonly.aof.2.incr.aof"), respOf("SELECT 16", "SET b "+tat))
	if c := checked(t, at.FS, at.path("appendonly.aof.2.incr.aof"), false); !strings.HasSuffix(c.String(), "0 entries, 0 commands: Data file was created with a Redis server configured to handle more than 16 databases") {
		t.Error(c.String())
	}
	if _, err := Check(at.FS, "absent", false, checkOptions); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestLaterKindIsNoDamage: what a later server has written is not said to be spoilt.
func TestLaterKindIsNoDamage(t *testing.T) {
	disk := vfs.NewDisk(1)
	putFile(t, disk, ".", "dump.rdb", string(rdbFile(16, "\x64\x01k\x01")))
	want := "dump.rdb is of a later kind: at offset 12 is a value of type 100, which this version cannot read. Delete that where it was written, and write the file again"
	if _, err := LoadSnapshot(disk, "dump.rdb", checkOptions, newState()); !errors.Is(err, ErrDamage) || err.Error() != want {
		t.Error(err)
	}
	if c := checked(t, disk, "dump.rdb", true); c.Err == nil || !strings.Contains(c.String(), ": of a later kind: ") || c.Copy != "" {
		t.Error(c.String())
	}
}

// TestCheckAgreesWithAStart: of every kind of file it says and counts what a start would.
func TestCheckAgreesWithAStart(t *testing.T) {
	tat, dead := withExpiry(later), withExpiry(now-second)
	foreign := string(rdbFile(10, entryOf("k", later), "\x00\x06visits\xc0\x2a", "\x00\x05stamp\x131900000100000000000", "\x01\x04list\x01\x01a",
		"\xf5\x03lib", "\xfe\x10", entryOf("beyond", later), "\xfe\x00", entryOf("dead", now-second), "\xfc\x01\x00\x00\x00\x00\x00\x00\x00\x00\x04lock\xc0\x01"))
	files := map[string][]string{ // a snapshot, or the files of a log in their order
		"a limit":                {"dump.rdb", string(rdbFile(10, entryOf("k", later)))},
		"more than limits":       {"dump.rdb", foreign},
		"later streams":          {"dump.rdb", string(rdbFile(13, "\x1a\x01k\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))},
		"a kind that is unknown": {"dump.rdb", string(rdbFile(16, "\x64\x01k\x01"))},
		"an impossible clock":    {"dump.rdb", string(rdbFile(10, "\xfa\x10cellserver-clock\x139223372036854775807"))},
		"a cut snapshot":         {"dump.rdb", foreign[:len(foreign)-9]},
		"Valkey's":               {"dump.rdb", string(valkeyFile("\xf3\x01n\x01\x00\x01" + entryOf("k", later)))},
		"commands":               {"1.incr.aof", respOf("SET k "+tat, "SET visits 42", "SET dead "+dead, "RPUSH l a", "SETEX lock 60 1")},
		"a single log":           {"", respOf("SET k "+fmt.Sprint(later), fmt.Sprint("PEXPIREAT k ", later/1e6), "SET visits 42")},
		"a single log with RDB":  {"", foreign + respOf("SET l "+tat, "SET visits 43")},
		"commands and expiries":  {"1.incr.aof", respOf("SET k "+fmt.Sprint(later), "SET l "+fmt.Sprint(later)), "2.incr.aof", respOf(fmt.Sprint("PEXPIREAT k ", later/1e6), "PEXPIREAT l 5")},
		"calls":                  {"1.base.rdb", string(rdbFile(10, "\xfa\x05ctime\xc2\x00\xf1\x53\x65")), "1.incr.aof", respOf("CL.THROTTLE a 1 1 60", "CL.THROTTLE a 1 1"), "2.incr.aof", respOf("CL.THROTTLE b 1 1 60")},
		"calls of a second":      {"1.base.rdb", string(rdbFile(10, "\xfa\x05ctime\xc2\x00\xf1\x53\x65")), "1.incr.aof", respOf("CL.THROTTLE a 1 1 60"), "2.incr.aof", respOf("#TS:1700000001")},
		"calls before a time":    {"1.base.rdb", string(rdbFile(10, "\xfa\x05ctime\xc2\x00\xf1\x53\x65")), "1.incr.aof", respOf("CL.THROTTLE a 1 1 60", "#TS:1700000900"), "2.incr.aof", respOf("CL.THROTTLE a 1 1 60")},
		"calls of no time":       {"1.incr.aof", respOf("CL.THROTTLE a 1 1 60", "#TS:1700000001", "CL.THROTTLE a 1 1 60")},
		"a time that cannot be":  {"1.incr.aof", respOf("SET k "+tat, "#TS:99999999999999", "SET l "+tat)},
		"damage":                 {"1.incr.aof", respOf("SET k "+tat) + "x" + respOf("SET l "+tat)},
		"a base of another kind": {"1.base.rdb", foreign, "1.incr.aof", respOf("DEL visits", "SWAPDB 0 1", "FLUSHDB")},
	}
	for name, parts := range files {
		disk := vfs.NewDisk(1)
		at := onDisk(disk)
		path, manifest := at.manifestPath(), ""
		for i := 0; i < len(parts); i += 2 {
			switch file := parts[i]; file {
			case "dump.rdb", "":
				path = cmp.Or(file, at.FileName)
				putFile(t, disk, ".", path, parts[i+1])
			default:
				file = at.FileName + "." + file
				manifest += fmt.Sprintf("file %s seq %d type %c\n", file, i/2+1, map[bool]byte{true: typeBase, false: typeIncremental}[strings.Contains(file, "base")])
				putFile(t, disk, "appendonlydir", at.path(file), parts[i+1])
			}
		}
		if manifest != "" {
			putFile(t, disk, "appendonlydir", path, manifest)
		}
		for _, strict := range []bool{false, true} {
			options := checkOptions
			options.Strict = strict
			load := func() (*Loaded, error) { return LoadLog(at, options, newState()) }
			if path == "dump.rdb" {
				load = func() (*Loaded, error) { return LoadSnapshot(disk, path, options, newState()) }
			}
			loaded, wrong := load()
			reports, err := Check(disk, path, false, options)
			must(t, err)
			var sum Loaded
			var found error
			for i := range reports {
				sum.addAll(&reports[i].Loaded)
				found = cmp.Or(found, reports[i].Err)
			}
			if (wrong != nil) != (found != nil) || errors.Is(wrong, errStrict) != errors.Is(found, errStrict) {
				t.Errorf("%s, strict %v: a start says %v, check %v", name, strict, wrong, found)
			}
			if wrong == nil && counts(loaded) != counts(&sum) {
				t.Errorf("%s: a start finds %s, check %s", name, counts(loaded), counts(&sum))
			}
		}
	}
}

// addAll adds what the report on another file has counted.
func (l *Loaded) addAll(other *Loaded) {
	l.add(&other.Found)
	l.Records += other.Records
	l.OtherCommands += other.OtherCommands
	l.Throttles += other.Throttles
	l.TimelessCalls += other.TimelessCalls
	l.CallsSinceBase += other.CallsSinceBase
	l.commands = append(l.commands, other.commands...)
	l.baseNanos = max(l.baseNanos, other.baseNanos)
}

func counts(l *Loaded) string {
	return fmt.Sprint(l.Entries, " entries, ", l.Expired, " expired, ", l.Records, " commands, ", l.Throttles, " calls, clock ", l.ClockNanos, ", ", l.Warning())
}

// TestStrictSaysWhatItRefuses: by name where it has one.
func TestStrictSaysWhatItRefuses(t *testing.T) {
	long := strings.Repeat("x", MaxKeyBytes+1)
	keys := "it holds keys that are not limiter keys, and strict-load refuses them: "
	more := "; cellserver check tells more"
	for _, c := range []struct{ file, content, want string }{
		{"dump.rdb", string(rdbFile(10, "\x00\x06visits\xc0\x2a")), keys + `"visits"` + more},
		{"dump.rdb", string(rdbFile(10, "\x01\x04list\x01\x01a")), keys + `"list"` + more},
		{"dump.rdb", string(rdbFile(10, "\xf5\x03lib")), "it holds libraries of functions, and strict-load refuses them"},
		{"dump.rdb", string(rdbFile(10, entryOf(long, later))), fmt.Sprintf("it holds keys of more than %d bytes, and strict-load refuses them", MaxKeyBytes)},
		{"appendonly.aof", respOf("SET " + long + " " + withExpiry(later)), keys + `"` + long[:64] + `"...` + more},
		{"appendonly.aof", respOf("SET visits 42"), keys + `"visits"` + more},
		{"appendonly.aof", respOf("INCR visits"), `it holds commands that change no limiter keys, and strict-load refuses them: "INCR"` + more},
		{"appendonly.aof", respOf("CL.THROTTLE a 1 1 60"), "it holds CL.THROTTLE commands of which nothing tells when they were made, and strict-load refuses them"},
	} {
		disk := vfs.NewDisk(1)
		putFile(t, disk, ".", c.file, c.content)
		options := loadOptions
		options.Strict = true
		var err error
		if c.file == "dump.rdb" {
			_, err = LoadSnapshot(disk, c.file, options, newState())
		} else {
			_, err = LoadLog(onDisk(disk), options, newState())
		}
		if !errors.Is(err, errStrict) || !strings.HasPrefix(err.Error(), c.file) || !strings.HasSuffix(err.Error(), ": "+c.want) {
			t.Errorf("%.60q: %v", c.content, err)
		}
	}
}
