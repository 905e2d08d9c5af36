package persistence

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/internal/vfs"
)

// Sink takes what a load or an [Applier] finds, in order. Keys and arguments are good until the call returns.
type Sink interface {
	// Store gives a key a TAT, which is later than LoadOptions.NowNanos or Times.NowNanos.
	Store(db int, key []byte, tatNanos int64)
	// Delete removes a key, if it is there.
	Delete(db int, key []byte)
	// Flush empties a database.
	Flush(db int)
	// Swap exchanges two databases.
	Swap(a, b int)
	// Throttle applies a CL.THROTTLE as of a time. Whether there can be such a limit is not checked.
	Throttle(db int, key []byte, limit *gcra.Limit, quantity, atNanos int64)
}

// LoadOptions says how to load.
type LoadOptions struct {
	NowNanos    int64 // what has expired by then is left out
	Databases   int   // how many there are
	Strict      bool  // what would be left out, for other reasons than its age, is an error
	TruncatedOK bool  // aof-load-truncated: a torn tail is cut, and else an error
	AnyClock    bool  // a clock that cannot be is passed over, and else damage
	// Renamed has the own names of commands by those that rename-command gives them, in lower case.
	Renamed map[string]string
	// Progress, if given, is called every some 100 KB with what has been read and what there is, in bytes. An error that it
	// returns ends the load, and is the load's.
	Progress func(done, total int64) error
}

// Loaded tells of what was loaded.
type Loaded struct {
	Found
	From           string // a snapshot's path, "the append only file", or "" if there was neither
	Records        int64  // commands that were applied
	OtherCommands  int64  // left out: other commands than those that can change a TAT
	Throttles      int64  // CL.THROTTLE applied as of a recorded time
	TimelessCalls  int64  // CL.THROTTLE left out, since nothing tells when they were made
	CallsSinceBase int64  // CL.THROTTLE applied as of the time of the base, where the log tells no other
	TornFile       string
	TornBytes      int64    // at the end of TornFile, left out
	TornRecords    int64    // whole commands among them, at the least
	TornIn         string   // what TornFile ends in the middle of
	files          []string // paths, in order
	manifest       *manifest
	wantsBase      bool         // a new base must take the place of all files
	incrs          []loadedFile // as in the manifest
	baseBytes      int64
	doneBytes      int64 // of the files before the one being read
	totalBytes     int64
	commands       examples // of OtherCommands
	baseNanos      int64    // when the base was written, if CallsSinceBase is not 0
}

// loadedFile is what was found out about an increment.
type loadedFile struct {
	size  int64
	whole int64 // without a torn tail
	ours  bool  // it begins with a block
}

// Warning says in one line what was left out and why, "" if nothing was but what has expired.
func (l *Loaded) Warning() string {
	var parts []string
	for _, part := range []struct {
		count int64
		what  string
	}{
		{l.OtherTypes, "values of other types"},
		{l.OtherStrings, "strings that are not TATs"},
		{l.LongKeys, "keys that are too long"},
		{l.Functions, "libraries of functions"},
		{l.OtherCommands, "other commands"},
		{l.TimelessCalls, "CL.THROTTLE commands without a time (aof-timestamp-enabled records it)"},
	} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprint(part.count, " ", part.what))
		}
	}
	text := ""
	if parts != nil {
		text = "left out: " + strings.Join(parts, ", ")
	}
	for _, of := range []struct {
		what     string
		examples examples
	}{{"keys", l.keys}, {"commands", l.commands}} {
		if len(of.examples) > 0 {
			text += fmt.Sprintf("; among the %s: %s", of.what, strings.Join(of.examples, ", "))
		}
	}
	if l.CallsSinceBase > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s; %d CL.THROTTLE commands without a time were applied as of %s, when the log's base was written", text, l.CallsSinceBase,
			time.Unix(0, l.baseNanos).UTC().Format(time.RFC3339)), "; ")
	}
	return text
}

// WantBase has the log begin with a new base: what is in its files is not what it is to hold.
func (l *Loaded) WantBase() { l.wantsBase = true }

// leftOutSuffix names files from which something was left out.
const leftOutSuffix = ".left-out"

