package vfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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
		if err := Replace(path, []byte(step.content), step.mode); err != nil {
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
	if err := Replace(busy, nil, 0o600); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if left, err := (OS{}).List(folder); err != nil || len(left) != 2 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}
