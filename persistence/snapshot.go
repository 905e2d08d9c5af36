package persistence

import "github.com/cellserver/cellserver/internal/vfs"

// Snapshot is an RDB file being written. Under its name there is the old one, whole, until Finish puts the new one in its place.
// It is for one goroutine.
type Snapshot struct {
	file   *vfs.Replacement
	writer *RDBWriter
}

// NewSnapshot begins a snapshot.
func NewSnapshot(fsys vfs.FS, path string, header RDBHeader) (*Snapshot, error) {
	file, err := vfs.NewReplacement(fsys, path)
	if err != nil {
		return nil, err
	}
	return &Snapshot{file: file, writer: NewRDBWriter(file, header)}, nil
}

// Write gives entries of a database, made by AppendEntry. After an error the snapshot must be aborted.
func (s *Snapshot) Write(db int, entries []byte) error { return s.writer.Write(db, entries) }

// Written returns how many bytes have gone to the file.
func (s *Snapshot) Written() int64 { return s.writer.Written() }

// Finish puts the snapshot in place. When it returns without error, it is on disk; after an error the old one is in place, or the new
// one, whole.
func (s *Snapshot) Finish() error {
	if err := s.writer.Close(); err != nil {
		s.Abort()
		return err
	}
	return s.file.Finish()
}

// Abort gives the snapshot up.
func (s *Snapshot) Abort() { s.file.Abort() }
