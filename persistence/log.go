package persistence

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cellserver/cellserver/internal/vfs"
)

// Policy says when effects must be on disk: Redis's appendfsync.
type Policy int

const (
	// Always is before the reply leaves.
	Always Policy = iota
	// EverySecond is about a second later. A key that changes more often is written once.
	EverySecond
	// No is when the operating system likes. It is written every second, as above.
	No
)

var policyNames = []string{Always: "always", EverySecond: "everysec", No: "no"}

func (p Policy) String() string { return policyNames[p] }

// ParsePolicy reads always, everysec or no.
func ParsePolicy(name string) (Policy, error) {
	for p, known := range policyNames {
		if strings.EqualFold(name, known) {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("%q is not always, everysec or no", name)
}

// Place says where a log is.
type Place struct {
	FS       vfs.FS
	Dir      string // the server's folder
	DirName  string // appenddirname: the folder in it
	FileName string // appendfilename: how the names of its files begin
}

func (p *Place) folder() string            { return filepath.Join(p.Dir, p.DirName) }
func (p *Place) path(name string) string   { return filepath.Join(p.folder(), name) }
func (p *Place) manifestPath() string      { return p.path(p.FileName + manifestSuffix) }
func (p *Place) baseName(seq int64) string { return fmt.Sprint(p.FileName, ".", seq, baseSuffix) }
func (p *Place) incrName(seq int64) string { return fmt.Sprint(p.FileName, ".", seq, incrSuffix) }

// seqOf returns the number of a file with such a name, if that is what it has.
func (p *Place) seqOf(name, suffix string) (seq int64, ok bool) {
	rest, begins := strings.CutPrefix(name, p.FileName+".")
	number, ends := strings.CutSuffix(rest, suffix)
	seq, err := strconv.ParseInt(number, 10, 64)
	return seq, begins && ends && err == nil && seq > 0
}

// Settings are what may change while the log is in use.
type Settings struct {
	Policy            Policy
	Timestamps        bool  // aof-timestamp-enabled: Redis's annotation of the time, besides ours
	RewritePercentage int   // auto-aof-rewrite-percentage: growth since the last rewrite that makes one due; 0: none does
	RewriteMinBytes   int64 // auto-aof-rewrite-min-size
}

const (
	// collectEvery is how long effects are collected unless the policy is Always.
	collectEvery = int64(time.Second)
	// retryEvery is how long to wait after a write that failed.
	retryEvery = int64(time.Second)
	// maxRewriteDelay is the longest wait after rewrites that failed; it doubles from retryEvery on.
	maxRewriteDelay = int64(time.Minute)
)

// ErrClosed is what a log that was closed answers.
var ErrClosed = errors.New("the append only file is closed")

// Log is an append-only file in Redis's multi-part format. All methods are safe for concurrent use; none of them but Commit, Tick,
// Rewrite, Finish and Close waits for the disk.
type Log struct {
	place  Place
	epoch  atomic.Uint64 // grows when batches are due
	clock  atomic.Int64  // the latest time told, Unix ns
	always atomic.Bool   // the policy is Always

	unlisted []string // see Unlisted

	mu       sync.Mutex
	free     sync.Cond // busy has become false
	busy     bool      // somebody uses what is below disk
	settings Settings
	queue    []item
	appended uint64 // items ever queued
	durable  uint64 // so many of them are on disk, or as near as the policy wants
	err      error  // why the last attempt failed; nil: it did not
	closed   bool
	swaps    uint64 // of databases, ever
	spare    []*Batch
	stats    Stats

	epochNanos  int64 // of the last change of epoch
	lookNanos   int64 // of the last look at the files
	retryNanos  int64 // not before this
	rewriteNext int64 // nor a rewrite before this
	rewriteWait int64

	disk disk
}

// item is a batch of effects, the emptying of a database, or the exchange of two.
type item struct {
	batch   *Batch // nil: db was emptied or
	db      int
	with    int // exchanged with this,
	swapped bool
}

// Stats is what INFO tells of a log.
type Stats struct {
	BaseBytes       int64 // of the base
	CurrentBytes    int64 // of all files
	QueuedItems     int   // batches that wait to be written
	Records         uint64
	Syncs           uint64
	WriteErrors     uint64 // attempts to write or sync that failed
	Rewrites        uint64 // that were finished
	RewriteErrors   uint64
	Rewriting       bool
	WaitingForBase  bool  // what is on disk is of no use before the next rewrite is finished
	LastRewriteFail error // nil: the last one went well
}

// Collect is called at the end of each pass that may have put effects into the batch, and at least every 100 ms: it takes the batch
// over when the policy wants that, and leaves it empty. It returns the log's position after it, for Commit; 0 if it took nothing.
func (l *Log) Collect(b *Batch, nowNanos int64) (position uint64) {
	if len(b.records) == 0 {
		b.epoch = l.epoch.Load()
		return 0
	}
	if l.always.Load() || b.epoch != l.epoch.Load() || len(b.keys) >= maxBatchBytes {
		l.tell(nowNanos)
		return l.Append(b)
	}
	return 0
}

func (l *Log) tell(nowNanos int64) {
	for {
		told := l.clock.Load()
		if told >= nowNanos || l.clock.CompareAndSwap(told, nowNanos) {
			return
		}
	}
}

// Append takes the batch over at once, and leaves it empty. It returns the log's position after it.
func (l *Log) Append(b *Batch) (position uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(b.records) == 0 {
		return l.appended
	}
	taken := &Batch{}
	if n := len(l.spare); n > 0 {
		taken, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	*taken, *b = *b, *taken
	b.epoch = l.epoch.Load()
	l.enqueue(item{batch: taken})
	return l.appended
}

// flushDatabase and swapDatabases record what is done on all shards: see ShardLog.
func (l *Log) flushDatabase(db int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.enqueue(item{db: db})
}

func (l *Log) swapDatabases(a, b int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.swaps++
	l.enqueue(item{db: a, with: b, swapped: true})
}

func (l *Log) enqueue(i item) {
	if l.closed {
		return
	}
	l.queue = append(l.queue, i)
	l.appended++
}

// Position is how much was appended so far.
func (l *Log) Position() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.appended
}

// Commit returns when all up to a position is as safe as replies that tell of it need it to be. Under Always that is on disk; all
// that wait share a sync. An error means that it is not, and may be later: the effects stay in the queue.
func (l *Log) Commit(position uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	target := min(position, l.appended) // a position may be of a log before this one
	for l.settings.Policy == Always && l.durable < target {
		switch {
		case l.err != nil:
			return l.err
		case l.closed:
			return ErrClosed
		case l.busy:
			l.free.Wait()
		default:
			l.flushQueue()
		}
	}
	return nil
}

// Tick does what time brings: it is to be called about every 100 ms by a goroutine that may wait for the disk.
func (l *Log) Tick(nowNanos int64) {
	l.tell(nowNanos)
	l.mu.Lock()
	defer l.mu.Unlock()
	if nowNanos-l.epochNanos >= collectEvery {
		l.epochNanos = nowNanos
		l.epoch.Add(1)
	}
	if nowNanos-l.lookNanos >= lookEvery && !l.closed && !l.busy {
		l.lookNanos = nowNanos
		l.look()
	}
	if l.closed || len(l.queue) == 0 || l.err != nil && nowNanos < l.retryNanos {
		return
	}
	l.flushQueue()
}

// acquire waits until nobody else uses the disk. The caller holds mu.
func (l *Log) acquire() {
	for l.busy {
		l.free.Wait()
	}
	l.busy = true
}

func (l *Log) release() {
	l.busy = false
	l.free.Broadcast()
}

// Err returns why what is appended does not get to the disk, nil while it does. Under Always, changes must be refused then.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Misconfigured is the text of the reply that refuses a change, in Redis's words.
func Misconfigured(err error) string {
	reason := err
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		reason = inner // the system's own words, without our path
	}
	text := reason.Error()
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return "MISCONF Errors writing to the AOF file: " + text
}

// Configure changes the settings.
func (l *Log) Configure(settings Settings) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settings = settings
	l.always.Store(settings.Policy == Always)
}

// Stats returns the figures for INFO.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	stats := l.stats
	stats.QueuedItems = len(l.queue)
	return stats
}

// Close writes and syncs what is queued, whatever the policy, and closes the files. Batches that were not appended are lost.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.flushQueue()
	l.acquire()
	defer l.release()
	l.closed = true
	if l.disk.rewrite != nil {
		l.disk.rewrite.doomed = ErrClosed
	}
	return errors.Join(l.err, l.disk.close(), l.disk.unlock())
}

// Unlisted returns the names of files that a log was found to consist of, but for its manifest. They are left alone.
func (l *Log) Unlisted() []string { return l.unlisted }
