package persistence

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cellserver/cellserver/internal/realredis"
	"github.com/cellserver/cellserver/internal/vfs"
)

const plainManifest = "file a.1.base.rdb seq 1 type b\nfile a.1.incr.aof seq 1 type i\n"

// manifests are the cases, and whether Redis takes them too.
var manifests = []struct {
	content string
	valid   bool
}{
	{plainManifest, true},
	{"# a comment\n" + plainManifest, true},
	{"file a.1.base.rdb seq 1 type b\r\nfile a.1.incr.aof seq 1 type i\r\n", true},
	{"seq 1 type b file a.1.base.rdb\ntype i seq 1 file a.1.incr.aof\n", true},
	{"FILE a.1.base.rdb SEQ 1 TYPE b\nfile a.1.incr.aof seq 1 type i\n", true},
	{"file \"a.1.base.rdb\" seq 1 type b\nfile 'a.1.incr.aof' seq 1 type i\n", true},
	{"file a.1.base.rdb seq 1 type b later yes\nfile a.1.incr.aof seq 1 type i\n", true},
	{"file a.1.incr.aof seq 1 type i\n", true},
	{"file a.1.base.rdb seq 1 type b\n", true},
	{plainManifest + "file gone seq 1 type h\n", true},
	{plainManifest + "file a.2.incr.aof seq 2 type i\n", true},
	{"", false},
	{"\n", false},
	{"file a.1.incr.aof seq 1 type i", false},
	{"file a.1.incr.aof seq 1\n", false},
	{"file a.1.incr.aof seq 1 type\n", false},
	{"file a.1.incr.aof seq 0 type i\n", false},
	{"file a.1.incr.aof seq x type i\n", false},
	{"file a.1.incr.aof seq 1 type x\n", false},
	{"file ../a.1.incr.aof seq 1 type i\n", false},
	{"file \"a.1.incr.aof seq 1 type i\n", false},
	{"file a.1.incr.aof seq 1 type i\x00\n", false},
	{"file a.1.incr.aof seq 1 type i \x00 x\n", false},
	{"file a.1.base.rdb seq 1 type b\n\x00\n", false},
	{"file a.1.base.rdb seq 1 type b\n\x00file a.1.incr.aof seq 1 type i\n", false},
	{"file a.1.base.rdb seq 1 type b\nfile a.1.incr.aof seq 1 type h\x00i\n", false},
	{"file a.1.base.rdb seq 1 type b\n# a comment\x00\nfile a.1.incr.aof seq 1 type i\n", true},
	{plainManifest + "file b seq 2 type b\n", false},
	{plainManifest + "file b seq 1 type i\n", false},
	{"file a.1.incr.aof seq 1 type i " + strings.Repeat("k v ", 300) + "\n", false},
}

func TestManifestGrammar(t *testing.T) {
	for _, c := range manifests {
		if m, err := parseManifest([]byte(c.content)); (err == nil) != c.valid {
			t.Errorf("%.60q: %+v, %v", c.content, m, err)
		}
	}
}

// TestManifestWithNULIsDamage: the load says which file it is.
func TestManifestWithNULIsDamage(t *testing.T) {
	at := logOf(t, "")
	putFile(t, at.FS, "appendonlydir", at.manifestPath(), "file a.1.base.rdb seq 1 type b\nfile a.1.incr.aof seq 1 type h\x00\n")
	if _, err := LoadLog(at, loadOptions, newState()); !errors.Is(err, ErrDamage) || !strings.Contains(err.Error(), at.manifestPath()) || strings.Contains(err.Error(), "\x00") {
		t.Errorf("%q", err)
	}
}

