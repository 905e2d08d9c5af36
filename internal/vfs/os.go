package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
)

// OS is the operating system's file system.
type OS struct{}

// filePermissions and dirPermissions are those of Redis's files: what is in them is not for others.
const (
	filePermissions = 0o600
	dirPermissions  = 0o700
)

type osFile struct{ *os.File }

// Size returns the file's length in bytes.
func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Chmod sets the file's permissions. Windows has none of this kind.
func (f osFile) Chmod(mode fs.FileMode) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return f.File.Chmod(mode)
}

// Status returns the file's length in bytes and whether it has a name.
func (f osFile) Status() (size int64, named bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	return info.Size(), hasName(info), nil
}

// Truncate cuts the file, and has writing go on there: the system would leave it where it was, and fill the gap with zeros.
func (f osFile) Truncate(size int64) error {
	if err := f.File.Truncate(size); err != nil {
		return err
	}
	_, err := f.Seek(size, io.SeekStart)
	return err
}

func open(name string, flag int) (File, error) {
	file, err := os.OpenFile(name, flag, filePermissions)
	if err != nil {
		return nil, err
	}
	return osFile{file}, nil
}

// Create opens a file for writing, new or emptied.
func (OS) Create(name string) (File, error) { return open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC) }

// Append opens a file that is there for writing at its end. It does without O_APPEND, with which Windows does not truncate.
func (OS) Append(name string) (File, error) {
	file, err := open(name, os.O_WRONLY)
	if err != nil {
		return nil, err
	}
	if _, err := file.(osFile).Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Open opens a file for reading.
func (OS) Open(name string) (File, error) { return open(name, os.O_RDONLY) }

// Rename gives a file another name, in place of the file that had it.
func (OS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }

// Link gives a file a second name, which must be free, in the same folder.
func (OS) Link(name, second string) error { return os.Link(name, second) }

// Remove takes a file's name away.
func (OS) Remove(name string) error { return os.Remove(name) }

// Names tells whether the name is that of a file that OS has opened.
func (OS) Names(name string, file File) (bool, error) {
	own, err := file.(osFile).Stat()
	if err != nil {
		return false, err
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(own, info), err
}

// MakeDir makes a folder unless it is there; the one above it must be.
func (OS) MakeDir(name string) error {
	err := os.Mkdir(name, dirPermissions)
	if info, statErr := os.Stat(name); errors.Is(err, fs.ErrExist) && statErr == nil && info.IsDir() {
		return nil
	}
	return err
}

// List returns the names of what is in a folder, without their path, in order.
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names, nil
}

// SyncDir waits until the names in a folder are on disk. Windows has no such thing: there its journal must do.
func (OS) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
