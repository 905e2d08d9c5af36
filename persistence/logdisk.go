package persistence

import (
	"errors"
	"io"
	"io/fs"

	"github.com/cellserver/cellserver/internal/vfs"
)

const (
	// recordsAtOnce and writeBytes bound how much is encoded before it is written.
	recordsAtOnce = 4096
	writeBytes    = 1 << 20
	// maxQueuedBytes is how many bytes of keys may wait for a disk that does not take them.
	maxQueuedBytes = 256 << 20
	// maxQueuedItems is the same for what else waits: databases that were exchanged again and again.
	maxQueuedItems = 1 << 16
	// keptSpares is how many empty batches are kept.
	keptSpares = 16
)

// errNoIncrement is why nothing is written between a sync that failed and the rewrite that makes up for it.
var errNoIncrement = errors.New("the increment was given up, a rewrite is to come")

// disk is what a log has on disk. Whoever has acquired the log uses it.
type disk struct {
	place    *Place
	lock     io.Closer // of the folder; nil: it is not the log's
	lost     bool      // somebody else has removed or changed files, or the folder
	manifest manifest
	baseSeq  int64 // highest used
	incrSeq  int64

	// file is the increment being written, nil if the last was given up. Its first size bytes are whole blocks, the first synced
	// of them are safe.
	file    vfs.File
	current listed
	size    int64
	synced  int64

	// unlisted is the name of the increment as long as no manifest can hold it, not even one of which nobody knows whether it was
	// written.
	unlisted string

	// waiting: what is on disk is not what the log is to hold, and won't be before a rewrite is finished. The increment, if there is
	// one, is not in the manifest yet.
	waiting bool

	baseBytes    int64
	earlierBytes int64 // in increments before file
	rewriteBytes int64 // in all files after the last rewrite
	encoder      encoder
	rewrite      *Rewrite // under way
}

// flushQueue writes what is queued. The caller holds mu, which is free meanwhile.
func (l *Log) flushQueue() {
	l.acquire()
	defer l.release()
	items, position := l.queue, l.appended
	settings, clock := l.settings, l.clock.Load()
	l.queue = nil
	if len(items) == 0 && l.err == nil {
		l.durable = position
		return
	}
	l.mu.Unlock()
	records, err := l.disk.append(items, settings, clock)
	l.mu.Lock()
	l.note(err)
	switch {
	case err == nil:
		l.durable = position
		l.stats.Records += records
		if settings.Policy != No {
			l.stats.Syncs++
		}
		l.recycle(items)
	case l.disk.file == nil: // the rewrite that is to come makes up for them
		if l.err == nil {
			l.durable = position // at the start, nothing was promised yet
		}
	default:
		l.keep(items)
	}
	l.updateSizes()
}

// keep puts what could not be written back into the queue, unless a rewrite is the cheaper way by now.
func (l *Log) keep(items []item) {
	l.queue = append(merge(items), l.queue...)
	bytes := 0
	for _, i := range l.queue {
		if i.batch != nil {
			bytes += len(i.batch.keys)
		}
	}
	if bytes > maxQueuedBytes || len(l.queue) > maxQueuedItems {
		l.queue = nil
		l.disk.giveUp()
	}
}

// note keeps or clears the reason for which nothing gets to the disk. While a rewrite is to come, the reason for it stays.
func (l *Log) note(err error) {
	switch {
	case err == nil && !l.disk.waiting:
		l.err = nil
	case err != nil && !errors.Is(err, errNoIncrement):
		l.err = err
		l.stats.WriteErrors++
		l.retryNanos = l.clock.Load() + retryEvery
	}
}

func (l *Log) updateSizes() {
	l.stats.BaseBytes = l.disk.baseBytes
	l.stats.CurrentBytes = l.disk.total()
	l.stats.Rewriting = l.disk.rewrite != nil
	l.stats.WaitingForBase = l.disk.waiting
}

func (l *Log) recycle(items []item) {
	for _, i := range items {
		if i.batch != nil && len(l.spare) < keptSpares {
			i.batch.empty()
			l.spare = append(l.spare, i.batch)
		}
	}
}