// TestManifestGrammarIsRedis has redis-check-aof read the same.
func TestManifestGrammarIsRedis(t *testing.T) {
	checker := realredis.Tool(t, "redis-check-aof")
	for _, c := range manifests {
		if !strings.HasPrefix(strings.ToLower(c.content), "file") {
			continue // it takes such a file for something else
		}
		dir := t.TempDir()
		for _, name := range []string{"a.1.base.rdb", "a.1.incr.aof", "a.2.incr.aof"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("*1\r\n$4\r\nPING\r\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, "a.manifest")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(checker, path).CombinedOutput()
		if (err == nil) != c.valid {
			t.Errorf("%.60q: redis-check-aof says %v\n%s", c.content, err, out)
		}
	}
}

func TestManifestRoundTrip(t *testing.T) {
	m := manifest{
		base:    &listed{"a b.1.base.rdb", 1, typeBase},
		incrs:   []listed{{"\"quoted\"'\x01\xff.1.incr.aof", 1, typeIncremental}, {"plain", 7, typeIncremental}},
		history: []listed{{"old", 3, typeHistory}},
	}
	got, err := parseManifest(m.encode())
	if err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%+v, %v\n%s", got, err, m.encode())
	}
}

// TestMissingFileIsDamage: a log of which a file is missing must not pass for one that was never there.
// TestLostManifest: what is left of a log is not written over, and told of.
func TestLostManifest(t *testing.T) {
	s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: Always})
	s.set(0, "k", later)
	must(t, s.pass())
	must(t, s.log.Close())
	names := []string{"appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof"}
	before := s.file(names[0]) + s.file(names[1])
	must(t, s.disk.Remove(s.place.manifestPath()))

	s = openShop(t, s.place, Settings{Policy: Always})
	if got := s.log.Unlisted(); !slices.Equal(got, names) {
		t.Errorf("unlisted: %q", got)
	}
	s.set(0, "new", later)
	must(t, s.pass())
	must(t, s.rewrite())
	must(t, s.log.Close())
	if after := s.file(names[0]) + s.file(names[1]); after != before {
		t.Errorf("was %q, is %q", before, after)
	}
	got, _ := s.reload()
	sameState(t, got, s.state)
}

// TestNewLogOverOld: a log that is begun anew over one that was closed, as by CONFIG SET appendonly no and yes, leaves that one good
// until its first base is there, and then removes it.
func TestNewLogOverOld(t *testing.T) {
	s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: Always})
	s.set(0, "old", later)
	must(t, s.pass())
	must(t, s.log.Close())
	s.follow(OpenLog(s.place, Settings{Policy: Always}, nil, s.now))
	r, err := s.log.Rewrite(RDBHeader{})
	must(t, err)
	got, _ := s.reload()
	sameState(t, got, s.state)
	s.set(0, "new", later)
	must(t, s.pass())
	r.Abort(errors.New("another time"))
	must(t, s.rewrite())
	must(t, s.log.Close())
	got, _ = s.reload()
	sameState(t, got, s.state)
	names, err := s.place.FS.List("appendonlydir")
	if want := []string{"appendonly.aof.2.base.rdb", "appendonly.aof.3.incr.aof", "appendonly.aof.manifest"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v", names, err)
	}
}

// TestTornBase: a new base takes its place, and the files of the old log go.
func TestTornBase(t *testing.T) {
	at := onDisk(vfs.NewDisk(1))
	base, incr := at.path("appendonly.aof.3.base.aof"), at.path("appendonly.aof.5.incr.aof")
	putFile(t, at.FS, "appendonlydir", at.manifestPath(), "file appendonly.aof.3.base.aof seq 3 type b\nfile appendonly.aof.5.incr.aof seq 5 type i\n")
	putFile(t, at.FS, "appendonlydir", base, respOf("SET a "+fmt.Sprint(later))+"*3\r\n$3\r\nSE")
	putFile(t, at.FS, "appendonlydir", incr, "")
	s := openShop(t, at, Settings{Policy: Always})
	s.set(0, "b", later)
	must(t, s.pass())
	must(t, s.log.Close())
	got, _ := s.reload()
	sameState(t, got, s.state)
	names, err := at.FS.List("appendonlydir")
	if want := []string{"appendonly.aof.4.base.rdb", "appendonly.aof.6.incr.aof", "appendonly.aof.manifest"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v", names, err)
	}
}

func TestMissingFileIsDamage(t *testing.T) {
	disk := vfs.NewDisk(1)
	at := onDisk(disk)
	putFile(t, disk, "appendonlydir", at.manifestPath(), plainManifest)
	if _, err := LoadLog(at, loadOptions, newState()); !errors.Is(err, ErrDamage) || errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	putFile(t, disk, "appendonlydir", at.manifestPath(), "file a\x1b[2J.aof seq 1 type i\n")
	if _, err := LoadLog(at, loadOptions, newState()); !errors.Is(err, ErrDamage) || strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), `"a\x1b[2J.aof"`) {
		t.Error(err)
	}
}

func FuzzManifest(f *testing.F) {
	for _, c := range manifests {
		f.Add([]byte(c.content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := parseManifest(content)
		if err != nil {
			return
		}
		again, err := parseManifest(m.encode())
		if err != nil || !reflect.DeepEqual(again.base, m.base) || len(again.incrs) != len(m.incrs) {
			t.Errorf("%+v, %v", again, err)
		}
	})
}
