package vfs

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
)

// TempPrefix begins the names of files that are to take another's place. What has such a name after a crash is of no use.
const TempPrefix = "temp-"

// A Replacement is a file being written that is to take another's place. Under that name there is the old file, whole, or none,
// until Finish puts the new one in its place. There can be one at a time for a path.
type Replacement struct {
	File
	fsys       FS
	temp, path string
}

// NewReplacement begins a replacement.
func NewReplacement(fsys FS, path string) (*Replacement, error) {
	temp := filepath.Join(filepath.Dir(path), TempPrefix+filepath.Base(path))
	file, err := fsys.Create(temp)
	if err != nil {
		return nil, err
	}
	return &Replacement{File: file, fsys: fsys, temp: temp, path: path}, nil
}

// Finish puts the file in place. When it returns without error, the file is on disk under its name; after an error the old one is
// there, or the new one, whole.
func (r *Replacement) Finish() error {
	err := r.Sync()
	if err = errors.Join(err, r.Close()); err == nil {
		err = r.fsys.Rename(r.temp, r.path)
	}
	if err != nil {
		return errors.Join(err, r.fsys.Remove(r.temp))
	}
	return r.fsys.SyncDir(filepath.Dir(r.path))
}

// Abort gives the replacement up.
func (r *Replacement) Abort() {
	_ = r.Close()
	_ = r.fsys.Remove(r.temp) // the next replacement empties it if it stays
}

// Replace puts a file of this content in the place of another, or makes it.
func Replace(fsys FS, path string, content []byte) error {
	return replace(fsys, path, func(file File) error {
		_, err := file.Write(content)
		return err
	})
}

// ReplaceAs is Replace for a file that is to have these permissions.
func ReplaceAs(fsys FS, path string, content []byte, mode fs.FileMode) error {
	return replace(fsys, path, func(file File) error {
		if _, err := file.Write(content); err != nil {
			return err
		}
		return file.Chmod(mode)
	})
}

// Copy is Replace with the content of a reader.
func Copy(fsys FS, path string, source io.Reader) error {
	return replace(fsys, path, func(file File) error {
		_, err := io.Copy(file, source)
		return err
	})
}

func replace(fsys FS, path string, write func(File) error) error {
	r, err := NewReplacement(fsys, path)
	if err != nil {
		return err
	}
	if err := write(r); err != nil {
		r.Abort()
		return err
	}
	return r.Finish()
}