// KeepLeftOut keeps the files for whom something in them was left out: the next snapshot or rewrite would end them. It gives each a
// second name, unless it has one, and returns these names.
func (l *Loaded) KeepLeftOut(fsys vfs.FS) (names []string, err error) {
	for _, path := range l.files {
		name, err := keep(fsys, path)
		if err != nil {
			return names, err
		}
		names = append(names, name)
	}
	return names, nil
}

// keep gives a file the first of path.left-out, path.left-out.2, … that is free, or its own already.
func keep(fsys vfs.FS, path string) (name string, err error) {
	file, err := fsys.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	name = path + leftOutSuffix
	for i := 2; ; i++ {
		err := fsys.Link(path, name)
		if !errors.Is(err, fs.ErrExist) {
			return name, err
		}
		if own, err := fsys.Names(name, file); own || err != nil {
			return name, err
		}
		name = fmt.Sprint(path, leftOutSuffix, ".", i)
	}
}

// DamageError says where a file can't be read. It wraps ErrDamage.
type DamageError struct {
	File   string
	Offset int64
	Reason string
	Advice string // what to do

	later bool // a later server has written it: nothing may be wrong with it
}

func (e *DamageError) Error() string {
	return e.File + " is " + e.place()
}

// place is the error for those who know which file it is about.
func (e *DamageError) place() string {
	if e.later {
		return fmt.Sprintf("of a later kind: at offset %d is %s. %s", e.Offset, e.Reason, e.Advice)
	}
	return fmt.Sprintf("damaged at offset %d: %s. %s", e.Offset, e.Reason, e.Advice)
}

func (e *DamageError) Unwrap() error { return ErrDamage }

const (
	adviceDamage = "Restore it from a backup"
	adviceClock  = "Start with accept-machine-clock yes to go on without such clocks"
	adviceLater  = "Delete that where it was written, and write the file again"
	adviceTorn   = "Run cellserver check --fix on it, or start with aof-load-truncated yes, to go on without the end"
)

