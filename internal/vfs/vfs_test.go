package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// create makes a file with this content and closes it, not synced.
func create(t testing.TB, f FS, name, content string) {
	t.Helper()
	file, err := f.Create(name)
	must(t, err)
	_, err = io.WriteString(file, content)
	must(t, err)
	must(t, file.Close())
}

// content reads a file; "absent" if there is none.
func content(t testing.TB, f FS, name string) string {
	t.Helper()
	file, err := f.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "absent"
	}
	must(t, err)
	all, err := io.ReadAll(file)
	must(t, err)
	must(t, file.Close())
	return string(all)
}

// TestBothAlike does to both file systems what persistence does.
func TestBothAlike(t *testing.T) {
	for name, f := range map[string]FS{"OS": OS{}, "Disk": NewDisk(1)} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if d, ok := f.(*Disk); ok {
				root = "root"
				must(t, d.MakeDir(root))
			}
			in := func(name string) string { return filepath.Join(root, name) }
			must(t, f.MakeDir(in("dir")))
			must(t, f.MakeDir(in("dir")))
			create(t, f, in("b"), "content")
			create(t, f, in("a"), "longer than that")
			if err := f.MakeDir(in("a")); err == nil {
				t.Error("a folder in place of a file")
			}
			if err := f.MakeDir(in("x/y")); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			must(t, f.Rename(in("b"), in("a")))
			if a, b := content(t, f, in("a")), content(t, f, in("b")); a != "content" || b != "absent" {
				t.Errorf("after Rename: %q, %q", a, b)
			}
			file, err := f.Append(in("a"))
			must(t, err)
			_, err = io.WriteString(file, "12345")
			must(t, err)
			must(t, file.Truncate(9))
			_, err = io.WriteString(file, "!")
			must(t, err)
			must(t, file.Sync())
			size, err := file.Size()
			if size != 10 || err != nil {
				t.Error(size, err)
			}
			must(t, file.Close())
			must(t, f.SyncDir(root))
			if got := content(t, f, in("a")); got != "content12!" {
				t.Errorf("%q", got)
			}
			created, err := f.Create(in("cut"))
			must(t, err)
			for _, part := range []string{"12345", "!"} {
				_, err = io.WriteString(created, part)
				must(t, err)
				must(t, created.Truncate(2))
			}
			_, err = io.WriteString(created, "?")
			must(t, errors.Join(err, created.Close()))
			if got := content(t, f, in("cut")); got != "12?" {
				t.Errorf("what is written after Truncate of a created file: %q", got)
			}
			must(t, f.Remove(in("cut")))
			reader, err := f.Open(in("a"))
			must(t, err)
			if _, err := reader.Write([]byte("x")); err == nil {
				t.Error("a file open for reading was written")
			}
			p := make([]byte, 5)
			if n, err := reader.ReadAt(p, 7); n != 3 || err != io.EOF || string(p[:n]) != "12!" {
				t.Errorf("%q, %v", p[:n], err)
			}
			must(t, reader.Close())
			if _, err := reader.Read(p); !errors.Is(err, fs.ErrClosed) {
				t.Error(err)
			}
			create(t, f, in("dir/c"), "c")
			names, err := f.List(root)
			if err != nil || !slices.Equal(names, []string{"a", "dir"}) {
				t.Error(names, err)
			}
			must(t, f.Link(in("a"), in("a2")))
			if err := f.Link(in("dir/c"), in("dir/c")); !errors.Is(err, fs.ErrExist) {
				t.Error("Link to a name that is taken:", err)
			}
			must(t, f.Remove(in("a")))
			if got := content(t, f, in("a2")); got != "content12!" {
				t.Errorf("under its second name: %q", got)
			}
			for what, err := range map[string]error{
				"Remove":  f.Remove(in("a")),
				"Rename":  f.Rename(in("a"), in("b")),
				"Link":    f.Link(in("a"), in("b")),
				"SyncDir": f.SyncDir(in("absent")),
				"Append":  second(f.Append(in("a"))),
				"Create":  second(f.Create(in("absent/a"))),
				"List":    second(f.List(in("absent"))),
			} {
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s of what is not there: %v", what, err)
				}
			}
		})
	}
}

// TestLock: a folder has one holder, until the holder lets go.
// TestNames: an open file is told from whatever has its name now.
func TestNames(t *testing.T) {
	for name, f := range map[string]FS{"OS": OS{}, "Disk": NewDisk(1)} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if d, ok := f.(*Disk); ok {
				root = "root"
				must(t, d.MakeDir(root))
			}
			path, moved := filepath.Join(root, "file"), filepath.Join(root, "moved")
			file, err := f.Create(path)
			must(t, err)
			defer file.Close()
			_, err = file.Write([]byte("content"))
			must(t, err)
			want := func(step string, atPath, atMoved, named bool) {
				t.Helper()
				for name, expected := range map[string]bool{path: atPath, moved: atMoved} {
					if is, err := f.Names(name, file); err != nil || is != expected {
						t.Errorf("%s: %s is the file's name: %v, %v", step, name, is, err)
					}
				}
				if size, has, err := file.Status(); err != nil || size != 7 || has != named {
					t.Errorf("%s: %d bytes, named %v, %v", step, size, has, err)
				}
			}
			want("made", true, false, true)
			must(t, f.Rename(path, moved))
			want("moved", false, true, true)
			create(t, f, path, "another")
			want("replaced", false, true, true)
			if runtime.GOOS == "windows" { // where an open file can't be removed
				return
			}
			must(t, f.Remove(moved))
			want("removed", false, false, false)
		})
	}
}

