package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Replace puts new content in the place of a file's, or makes the file, on the machine's own disk. The file is the old one or the
// new one at any instant, also where the machine fails: the new one is written beside it, synced and renamed. An error leaves the
// old one, but for one of the last sync, after which it may be either.
func Replace(path string, content []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	if err = errors.Join(fill(file, content, mode), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		os.Remove(file.Name())
		return err
	}
	return OS{}.SyncDir(dir)
}

// fill writes a file and waits until it is on disk. Windows has no such modes.
func fill(file *os.File, content []byte, mode fs.FileMode) error {
	if _, err := file.Write(content); err != nil {
		return err
	}
	if err := file.Chmod(mode); err != nil && runtime.GOOS != "windows" {
		return err
	}
	return file.Sync()
}
