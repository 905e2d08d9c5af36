package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/internal/vfs"
)

// Checked is what Check found out about a file.
type Checked struct {
	Path   string
	Size   int64  // bytes
	Whole  int64  // without a torn tail
	Beyond int64  // bytes after a snapshot's end, which a load does not look at
	Copy   string // where the file is as it was, if its tail was cut
	Loaded Loaded // what is in it
	Err    error  // why it can't be loaded. Where it is torn only at its end, that is no error to a server that may cut it
}

// String says it in a line.
func (c *Checked) String() string {
	text := fmt.Sprintf("%s: %d bytes, %d entries, %d commands", c.Path, c.Size, c.Loaded.Entries, c.Loaded.Records+c.Loaded.OtherCommands)
	if c.Loaded.Expired > 0 {
		text += fmt.Sprintf(", %d expired", c.Loaded.Expired)
	}
	if warning := c.Loaded.Warning(); warning != "" {
		text += ", " + warning
	}
	var damage *DamageError
	switch {
	case c.Copy != "":
		return fmt.Sprintf("%s: the last %d bytes were torn and are cut off; the file as it was is %s", text, c.Size-c.Whole, c.Copy)
	case errors.As(c.Err, &damage):
		return fmt.Sprintf("%s: %s", text, damage.place())
	case c.Err != nil:
		return fmt.Sprintf("%s: %v", text, c.Err)
	case c.Beyond > 0:
		return fmt.Sprintf("%s: sound; the %d bytes after its end are passed over", text, c.Beyond)
	}
	return text + ": sound"
}

// isSnapshot tells from the name of a file that no manifest lists whether a start would load it as a snapshot. What it holds
// does not tell: a log may be empty or begin as an RDB file does, and a snapshot may not go on after its end.
func isSnapshot(path string) bool {
	return strings.HasSuffix(path, ".rdb") && !strings.HasSuffix(path, baseSuffix)
}

// Check reads an RDB file, a file of a log, or a manifest and all files that it lists, and reports on each file. With fix it cuts off a
// torn tail, where a server would, and keeps the file as it was under another name. What it finds is what a start with the options
// would, but that it goes on after a file that can't be loaded. The error is of the disk, or of a manifest that can't be read.
func Check(fsys vfs.FS, listing string, fix bool, options LoadOptions) ([]Checked, error) {
	paths, snapshot := []string{listing}, isSnapshot(listing)
	head, err := readHead(fsys, listing)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(listing) == manifestSuffix || bytes.HasPrefix(head, []byte("file ")) {
		m, err := readManifest(fsys, listing)
		if err != nil {
			return nil, err
		}
		paths, snapshot = nil, false
		if m.base != nil {
			m.incrs = append([]listed{*m.base}, m.incrs...)
		}
		for _, file := range m.incrs {
			paths = append(paths, filepath.Join(filepath.Dir(listing), file.name))
		}
	}
	reports := make([]Checked, len(paths))
	h := newHistory(options)
	for i, path := range paths {
		reports[i].Path = path
		if err := reports[i].load(fsys, snapshot, h); err != nil && path != listing {
			return reports[:i], fmt.Errorf("%s lists %q, which can't be read: %w", listing, filepath.Base(path), withoutPath(err))
		} else if err != nil {
			return reports[:i], err
		}
	}
	if err := h.end(); err != nil {
		reports[len(reports)-1].Err = err
	}
	last := len(reports) - 1
	for last > 0 && reports[last].Err == nil && reports[last].Loaded.Records+reports[last].Loaded.OtherCommands == 0 {
		last--
	}
	for i := range reports {
		c := &reports[i]
		if c.Whole == c.Size || c.Err != nil {
			continue
		}
		switch {
		case i < last:
			c.Err = &DamageError{File: c.Path, Offset: c.Whole,
				Reason: "it ends in the middle of a command, and there are files that go on after it", Advice: adviceDamage}
		case !fix:
			c.Err = &DamageError{File: c.Path, Offset: c.Whole,
				Reason: fmt.Sprintf("it ends in the middle of %s: %d bytes are torn", c.Loaded.TornIn, c.Size-c.Whole), Advice: adviceTorn}
		default:
			if err := cutTail(fsys, c); err != nil {
				return reports, err
			}
		}
	}
	return reports, nil
}

func readHead(fsys vfs.FS, path string) ([]byte, error) {
	file, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head := make([]byte, len("file "))
	n, err := io.ReadFull(file, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:n], err
}

// load reads a file. What is wrong with the file is in the report, and all else in the error.
func (c *Checked) load(fsys vfs.FS, snapshot bool, h *history) error {
	file, size, err := openSized(fsys, c.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	c.Size = size
	c.Loaded.totalBytes = size
	if snapshot {
		var end int64
		end, err = c.Loaded.rdb(c.Path, file, h.options, Discard)
		c.Whole, c.Beyond = size, size-end
	} else {
		var part loadedFile
		part, err = c.Loaded.part(c.Path, file, size, h, Discard)
		c.Whole = part.whole
	}
	var more *databasesError
	switch {
	case errors.As(err, &more):
		c.Err, err = more, nil // without the file's name, with which the report begins
	case errors.Is(err, ErrDamage), isRefusal(err):
		c.Err, err = err, nil
	}
	return err
}

// Discard is a Sink that keeps nothing.
var Discard Sink = nothing{}

type nothing struct{}

func (nothing) Store(int, []byte, int64)                        {}
func (nothing) Delete(int, []byte)                              {}
func (nothing) Flush(int)                                       {}
func (nothing) Swap(int, int)                                   {}
func (nothing) Throttle(int, []byte, *gcra.Limit, int64, int64) {}

// cutTail cuts off a torn tail when a copy of the file is on disk.
func cutTail(fsys vfs.FS, c *Checked) error {
	name, err := freeName(fsys, c.Path)
	if err != nil {
		return err
	}
	source, err := fsys.Open(c.Path)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := vfs.Copy(fsys, name, source); err != nil {
		return err
	}
	file, err := fsys.Append(c.Path)
	if err != nil {
		return err
	}
	if err = file.Truncate(c.Whole); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		c.Copy = name
	}
	return err
}

// freeName returns the first of path.torn.1, path.torn.2, … that is free.
func freeName(fsys vfs.FS, path string) (string, error) {
	for i := 1; ; i++ {
		name := fmt.Sprint(path, ".torn.", i)
		file, err := fsys.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		_ = file.Close()
	}
}
