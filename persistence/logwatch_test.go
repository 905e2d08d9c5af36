package persistence

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cellserver/cellserver/internal/vfs"
)

// accidents are what others do to the files of a log, in its folder. Those in brief are noticed by the next write, and all within lookEvery.
var accidents = []struct {
	name  string
	brief bool
	do    func(t *testing.T, folder string)
}{
	{"the folder is removed", true, func(t *testing.T, folder string) { must(t, os.RemoveAll(folder)) }},
	{"the folder is moved away", false, func(t *testing.T, folder string) { must(t, os.Rename(folder, folder+".moved")) }},
	{"the folder is another", false, func(t *testing.T, folder string) {
		must(t, os.Rename(folder, folder+".moved"))
		must(t, os.Mkdir(folder, 0o700))
	}},
	{"the increment is removed", true, func(t *testing.T, folder string) { must(t, os.Remove(increment(t, folder))) }},
	{"the increment is moved away", false, func(t *testing.T, folder string) {
		must(t, os.Rename(increment(t, folder), filepath.Join(folder, "moved")))
	}},
	{"the increment is replaced", true, func(t *testing.T, folder string) {
		path := increment(t, folder)
		content, err := os.ReadFile(path)
		must(t, err)
		must(t, os.Remove(path))
		must(t, os.WriteFile(path, content, 0o600))
	}},
	{"the increment is emptied", true, func(t *testing.T, folder string) { must(t, os.Truncate(increment(t, folder), 0)) }},
	{"the increment is cut", true, func(t *testing.T, folder string) { must(t, os.Truncate(increment(t, folder), 20)) }},
	{"the increment is added to", true, func(t *testing.T, folder string) {
		file, err := os.OpenFile(increment(t, folder), os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = file.WriteString("x")
		must(t, errors.Join(err, file.Close()))
	}},
	{"the manifest is removed", false, func(t *testing.T, folder string) {
		must(t, os.Remove(filepath.Join(folder, "appendonly.aof.manifest")))
	}},
	{"the manifest is another", false, func(t *testing.T, folder string) {
		must(t, os.WriteFile(filepath.Join(folder, "appendonly.aof.manifest"), []byte("file x.aof seq 1 type i\n"), 0o600))
	}},
	{"the manifest is spoilt", false, func(t *testing.T, folder string) {
		must(t, os.WriteFile(filepath.Join(folder, "appendonly.aof.manifest"), []byte("?"), 0o600))
	}},
	{"the base is removed", false, func(t *testing.T, folder string) {
		bases, err := filepath.Glob(filepath.Join(folder, "*.base.rdb"))
		must(t, err)
		must(t, os.Remove(bases[0]))
	}},
}

func increment(t *testing.T, folder string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.incr.aof"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	return paths[0]
}

// TestLostFiles: whatever somebody does to the files is noticed, by the next write or within a second, and a rewrite brings all back.
func TestLostFiles(t *testing.T) {
	for _, policy := range []Policy{Always, EverySecond, No} {
		for _, accident := range accidents {
			at := onDisk(vfs.OS{})
			at.Dir = t.TempDir()
			s := openShop(t, at, Settings{Policy: policy})
			s.set(0, "before", later)
			must(t, s.pass())
			s.wait(2 * second)
			must(t, s.log.Err())
			accident.do(t, at.folder())
			if policy == Always && accident.brief {
				s.set(0, "during", later)
				if err := s.pass(); !errors.Is(err, errLost) {
					t.Fatalf("%s: a write after it: %v", accident.name, err)
				}
			}
			s.wait(lookEvery + second/5)
			err := s.log.Err()
			if !errors.Is(err, errLost) || !s.log.RewriteDue(s.now) || !strings.Contains(err.Error(), at.folder()) {
				t.Fatalf("%v, %s: %v", policy, accident.name, err)
			}
			if text := Misconfigured(err); text != "MISCONF Errors writing to the AOF file: The file was removed or changed by another program" {
				t.Error(text)
			}
			s.set(0, "meanwhile", later)
			if err := s.pass(); policy == Always && !errors.Is(err, errLost) {
				t.Errorf("%s: a second write: %v", accident.name, err)
			}
			must(t, s.rewrite())
			must(t, s.log.Err())
			s.set(0, "after", later)
			must(t, s.pass())
			s.wait(3 * second)
			must(t, s.log.Err())
			if _, err := OpenLog(at, Settings{}, nil, s.now); !errors.Is(err, vfs.ErrLocked) {
				t.Errorf("%s: the folder is not the log's: %v", accident.name, err)
			}
			got, _ := s.reload()
			sameState(t, got, s.state)
			must(t, s.log.Close())
		}
	}
}

// TestLostWithItsParent: as long as the folder can't be made there is no base, and the log says so; when it can, there is one.
func TestLostWithItsParent(t *testing.T) {
	at := onDisk(vfs.OS{})
	at.Dir = filepath.Join(t.TempDir(), "data")
	must(t, os.Mkdir(at.Dir, 0o700))
	s := openShop(t, at, Settings{Policy: Always})
	must(t, os.RemoveAll(at.Dir))
	s.set(0, "k", later)
	if err := s.pass(); !errors.Is(err, errLost) {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.rewrite(); !errors.Is(err, syscall.ENOENT) || !errors.Is(s.log.Err(), errLost) {
			t.Fatal(err, s.log.Err())
		}
	}
	must(t, os.Mkdir(at.Dir, 0o700))
	s.wait(maxRewriteDelay)
	if !s.log.RewriteDue(s.now) {
		t.Error("no rewrite is due")
	}
	must(t, s.rewrite())
	must(t, s.log.Err())
	got, _ := s.reload()
	sameState(t, got, s.state)
	must(t, s.log.Close())
}

// TestLostToAnother: a folder that another server has taken meanwhile is its own.
func TestLostToAnother(t *testing.T) {
	at := onDisk(vfs.OS{})
	at.Dir = t.TempDir()
	s := openShop(t, at, Settings{Policy: Always})
	must(t, os.Rename(at.folder(), at.folder()+".moved"))
	other := openShop(t, at, Settings{Policy: Always})
	other.set(0, "other's", later)
	must(t, other.pass())
	s.wait(2 * second)
	if err := s.rewrite(); !errors.Is(err, vfs.ErrLocked) || !errors.Is(s.log.Err(), errLost) {
		t.Error(err, s.log.Err())
	}
	got, _ := other.reload()
	sameState(t, got, other.state)
	must(t, other.log.Close())
	s.set(0, "ours", later)
	must(t, s.rewrite())
	got, _ = s.reload()
	sameState(t, got, s.state)
	must(t, s.log.Close())
}

// TestLostDuringARewrite: the base that is being written counts on the increment, so it is worth nothing.
func TestLostDuringARewrite(t *testing.T) {
	at := onDisk(vfs.OS{})
	at.Dir = t.TempDir()
	s := openShop(t, at, Settings{Policy: Always})
	r, err := s.log.Rewrite(RDBHeader{})
	must(t, err)
	must(t, os.RemoveAll(at.folder()))
	s.set(0, "k", later)
	if err := s.pass(); !errors.Is(err, errLost) {
		t.Fatal(err)
	}
	if err := r.Finish(); !errors.Is(err, errNoIncrement) {
		t.Fatal(err)
	}
	s.wait(2 * second)
	must(t, s.rewrite())
	got, _ := s.reload()
	sameState(t, got, s.state)
	must(t, s.log.Close())
}

// TestLookingTakesTroubleForNone: where the disk does not tell, the log goes on.
func TestLookingTakesTroubleForNone(t *testing.T) {
	for _, kind := range []vfs.Kind{vfs.OpOpen, vfs.OpList, vfs.OpRead} {
		s := openShop(t, onDisk(vfs.NewDisk(1)), Settings{Policy: Always})
		failed := failOn(s.disk, kind, "")
		s.wait(3 * second)
		if err := s.log.Err(); err != nil || *failed < 2 {
			t.Errorf("%v: %v after %d failures", kind, err, *failed)
		}
	}
}

// TestLookingLeavesForeignManifestsAlone: one that Redis has written says the same in other words.
func TestLookingLeavesForeignManifestsAlone(t *testing.T) {
	s, _ := blocks(t, 1)
	must(t, s.log.Close())
	path := s.place.manifestPath()
	putFile(t, s.disk, "appendonlydir", path, "# by hand\n"+strings.ReplaceAll(string(readFile(t, s.disk, path)), "\n", "\r\n"))
	s = openShop(t, s.place, Settings{Policy: Always})
	s.wait(3 * second)
	s.set(0, "k", later)
	must(t, s.pass())
	if s.log.Stats().Rewrites != 0 {
		t.Error("it took a rewrite")
	}
}

func BenchmarkIntact(b *testing.B) {
	path := filepath.Join(b.TempDir(), "file")
	file, err := vfs.OS{}.Create(path)
	must(b, err)
	for b.Loop() {
		if _, named, err := file.Status(); err != nil || !named {
			b.Fatal(err)
		}
	}
}
