package vfs

import (
	"errors"
	"io"
	"io/fs"
)

// ErrLocked is what Lock says of a folder that somebody else has.
var ErrLocked = errors.New("another process uses it")

// FS is a file system. Names are paths in the system's form. The errors of files that are not there satisfy
// errors.Is(err, fs.ErrNotExist).
type FS interface {
	// Create opens a file for writing, new or emptied.
	Create(name string) (File, error)
	// Append opens a file that is there for writing at its end.
	Append(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Rename gives a file another name, in place of the file that had it.
	Rename(oldName, newName string) error
	// Link gives a file a second name, which must be free, in the same folder: fs.ErrExist if it is not.
	Link(name, second string) error
	// Remove takes a file's name away.
	Remove(name string) error
	// Names tells whether the name is that of a file that FS has opened.
	Names(name string, file File) (bool, error)
	// MakeDir makes a folder unless it is there; the one above it must be.
	MakeDir(name string) error
	// List returns the names of what is in a folder, without their path, in order.
	List(dir string) ([]string, error)
	// Lock takes a folder for the caller until Close; ErrLocked if somebody has it already. It binds only those who ask.
	Lock(dir string) (io.Closer, error)
	// SyncDir waits until the names in a folder are on disk.
	SyncDir(dir string) error
}

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	// Sync waits until the content is on disk. If it fails, what was written since it last succeeded may be lost for good.
	Sync() error
	// Truncate cuts the file to size bytes, after which the next Write goes. It is on disk after Sync.
	Truncate(size int64) error
	// Chmod sets the file's permissions, where the system has such.
	Chmod(mode fs.FileMode) error
	// Size returns the file's length in bytes.
	Size() (int64, error)
	// Status returns the same, and whether the file has a name still: without one its content is lost when it is closed. A system that
	// cannot tell says that it has.
	Status() (size int64, named bool, err error)
}
