package persistence

import (
	"errors"
	"slices"

	"github.com/cellserver/cellserver/internal/vfs"
)

// ErrRewriting is for a second rewrite at the same time, in Redis's words.
var ErrRewriting = errors.New("ERR Background append only file rewriting already in progress")

// ErrSwapped ends a rewrite during which databases were exchanged: the walk has come to some keys before and to others after. It is to
// be begun again.
var ErrSwapped = errors.New("databases were exchanged during the rewrite")

// Rewrite makes a new base for a log, piece by piece. Write and Finish are for one goroutine.
//
// The order of things is what makes it right. First the log goes on in a new increment. Then the caller walks through the keyspace
// and gives each entry once, as it is when the walk comes to it. So all that changes after the walk has passed is in the new
// increment, and replaying that over the base gives the present state, for its records are absolute. Last, one change of
// the manifest puts base and increment in place of all that came before.
type Rewrite struct {
	log    *Log
	file   vfs.File
	writer *RDBWriter
	incr   listed // the first increment to go with the base
	doomed error  // why it cannot be finished
	swaps  uint64 // of the log when it began
}

// RewriteDue tells whether a rewrite should begin: because the log has grown as the settings say, or because it waits for one.
func (l *Log) RewriteDue(nowNanos int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed || l.busy || l.disk.rewrite != nil || nowNanos < l.rewriteNext:
		return false
	case l.disk.waiting:
		return true
	case l.err != nil:
		return false
	}
	total, before := l.disk.total(), max(l.disk.rewriteBytes, 1)
	percentage := int64(l.settings.RewritePercentage)
	return percentage > 0 && total > l.settings.RewriteMinBytes && total*100/before-100 >= percentage
}

// Rewrite begins a rewrite. The walk through the keyspace must begin after it has returned.
func (l *Log) Rewrite(header RDBHeader) (*Rewrite, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	l.flushQueue()
	l.acquire()
	defer l.release()
	if l.disk.rewrite != nil {
		return nil, ErrRewriting
	}
	if l.err != nil && !l.disk.waiting {
		return nil, l.err
	}
	swaps := l.swaps
	l.stats.Rewriting = true
	l.mu.Unlock()
	r, err := l.disk.beginRewrite(l, header)
	l.mu.Lock()
	if err != nil {
		l.rewriteFailed(err)
		return nil, err
	}
	l.disk.rewrite, r.swaps = r, swaps
	l.updateSizes()
	return r, nil
}

// rewriteFailed takes note, and puts the next one off. The caller holds mu and has acquired the disk.
func (l *Log) rewriteFailed(err error) {
	if !errors.Is(err, ErrSwapped) { // which is nobody's failure: another may begin at once
		l.stats.RewriteErrors++
		l.stats.LastRewriteFail = err
		l.rewriteNext = l.clock.Load() + l.rewriteWait
		l.rewriteWait = min(2*l.rewriteWait, maxRewriteDelay)
	}
	if l.disk.waiting {
		if l.err == nil && !errors.Is(err, ErrSwapped) {
			l.err = err
		}
		// It would have gaps: nobody keeps for it what can't be written.
		l.mu.Unlock()
		l.disk.dropIncrement()
		l.mu.Lock()
	}
	l.updateSizes()
}

func (d *disk) beginRewrite(l *Log, header RDBHeader) (*Rewrite, error) {
	if d.waiting {
		if err := d.replaceIncrement(header.ClockNanos); err != nil {
			return nil, err
		}
	} else if err := d.nextIncrement(header.ClockNanos); err != nil {
		return nil, err
	}
	header.AOFBase = true
	base, err := d.place.FS.Create(d.baseTemp())
	if err != nil {
		return nil, err
	}
	return &Rewrite{log: l, file: base, writer: NewRDBWriter(base, header), incr: d.current}, nil
}

func (d *disk) baseTemp() string { return d.place.path(vfs.TempPrefix + d.place.FileName + baseSuffix) }

