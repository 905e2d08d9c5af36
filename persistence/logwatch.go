package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"
)

// This file notices that somebody else has removed, replaced or changed the files of a log in use. Writing and syncing go well then, and
// a start would find nothing, or something else.

// errLost is why such a log is given up. A rewrite makes up for it, as for a sync that failed.
var errLost = errors.New("the file was removed or changed by another program")

// lookEvery is how often the names of the files are looked at. Before each write the increment alone is, which takes one system call.
const lookEvery = int64(time.Second)

// look finds out whether the files are what the log has made them. The caller holds mu, which is free meanwhile.
func (l *Log) look() {
	l.acquire()
	defer l.release()
	l.mu.Unlock()
	err := l.disk.look()
	l.mu.Lock()
	if err != nil {
		l.note(err)
		l.updateSizes()
	}
}

// look gives the log up unless the files that a start would need have their names and the manifest says so. What cannot be found out
// is taken for good.
func (d *disk) look() error {
	if d.file == nil || d.waiting {
		return nil
	}
	if err := d.intact(); err != nil {
		return err
	}
	if named, err := d.place.FS.Names(d.place.path(d.current.name), d.file); err == nil && !named {
		return d.lose(d.place.path(d.current.name))
	}
	path := d.place.manifestPath()
	switch listed, err := readManifest(d.place.FS, path); {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrDamage):
		return d.lose(path)
	case err == nil && !bytes.Equal(listed.encode(), d.manifest.encode()):
		return d.lose(path)
	}
	names, err := d.place.FS.List(d.place.folder())
	if err != nil {
		return nil
	}
	files := slices.Clone(d.manifest.incrs)
	if d.manifest.base != nil {
		files = append(files, *d.manifest.base)
	}
	for _, file := range files {
		if !slices.Contains(names, file.name) {
			return d.lose(d.place.path(file.name))
		}
	}
	return nil
}

// intact gives the log up unless the increment has a name and is as long as what was written to it.
func (d *disk) intact() error {
	if size, named, err := d.file.Status(); err == nil && (!named || size != d.size) {
		return d.lose(d.place.path(d.current.name))
	}
	return nil
}

// lose gives the log up because of a file, and leaves what there is of it to whoever has changed it.
func (d *disk) lose(path string) error {
	d.closeIncrement()
	d.lost = true
	return fmt.Errorf("%s: %w", path, errLost)
}

// claim takes the folder, which may be another than before, or not be there, once files were lost.
func (d *disk) claim() error {
	if err := d.place.FS.MakeDir(d.place.folder()); err != nil {
		return err
	}
	if err := d.place.FS.SyncDir(d.place.Dir); err != nil {
		return err
	}
	if d.lock != nil {
		_ = d.lock.Close() // of a folder that may be gone
	}
	var err error
	if d.lock, err = d.place.FS.Lock(d.place.folder()); err != nil {
		d.lock = nil
		return err
	}
	d.lost = false
	return nil
}

// unlock leaves the folder to others.
func (d *disk) unlock() error {
	if d.lock == nil {
		return nil
	}
	return d.lock.Close()
}
