package persistence

import (
	"errors"
	"path/filepath"

	"github.com/cellserver/cellserver/internal/vfs"
)

// Snapshot is an RDB file being written. Under its name there is the old one, whole, until Finish puts the new one in its place.
// It is for one goroutine.
type Snapshot struct {
	fsys       vfs.FS
	temp, path string
	file       vfs.File
	writer     *RDBWriter
}

// NewSnapshot begins a snapshot.
func NewSnapshot(fsys vfs.FS, path string, header RDBHeader) (*Snapshot, error) {
	temp := filepath.Join(filepath.Dir(path), tempPrefix+filepath.Base(path))
	file, err := fsys.Create(temp)
	if err != nil {
		return nil, err
	}
	return &Snapshot{fsys: fsys, temp: temp, path: path, file: file, writer: NewRDBWriter(file, header)}, nil
}

// Write gives entries of a database, made by AppendEntry. After an error the snapshot must be aborted.
func (s *Snapshot) Write(db int, entries []byte) error { return s.writer.Write(db, entries) }

// Written returns how many bytes have gone to the file.
func (s *Snapshot) Written() int64 { return s.writer.Written() }

// Finish puts the snapshot in place. When it returns without error, it is on disk; after an error the old one is in place, or the new
// one, whole.
func (s *Snapshot) Finish() error {
	err := s.writer.Close()
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		s.Abort()
		return err
	}
	if err := s.file.Close(); err != nil {
		return errors.Join(err, s.fsys.Remove(s.temp))
	}
	if err := s.fsys.Rename(s.temp, s.path); err != nil {
		return errors.Join(err, s.fsys.Remove(s.temp))
	}
	return s.fsys.SyncDir(filepath.Dir(s.path))
}

// Abort gives the snapshot up.
func (s *Snapshot) Abort() {
	_ = s.file.Close()
	_ = s.fsys.Remove(s.temp) // the next snapshot empties it if it stays
}