func TestLock(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no lock on folders")
	}
	dir := t.TempDir()
	first, err := OS{}.Lock(dir)
	must(t, err)
	if _, err := (OS{}).Lock(dir); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Error("a second holder:", err)
	}
	must(t, first.Close())
	again, err := OS{}.Lock(dir)
	must(t, err)
	must(t, again.Close())
	if _, err := (OS{}).Lock(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestCrash shows that whatever is not synced can be lost and can stay, and that what is synced stays.
func TestCrash(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(500) {
		d := NewDisk(seed)
		file, err := d.Create("file")
		must(t, err)
		_, err = io.WriteString(file, "synced")
		must(t, err)
		must(t, file.Sync())
		must(t, d.SyncDir("."))
		_, err = io.WriteString(file, strings.Repeat("x", 26)+strings.Repeat("y", 32))
		must(t, err)
		create(t, d, "new", "new")
		must(t, d.Rename("new", "renamed"))
		d.Crash()
		got := content(t, d, "file")
		if !strings.HasPrefix(got, "synced") {
			t.Fatalf("seed %d: %q", seed, got)
		}
		if _, err := file.Write([]byte("x")); !errors.Is(err, ErrCrashed) {
			t.Fatal(err)
		}
		if err := file.Sync(); !errors.Is(err, ErrCrashed) {
			t.Fatal(err)
		}
		got = strings.NewReplacer("xxxxxxxxxxxxxxxxxxxxxxxxxx", "X", strings.Repeat("y", 32), "Y", strings.Repeat("\x00", 26), "0").Replace(got)
		seen[got] = true
		seen["new: "+content(t, d, "new")] = true
		seen["renamed: "+content(t, d, "renamed")] = true
	}
	want := []string{"synced", "syncedX", "synced0Y", "syncedXY", "new: absent", "new: new", "new: ", "renamed: absent", "renamed: ",
		"renamed: new"}
	for _, w := range want {
		if !seen[w] {
			t.Errorf("never seen: %q", w)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("seen: %v", seen)
	}
}

func TestCrashLosesFolders(t *testing.T) {
	lost := 0
	for seed := range uint64(100) {
		d := NewDisk(seed)
		must(t, d.MakeDir("dir"))
		create(t, d, "dir/file", "content")
		must(t, d.SyncDir("dir"))
		d.Crash()
		if _, err := d.List("dir"); err != nil {
			lost++
			if content(t, d, "dir/file") != "absent" {
				t.Error("a file without its folder")
			}
		}
		must(t, d.MakeDir("dir"))
		must(t, d.SyncDir("."))
		d.Crash()
		if err := second(d.List("dir")); err != nil {
			t.Error(err)
		}
	}
	if lost == 0 || lost == 100 {
		t.Errorf("lost %d times of 100", lost)
	}
}

// TestFailedSyncLosesData shows that a sync that fails cannot be made up for by one that succeeds.
func TestFailedSyncLosesData(t *testing.T) {
	lost := 0
	for seed := range uint64(100) {
		d := NewDisk(seed)
		file, err := d.Create("file")
		must(t, err)
		must(t, d.SyncDir("."))
		_, err = io.WriteString(file, "content")
		must(t, err)
		d.FailWith(func(op Operation) error {
			if op == (Operation{OpSync, "file"}) {
				return syscall.EIO
			}
			return nil
		})
		if err := file.Sync(); !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
		if got := content(t, d, "file"); got != "content" {
			t.Errorf("%q", got)
		}
		d.FailWith(nil)
		must(t, file.Sync())
		d.Crash()
		if content(t, d, "file") != "content" {
			lost++
		}
	}
	if lost == 0 || lost == 100 {
		t.Errorf("lost %d times of 100", lost)
	}
}

func TestFullDisk(t *testing.T) {
	d := NewDisk(1)
	create(t, d, "a", "12345")
	d.SetCapacity(10)
	file, err := d.Create("b")
	must(t, err)
	if n, err := io.WriteString(file, "123456"); n != 5 || !errors.Is(err, syscall.ENOSPC) {
		t.Error(n, err)
	}
	if n, err := io.WriteString(file, "1"); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Error(n, err)
	}
	must(t, d.Remove("a"))
	if n, err := io.WriteString(file, "12345"); n != 5 || err != nil {
		t.Error(n, err)
	}
	if got := content(t, d, "b"); got != "1234512345" {
		t.Errorf("%q", got)
	}
}

func TestEveryOperationCanFail(t *testing.T) {
	d := NewDisk(1)
	must(t, d.MakeDir("dir"))
	create(t, d, "a", "content")
	file, err := d.Append("a")
	must(t, err)
	operations := map[Kind]func() error{
		OpCreate:   func() error { return second(d.Create("a")) },
		OpOpen:     func() error { return second(d.Open("a")) },
		OpRename:   func() error { return d.Rename("a", "b") },
		OpLink:     func() error { return d.Link("a", "b") },
		OpRemove:   func() error { return d.Remove("a") },
		OpMakeDir:  func() error { return d.MakeDir("a") },
		OpList:     func() error { return second(d.List(".")) },
		OpSyncDir:  func() error { return d.SyncDir(".") },
		OpRead:     func() error { return second(file.Read(nil)) },
		OpWrite:    func() error { return second(file.Write([]byte("x"))) },
		OpSync:     file.Sync,
		OpTruncate: func() error { return file.Truncate(0) },
		OpChmod:    func() error { return file.Chmod(0o600) },
	}
	for kind, operation := range operations {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			d.FailWith(func(op Operation) error {
				if op.Kind == kind {
					return syscall.EIO
				}
				return nil
			})
			if err := operation(); !errors.Is(err, syscall.EIO) {
				t.Error(err)
			}
			d.FailWith(nil)
			if got := content(t, d, "a"); !bytes.HasPrefix([]byte(got), []byte("content")) {
				t.Errorf("%q", got)
			}
		})
	}
}
