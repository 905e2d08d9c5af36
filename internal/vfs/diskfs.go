package vfs

import (
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
)

// Create opens a file for writing, new or emptied.
func (d *Disk) Create(name string) (File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = filepath.Clean(name)
	if err := d.begin(OpCreate, name); err != nil {
		return nil, err
	}
	if !d.names.hasDir(filepath.Dir(name)) {
		return nil, &fs.PathError{Op: string(OpCreate), Path: name, Err: fs.ErrNotExist}
	}
	n := d.names[name]
	if n == nil {
		n = &node{}
		d.change(change{dir: filepath.Dir(name), given: name, node: n})
	}
	n.truncate(0)
	return &diskFile{disk: d, node: n, name: name, crashes: d.crashes, writable: true}, nil
}

// Append opens a file that is there for writing at its end.
func (d *Disk) Append(name string) (File, error) { return d.open(name, true) }

// Open opens a file for reading.
func (d *Disk) Open(name string) (File, error) { return d.open(name, false) }

func (d *Disk) open(name string, writable bool) (File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = filepath.Clean(name)
	if err := d.begin(OpOpen, name); err != nil {
		return nil, err
	}
	n, err := d.find(OpOpen, name)
	if err != nil {
		return nil, err
	}
	return &diskFile{disk: d, node: n, name: name, crashes: d.crashes, writable: writable}, nil
}

// Rename gives a file another name, in place of the file that had it. Both names are in the same folder.
func (d *Disk) Rename(oldName, newName string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	oldName, newName = filepath.Clean(oldName), filepath.Clean(newName)
	if err := d.begin(OpRename, oldName); err != nil {
		return err
	}
	n, err := d.find(OpRename, oldName)
	if err != nil {
		return err
	}
	if filepath.Dir(oldName) != filepath.Dir(newName) {
		panic("vfs: Rename from one folder to another")
	}
	d.change(change{dir: filepath.Dir(oldName), taken: oldName, given: newName, node: n})
	return nil
}

// Link gives a file a second name, which must be free, in the same folder.
func (d *Disk) Link(name, second string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	name, second = filepath.Clean(name), filepath.Clean(second)
	if err := d.begin(OpLink, name); err != nil {
		return err
	}
	n, err := d.find(OpLink, name)
	switch {
	case err != nil:
		return err
	case filepath.Dir(name) != filepath.Dir(second):
		panic("vfs: Link from one folder to another")
	case d.names[second] != nil:
		return &fs.PathError{Op: string(OpLink), Path: second, Err: fs.ErrExist}
	}
	d.change(change{dir: filepath.Dir(name), given: second, node: n})
	return nil
}

// Remove takes a file's name away.
func (d *Disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = filepath.Clean(name)
	if err := d.begin(OpRemove, name); err != nil {
		return err
	}
	if _, err := d.find(OpRemove, name); err != nil {
		return err
	}
	d.change(change{dir: filepath.Dir(name), taken: name})
	return nil
}

// Names tells whether the name is that of a file that the disk has opened.
func (d *Disk) Names(name string, file File) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names[filepath.Clean(name)] == file.(*diskFile).node, nil
}

// MakeDir makes a folder unless it is there; the one above it must be.
func (d *Disk) MakeDir(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = filepath.Clean(name)
	if err := d.begin(OpMakeDir, name); err != nil {
		return err
	}
	if d.names.hasDir(name) {
		return nil
	}
	if d.names[name] != nil {
		return &fs.PathError{Op: string(OpMakeDir), Path: name, Err: fs.ErrExist}
	}
	if !d.names.hasDir(filepath.Dir(name)) {
		return &fs.PathError{Op: string(OpMakeDir), Path: name, Err: fs.ErrNotExist}
	}
	d.change(change{dir: filepath.Dir(name), given: name, node: &node{dir: true}})
	return nil
}