// merge makes what waits for another attempt as small as it can be, so that a long time without disk takes little more memory than
// the keys that changed. Nothing is moved past an exchange of databases.
func merge(items []item) []item {
	var out []item
	merged := &Batch{}
	flushed := map[int]bool{}
	finish := func() {
		if merged.Len() > 0 {
			out = append(out, item{batch: merged})
		}
		merged = &Batch{}
		clear(flushed)
	}
	for _, i := range items {
		switch {
		case i.batch != nil:
			merged.absorb(i.batch)
		case i.swapped:
			finish()
			out = append(out, i)
		default:
			merged.Flush(i.db)
			if !flushed[i.db] {
				flushed[i.db] = true
				out = append(out, i)
			}
		}
	}
	finish()
	return out
}

// append writes the items and, unless the policy is No, syncs. If it fails, the file is what it was before, or given up.
func (d *disk) append(items []item, settings Settings, clockNanos int64) (records uint64, err error) {
	if d.file == nil {
		return 0, errNoIncrement
	}
	if err := d.intact(); err != nil {
		return 0, err
	}
	d.encoder.timestamps = settings.Timestamps
	d.encoder.begin(clockNanos, d.synced)
	start := d.size
	lastSecond := d.encoder.lastSecond
	if records, err = d.write(items); err != nil {
		d.size = start
		d.encoder.lastSecond = lastSecond
		if cutErr := d.file.Truncate(start); cutErr != nil {
			d.giveUp()
		}
		return 0, err
	}
	if settings.Policy == No {
		return records, nil
	}
	return records, d.sync()
}

func (d *disk) write(items []item) (records uint64, err error) {
	e := &d.encoder
	for _, i := range items {
		if i.batch == nil {
			if i.swapped {
				e.swap(i.db, i.with)
			} else {
				e.flush(i.db)
			}
			records++
			continue
		}
		for from := 0; from < len(i.batch.records); from += recordsAtOnce {
			to := min(from+recordsAtOnce, len(i.batch.records))
			e.batch(i.batch, from, to)
			if len(e.buf) >= writeBytes {
				if err := d.drain(); err != nil {
					return 0, err
				}
			}
		}
		records += uint64(len(i.batch.records))
	}
	e.end()
	return records, d.drain()
}

// drain writes the finished blocks.
func (d *disk) drain() error {
	n, err := d.file.Write(d.encoder.buf)
	d.size += int64(n)
	d.encoder.buf = d.encoder.buf[:0]
	return err
}

// sync makes the increment safe, or gives it up: after a sync that failed nobody knows what of it is on disk, and the next
// one may succeed without it.
func (d *disk) sync() error {
	if err := d.file.Sync(); err != nil {
		d.giveUp()
		return err
	}
	d.synced = d.size
	return nil
}

// giveUp closes the increment. A rewrite must take its place, and one that is under way is worth nothing, since it counts on it.
func (d *disk) giveUp() {
	// It does not have to succeed: what is beyond the part that is safe is a torn tail to whoever loads the file.
	_ = d.file.Truncate(d.synced)
	d.closeIncrement()
}

// closeIncrement leaves the increment, which then is of no use before a rewrite.
func (d *disk) closeIncrement() {
	_ = d.file.Close()
	d.file = nil
	d.earlierBytes += d.synced
	d.size, d.synced = 0, 0
	d.waiting = true
	if d.rewrite != nil {
		d.rewrite.doomed = errNoIncrement
	}
}

// dropIncrement ends an increment that no base was found for.
func (d *disk) dropIncrement() {
	if d.file != nil {
		_ = d.file.Close()
	}
	if d.unlisted != "" {
		_ = d.place.FS.Remove(d.place.path(d.unlisted))
	}
	d.file, d.unlisted = nil, ""
	d.size, d.synced = 0, 0
}

func (d *disk) total() int64 { return d.baseBytes + d.earlierBytes + d.size }

// startIncrement creates the next increment and makes it the one being written. Its name and a first, empty block are on disk: a
// file that begins with a block is ours, whatever a crash makes of the rest. It is not in the manifest.
func (d *disk) startIncrement(clockNanos int64) error {
	d.incrSeq++
	next := listed{name: d.place.incrName(d.incrSeq), seq: d.incrSeq, kind: typeIncremental}
	file, err := d.place.FS.Create(d.place.path(next.name))
	if err != nil {
		return err
	}
	var written int
	header := blockHeader{clockNanos: clockNanos}
	header.crc = header.checksum(nil)
	if written, err = file.Write(header.appendLine(nil)); err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = d.place.FS.SyncDir(d.place.folder())
	}
	if err != nil {
		_ = file.Close()
		_ = d.place.FS.Remove(d.place.path(next.name))
		return err
	}
	d.file, d.current, d.size, d.synced = file, next, int64(written), int64(written)
	d.encoder.lastSecond = 0
	d.unlisted = next.name
	return nil
}

