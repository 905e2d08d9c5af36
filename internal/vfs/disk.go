package vfs

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// ErrCrashed is what the files that were open when a Disk crashed answer from then on.
var ErrCrashed = errors.New("vfs: the disk has crashed since the file was opened")

// Operation is something that a Disk is about to do.
type Operation struct {
	Kind Kind
	Name string // of the file or folder; the old one of a Rename
}

// Kind says which operation.
type Kind string

// The kinds of operations that can fail.
const (
	OpCreate   Kind = "create"
	OpOpen     Kind = "open" // Append too
	OpRename   Kind = "rename"
	OpLink     Kind = "link"
	OpRemove   Kind = "remove"
	OpMakeDir  Kind = "mkdir"
	OpList     Kind = "list"
	OpSyncDir  Kind = "syncdir"
	OpRead     Kind = "read"
	OpWrite    Kind = "write"
	OpSync     Kind = "sync"
	OpTruncate Kind = "truncate"
	OpChmod    Kind = "chmod"
)

// Disk is a file system in memory. It is safe for concurrent use. NewDisk makes one.
type Disk struct {
	mu       sync.Mutex
	random   *rand.Rand
	names    tree     // as programs see them
	onDisk   tree     // as they are after a crash, but for changes
	changes  []change // of names, that are not on disk
	crashes  int
	fail     func(Operation) error
	capacity int64 // bytes in all files; negative: no limit
}

// tree maps the paths of files, and of folders, to what they are.
type tree map[string]*node

// node is a file, or with dir a folder.
type node struct {
	dir    bool
	data   []byte  // as programs see it
	onDisk []byte  // as it is after a crash, but for writes
	writes []write // that are not on disk
}

// write puts data at the offset or, where cut is set, ends the file there.
type write struct {
	offset int
	data   []byte
	cut    bool
}

// change takes a name from a folder, gives one, or both. A name that is empty is none.
type change struct {
	dir   string
	taken string
	given string
	node  *node
}

// NewDisk returns an empty disk that fails at random, from the seed, when it has to.
func NewDisk(seed uint64) *Disk {
	return &Disk{random: rand.New(rand.NewPCG(seed, 0)), names: tree{}, onDisk: tree{}, capacity: -1}
}

// FailWith has every operation ask fail first, which returns the error it is to end with, or nil. A write that fails writes a
// part; a sync that fails loses a part. Fail must not use the disk.
func (d *Disk) FailWith(fail func(Operation) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = fail
}

// SetCapacity makes writes fail with ENOSPC beyond so many bytes in all files. A negative number ends that.
func (d *Disk) SetCapacity(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.capacity = bytes
}

// Crash loses power: what was not synced is lost in part, and the open files are worth nothing any more.
func (d *Disk) Crash() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.crashes++
	kept := []float64{0, 0.5, 0.9, 1}[d.random.IntN(4)]
	for _, c := range d.changes {
		if d.random.Float64() < kept {
			d.onDisk.apply(c)
		}
	}
	d.changes = nil
	d.names = tree{}
	for _, name := range slices.Sorted(maps.Keys(d.onDisk)) { // folders before what is in them
		if !d.names.hasDir(filepath.Dir(name)) {
			delete(d.onDisk, name)
			continue
		}
		n := d.onDisk[name]
		n.settle(d.random, kept)
		n.data = slices.Clone(n.onDisk)
		d.names[name] = n
	}
}

// settle decides which of a file's writes reach the disk, in whole or in part.
func (n *node) settle(random *rand.Rand, kept float64) {
	const sectorBytes = 32 // less than any disk's, so that small files are torn too
	for _, w := range n.writes {
		if w.cut {
			if random.Float64() < kept {
				n.onDisk = w.applyTo(n.onDisk)
			}
			continue
		}
		for start := 0; start < len(w.data); {
			end := min(len(w.data), start+sectorBytes-(w.offset+start)%sectorBytes)
			if random.Float64() < kept {
				n.onDisk = write{offset: w.offset + start, data: w.data[start:end]}.applyTo(n.onDisk)
			}
			start = end
		}
	}
	n.writes = nil
}

// applyTo returns the file after the write. What lies between its end and the offset is zero.
func (w write) applyTo(file []byte) []byte {
	end := w.offset + len(w.data)
	if len(file) < end {
		file = append(file, make([]byte, end-len(file))...)
	}
	if w.cut {
		return file[:w.offset]
	}
	copy(file[w.offset:], w.data)
	return file
}

func (t tree) apply(c change) {
	if c.taken != "" {
		delete(t, c.taken)
	}
	if c.given != "" {
		t[c.given] = c.node
	}
}

// hasDir tells whether a folder is there. What is above all is.
func (t tree) hasDir(name string) bool {
	if name == "." || name == filepath.Dir(name) {
		return true
	}
	n := t[name]
	return n != nil && n.dir
}

// begin asks whether an operation is to fail.
func (d *Disk) begin(kind Kind, name string) error {
	if d.fail != nil {
		if err := d.fail(Operation{kind, name}); err != nil {
			return &fs.PathError{Op: string(kind), Path: name, Err: err}
		}
	}
	return nil
}

// change changes the names as programs see them, at once.
func (d *Disk) change(c change) {
	d.names.apply(c)
	d.changes = append(d.changes, c)
}

// find returns a file.
func (d *Disk) find(kind Kind, name string) (*node, error) {
	n := d.names[name]
	if n == nil || !d.names.hasDir(filepath.Dir(name)) {
		return nil, &fs.PathError{Op: string(kind), Path: name, Err: fs.ErrNotExist}
	}
	if n.dir {
		return nil, &fs.PathError{Op: string(kind), Path: name, Err: syscall.EISDIR}
	}
	return n, nil
}

// used returns how many bytes the files hold.
func (d *Disk) used() int64 {
	total := int64(0)
	for _, n := range d.names {
		total += int64(len(n.data))
	}
	return total
}