// List returns the names of what is in a folder, without their path, in order.
func (d *Disk) List(dir string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir = filepath.Clean(dir)
	if err := d.begin(OpList, dir); err != nil {
		return nil, err
	}
	if !d.names.hasDir(dir) {
		return nil, &fs.PathError{Op: string(OpList), Path: dir, Err: fs.ErrNotExist}
	}
	var names []string
	for name := range d.names {
		if filepath.Dir(name) == dir {
			names = append(names, filepath.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Lock always succeeds: a Disk is one program's.
func (d *Disk) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// SyncDir waits until the names in a folder are on disk.
func (d *Disk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir = filepath.Clean(dir)
	if err := d.begin(OpSyncDir, dir); err != nil {
		return err
	}
	if !d.names.hasDir(dir) {
		return &fs.PathError{Op: string(OpSyncDir), Path: dir, Err: fs.ErrNotExist}
	}
	d.changes = slices.DeleteFunc(d.changes, func(c change) bool {
		if c.dir == dir {
			d.onDisk.apply(c)
		}
		return c.dir == dir
	})
	return nil
}

// diskFile is an open file of a Disk.
type diskFile struct {
	disk     *Disk
	node     *node
	name     string
	crashes  int // of the disk when it was opened
	pos      int // of the next Read
	writable bool
	closed   bool
}

// begin locks the disk, to be unlocked by the caller in any case, and asks whether the operation is to fail.
func (f *diskFile) begin(kind Kind) error {
	f.disk.mu.Lock()
	var err error
	switch {
	case f.closed:
		err = fs.ErrClosed
	case f.crashes != f.disk.crashes:
		err = ErrCrashed
	case (kind == OpWrite || kind == OpTruncate) && !f.writable:
		err = syscall.EBADF
	default:
		return f.disk.begin(kind, f.name)
	}
	return &fs.PathError{Op: string(kind), Path: f.name, Err: err}
}

func (f *diskFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, int64(f.pos))
	f.pos += n
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (f *diskFile) ReadAt(p []byte, offset int64) (int, error) {
	err := f.begin(OpRead)
	defer f.disk.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if offset >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Write appends. If it fails, or the disk is full, a part is written.
func (f *diskFile) Write(p []byte) (int, error) {
	err := f.begin(OpWrite)
	defer f.disk.mu.Unlock()
	written := len(p)
	if err != nil {
		written = f.disk.random.IntN(len(p) + 1)
	} else if room := f.disk.capacity - f.disk.used(); f.disk.capacity >= 0 && room < int64(len(p)) {
		written = max(0, int(room))
		err = &fs.PathError{Op: string(OpWrite), Path: f.name, Err: syscall.ENOSPC}
	}
	if f.closed || !f.writable || f.crashes != f.disk.crashes {
		return 0, err
	}
	w := write{offset: len(f.node.data), data: slices.Clone(p[:written])}
	f.node.data = w.applyTo(f.node.data)
	f.node.writes = append(f.node.writes, w)
	return written, err
}

// Sync fails as disks do: what it was to save is half saved, and forgotten.
func (f *diskFile) Sync() error {
	err := f.begin(OpSync)
	defer f.disk.mu.Unlock()
	if f.closed || f.crashes != f.disk.crashes {
		return err
	}
	kept := 1.0
	if err != nil {
		kept = 0.5
	}
	f.node.settle(f.disk.random, kept)
	return err
}

func (f *diskFile) Truncate(size int64) error {
	err := f.begin(OpTruncate)
	defer f.disk.mu.Unlock()
	if err == nil {
		f.node.truncate(int(size))
	}
	return err
}

func (n *node) truncate(size int) {
	w := write{offset: size, cut: true}
	n.data = slices.Clone(w.applyTo(n.data)) // so that appending does not write into what was cut off
	n.writes = append(n.writes, w)
}

func (f *diskFile) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return int64(len(f.node.data)), nil
}

func (f *diskFile) Chmod(fs.FileMode) error { // a Disk has no permissions
	err := f.begin(OpChmod)
	defer f.disk.mu.Unlock()
	return err
}

func (f *diskFile) Status() (size int64, named bool, err error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	for _, n := range f.disk.names {
		named = named || n == f.node
	}
	return int64(len(f.node.data)), named, nil
}

func (f *diskFile) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.closed = true
	return nil
}