func (d *disk) close() error {
	if d.file == nil {
		return nil
	}
	err := d.sync()
	if d.file != nil {
		err = errors.Join(err, d.file.Close())
		d.file = nil
	}
	return err
}

// OpenLog goes on with a log where it was left. Without one, which is if found is nil, or in the old form of one file, the log waits for a
// first rewrite: see RewriteDue. The folder is the log's alone until Close.
func OpenLog(place Place, settings Settings, found *Loaded, nowNanos int64) (*Log, error) {
	l := &Log{place: place, settings: settings, rewriteWait: retryEvery}
	l.free.L = &l.mu
	l.always.Store(settings.Policy == Always)
	l.tell(nowNanos)
	l.disk.place = &l.place
	err := l.disk.claim()
	if err != nil {
		return nil, err
	}
	switch {
	case found == nil || found.manifest == nil:
		l.unlisted, err = l.disk.begin()
	case found.wantsBase:
		l.disk.take(found)
		l.disk.waiting = true
	default:
		l.disk.take(found)
		err = l.disk.resume(found, nowNanos)
	}
	if err != nil {
		return nil, errors.Join(err, l.disk.unlock())
	}
	l.updateSizes()
	return l, nil
}

// begin has the disk wait for the first rewrite. Nothing that is there is written over: a log that was turned off is good until
// the rewrite has taken its place, and files without a manifest, whose names it returns, may be all that is left of somebody's log.
func (d *disk) begin() (unlisted []string, err error) {
	d.waiting = true
	d.manifest, err = readManifest(d.place.FS, d.place.manifestPath())
	if !errors.Is(err, fs.ErrNotExist) {
		d.baseSeq, d.incrSeq = d.manifest.lastSeqs()
		return nil, err
	}
	names, err := d.place.FS.List(d.place.folder())
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		base, isBase := d.place.seqOf(name, baseSuffix)
		incr, isIncr := d.place.seqOf(name, incrSuffix)
		if isBase || isIncr {
			unlisted = append(unlisted, name)
			d.baseSeq, d.incrSeq = max(d.baseSeq, base), max(d.incrSeq, incr)
		}
	}
	return unlisted, nil
}

// take makes the files that were loaded the disk's.
func (d *disk) take(found *Loaded) {
	d.manifest = *found.manifest
	d.baseSeq, d.incrSeq = d.manifest.lastSeqs()
	d.baseBytes = found.baseBytes
}

// resume cuts torn tails and opens the last increment.
func (d *disk) resume(found *Loaded, nowNanos int64) error {
	for i, file := range d.manifest.incrs {
		size := found.incrs[i].whole
		goOn := i == len(d.manifest.incrs)-1 && found.incrs[i].ours
		if !goOn && size == found.incrs[i].size {
			d.earlierBytes += size
			continue
		}
		opened, err := d.place.FS.Append(d.place.path(file.name))
		if err != nil {
			return err
		}
		if err = opened.Truncate(size); err == nil {
			err = opened.Sync()
		}
		if err == nil && goOn {
			d.file, d.current, d.size, d.synced = opened, file, size, size
			break
		}
		d.earlierBytes += size
		if err = errors.Join(err, opened.Close()); err != nil {
			return err
		}
	}
	if d.file == nil {
		if err := d.listIncrement(nowNanos); err != nil {
			return err
		}
	}
	d.removeHistory()
	d.rewriteBytes = d.total()
	return nil
}

// listIncrement starts an increment and enters it in the manifest.
func (d *disk) listIncrement(nowNanos int64) error {
	if err := d.startIncrement(nowNanos); err != nil {
		return err
	}
	d.manifest.incrs = append(d.manifest.incrs, d.current)
	d.unlisted = ""
	return writeManifest(d.place.FS, d.place.manifestPath(), &d.manifest)
}

// removeHistory removes files that are of no use any more. What can't be removed stays in the manifest for another time.
func (d *disk) removeHistory() {
	if len(d.manifest.history) == 0 {
		return
	}
	for _, file := range d.manifest.history {
		_ = d.place.FS.Remove(d.place.path(file.name))
	}
	left := d.manifest
	left.history = nil
	if writeManifest(d.place.FS, d.place.manifestPath(), &left) == nil {
		d.manifest = left
	}
}