// LoadSnapshot loads an RDB file. Without one the error is fs.ErrNotExist.
func LoadSnapshot(fsys vfs.FS, path string, options LoadOptions, sink Sink) (*Loaded, error) {
	file, size, err := openSized(fsys, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	loaded := &Loaded{From: path, files: []string{path}, totalBytes: size}
	_, err = loaded.rdb(path, file, options, sink)
	return loaded, err
}

func openSized(fsys vfs.FS, path string) (vfs.File, int64, error) {
	file, err := fsys.Open(path)
	if err != nil {
		return nil, 0, err
	}
	size, err := file.Size()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, size, nil
}

// rdb loads an RDB file, or the first part of a file that begins as one, and returns its length.
func (l *Loaded) rdb(path string, file vfs.File, options LoadOptions, sink Sink) (int64, error) {
	found, size, err := ReadRDB(io.NewSectionReader(file, 0, 1<<62), RDBOptions{
		NowNanos:  options.NowNanos,
		Databases: options.Databases,
		Strict:    options.Strict,
		AnyClock:  options.AnyClock,
		Progress: func(bytesRead int64) error {
			if options.Progress == nil {
				return nil
			}
			return options.Progress(l.doneBytes+bytesRead, l.totalBytes)
		},
	}, sink.Store)
	l.Found.add(&found)
	if errors.Is(err, ErrDamage) {
		reason := strings.TrimPrefix(err.Error(), fmt.Sprintf("%v at offset %d: ", ErrDamage, size))
		damage := &DamageError{File: path, Offset: size, Reason: reason, Advice: adviceDamage}
		switch {
		case errors.Is(err, errUnknownKind):
			damage.Advice, damage.later = adviceLater, true
		case errors.Is(err, errClock):
			damage.Advice = adviceClock
		}
		return size, damage
	}
	var system *fs.PathError // has the path in it
	if err != nil && !errors.As(err, &system) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return size, err
}

func (f *Found) add(other *Found) {
	f.Entries += other.Entries
	f.Expired += other.Expired
	f.OtherTypes += other.OtherTypes
	f.OtherStrings += other.OtherStrings
	f.LongKeys += other.LongKeys
	f.Functions += other.Functions
	f.ClockNanos = max(f.ClockNanos, other.ClockNanos)
	f.created = other.created
	for _, example := range other.keys {
		if len(f.keys) < maxExamples {
			f.keys = append(f.keys, example)
		}
	}
}

// LoadLog loads an append-only file: what the manifest lists or, without a manifest, a single file of Redis before 7. If there is neither,
// the error is fs.ErrNotExist. What it returns is for OpenLog.
func LoadLog(place Place, options LoadOptions, sink Sink) (*Loaded, error) {
	loaded, h := &Loaded{From: "the append only file"}, newHistory(options)
	m, err := readManifest(place.FS, place.manifestPath())
	switch {
	case err == nil:
		loaded.manifest = &m
		err = loaded.parts(place, h, sink)
		return loaded, endHistory(h, place.manifestPath(), err)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	path := filepath.Join(place.Dir, place.FileName)
	file, size, err := openSized(place.FS, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	loaded.files, loaded.totalBytes = []string{path}, size
	part, err := loaded.part(path, file, size, h, sink)
	if err == nil && part.whole < size {
		err = loaded.torn(path, part, options)
	}
	return loaded, endHistory(h, path, err)
}

// endHistory ends the load of a log, unless that has failed.
func endHistory(h *history, path string, err error) error {
	if err != nil {
		return err
	}
	if err := h.end(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// parts loads the files of the manifest.
func (l *Loaded) parts(place Place, h *history, sink Sink) error {
	m := l.manifest
	files := m.incrs
	if m.base != nil {
		files = append([]listed{*m.base}, m.incrs...)
	}
	opened := make([]vfs.File, len(files))
	sizes := make([]int64, len(files))
	defer func() {
		for _, file := range opened {
			if file != nil {
				_ = file.Close()
			}
		}
	}()
	for i, listing := range files {
		var err error
		if opened[i], sizes[i], err = openSized(place.FS, place.path(listing.name)); err != nil {
			// The error is not wrapped: a file that is missing must not pass for a log that is not there.
			return fmt.Errorf("%w: %s lists %q, which can't be opened: %v", ErrDamage, place.manifestPath(), listing.name, withoutPath(err))
		}
		l.files = append(l.files, place.path(listing.name))
		l.totalBytes += sizes[i]
	}
	for i, listing := range files {
		path := place.path(listing.name)
		before := l.Records + l.OtherCommands
		part, err := l.part(path, opened[i], sizes[i], h, sink)
		if err != nil {
			return err
		}
		if l.TornFile != "" && (l.Records+l.OtherCommands > before || part.whole < part.size) {
			whole := sizes[i-1] - l.TornBytes
			return &DamageError{File: l.TornFile, Offset: whole,
				Reason: "it ends in the middle of a command, and " + listing.name + " goes on after it", Advice: adviceDamage}
		}
		if part.whole < part.size {
			if err := l.torn(path, part, h.options); err != nil {
				return err
			}
		}
		if listing.kind == typeBase {
			l.baseBytes = part.whole
		} else {
			l.incrs = append(l.incrs, part)
		}
	}
	l.wantsBase = l.TornFile != "" && m.base != nil && l.TornFile == place.path(m.base.name)
	return nil
}

// withoutPath is for an error about a file that its reader has named, quoted.
func withoutPath(err error) error {
	var system *fs.PathError
	if errors.As(err, &system) {
		return system.Err
	}
	return err
}

// part loads one file, of whatever form, and returns how much of it is whole.
func (l *Loaded) part(path string, file vfs.File, size int64, h *history, sink Sink) (loadedFile, error) {
	start := int64(0)
	magic := make([]byte, len(rdbMagic))
	if n, _ := file.ReadAt(magic, 0); string(magic[:n]) == rdbMagic || string(magic[:n]) == "VALKE" {
		var err error
		if start, err = l.rdb(path, file, h.options, sink); err != nil {
			return loadedFile{}, err
		}
		h.baseNanos = l.created
	}
	r := newAOFReader(path, file, start, size)
	r.loaded, r.history, r.options, r.applier = l, h, h.options, h.applier
	r.applier.Sink, r.applier.Source = sink, l
	r.applier.Restart(0)
	err := r.all()
	l.doneBytes += size
	return loadedFile{size: size, whole: r.whole, ours: r.ours && start == 0}, err
}

// torn takes note of a torn tail, or refuses it.
func (l *Loaded) torn(path string, part loadedFile, options LoadOptions) error {
	if !options.TruncatedOK {
		return &DamageError{File: path, Offset: part.whole, Reason: "it ends in the middle of " + l.TornIn, Advice: adviceTorn}
	}
	l.TornFile, l.TornBytes = path, part.size-part.whole
	return nil
}
