package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestReplace makes a file, replaces it, and leaves it where it can't be replaced; nothing else is left in the folder.
func TestReplace(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "users.acl")
	for _, step := range []struct {
		content string
		mode    fs.FileMode
	}{{"first", 0o600}, {"second", 0o640}} {
		if err := ReplaceAs(OS{}, path, []byte(step.content), step.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if content, _ := os.ReadFile(path); string(content) != step.content || runtime.GOOS != "windows" && info.Mode().Perm() != step.mode {
			t.Errorf("%q with mode %v, want %q with %v", content, info.Mode(), step.content, step.mode)
		}
	}
	busy := filepath.Join(folder, "folder")
	if err := os.MkdirAll(filepath.Join(busy, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceAs(OS{}, busy, nil, 0o600); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if left, err := (OS{}).List(folder); err != nil || len(left) != 2 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// TestReplacementIsWhole: whatever fails, and wherever the power does, there is the old content or the new one; where Replace returned
// without error it is the new one, and where something failed nothing else is left.
func TestReplacementIsWhole(t *testing.T) {
	const path = "dir/file"
	before, after := strings.Repeat("old", 100), strings.Repeat("newer", 100)
	for seed := range uint64(300) {
		d := NewDisk(seed)
		for _, err := range []error{d.MakeDir("dir"), d.SyncDir("."), Replace(d, path, []byte(before))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		operations, failing := 0, int(seed%12)
		d.FailWith(func(Operation) error {
			if operations++; operations == failing {
				return errors.New("fails")
			}
			return nil
		})
		err := ReplaceAs(d, path, []byte(after), 0o600)
		d.FailWith(nil)
		if left, listErr := d.List("dir"); listErr != nil || len(left) != 1 {
			t.Errorf("seed %d: left in the folder: %v, %v", seed, left, listErr)
		}
		d.Crash()
		if got := contentOf(t, d, path); got != after && (got != before || err == nil) {
			t.Errorf("seed %d: %q after %v", seed, got, err)
		}
	}
}

func contentOf(t *testing.T, d *Disk, path string) string {
	t.Helper()
	file, err := d.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	size, err := file.Size()
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, size)
	if _, err := file.ReadAt(content, 0); err != nil {
		t.Fatal(err)
	}
	return string(content)
}