// replaceIncrement starts an increment in place of one that is not in the manifest, if there is one.
func (d *disk) replaceIncrement(clockNanos int64) error {
	d.dropIncrement()
	d.earlierBytes = 0
	if d.lost {
		if err := d.claim(); err != nil {
			return err
		}
	}
	return d.startIncrement(clockNanos)
}

// nextIncrement ends the increment, which must be safe as a whole since it won't be the last any more, and lists another.
func (d *disk) nextIncrement(clockNanos int64) error {
	if err := d.sync(); err != nil {
		return err
	}
	ended, current, size := d.file, d.current, d.size
	if err := d.startIncrement(clockNanos); err != nil {
		return err
	}
	listing := d.manifest
	listing.incrs = append(slices.Clone(d.manifest.incrs), d.current)
	d.unlisted = ""
	if err := writeManifest(d.place.FS, d.place.manifestPath(), &listing); err != nil {
		_ = d.file.Close() // it may be in the manifest or not; it is empty
		d.file, d.current, d.size, d.synced = ended, current, size, size
		return err
	}
	d.manifest = listing
	d.earlierBytes += size
	_ = ended.Close()
	return nil
}

// Write gives entries of a database, made by AppendEntry. After an error the rewrite must be aborted.
func (r *Rewrite) Write(db int, entries []byte) error { return r.writer.Write(db, entries) }

// Abort ends a rewrite without a base. The log goes on as it is.
func (r *Rewrite) Abort(reason error) {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acquire()
	defer l.release()
	_ = r.file.Close()
	_ = l.place.FS.Remove(l.disk.baseTemp())
	l.disk.rewrite = nil
	l.rewriteFailed(reason)
}

// Finish makes the base that was written the log's. After an error the log goes on without it, and the rewrite is over.
func (r *Rewrite) Finish() error {
	l := r.log
	l.mu.Lock()
	swapped := l.swaps != r.swaps
	l.mu.Unlock()
	if swapped {
		r.Abort(ErrSwapped)
		return ErrSwapped
	}
	err := r.writer.Close()
	if err == nil {
		err = r.file.Sync()
	}
	if err != nil {
		r.Abort(err)
		return err
	}
	if err := r.file.Close(); err != nil {
		r.Abort(err)
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acquire()
	defer l.release()
	l.mu.Unlock()
	err = l.disk.finishRewrite(r)
	l.mu.Lock()
	l.disk.rewrite = nil
	if err != nil {
		l.rewriteFailed(err)
		return err
	}
	l.err = nil
	l.rewriteNext, l.rewriteWait = 0, retryEvery
	l.stats.Rewrites++
	l.stats.LastRewriteFail = nil
	l.updateSizes()
	return nil
}

func (d *disk) finishRewrite(r *Rewrite) error {
	if r.doomed != nil {
		return r.doomed
	}
	if err := d.sync(); err != nil {
		return err
	}
	d.baseSeq++
	base := listed{name: d.place.baseName(d.baseSeq), seq: d.baseSeq, kind: typeBase}
	if err := d.place.FS.Rename(d.baseTemp(), d.place.path(base.name)); err != nil {
		return err
	}
	if err := d.place.FS.SyncDir(d.place.folder()); err != nil {
		return err
	}
	next := manifest{base: &base, incrs: []listed{r.incr}, history: slices.Clone(d.manifest.history)}
	if d.manifest.base != nil {
		next.history = append(next.history, *d.manifest.base)
	}
	for _, file := range d.manifest.incrs {
		if file.seq < r.incr.seq {
			next.history = append(next.history, file)
		}
	}
	d.unlisted = ""
	if err := writeManifest(d.place.FS, d.place.manifestPath(), &next); err != nil {
		return err
	}
	d.manifest = next
	d.waiting = false
	d.baseBytes, d.earlierBytes = r.writer.Written(), 0
	d.rewriteBytes = d.total()
	d.removeHistory()
	return nil
}
