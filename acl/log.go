package acl

import (
	"slices"
	"sync"
	"time"
)

// Context is where a denied command came from.
type Context int

// The contexts.
const (
	TopLevel Context = iota
	InTransaction
	InScript
)

// String returns the context as ACL LOG shows it.
func (c Context) String() string { return [...]string{"toplevel", "multi", "lua"}[c] }

// A LogEntry is a denial, or several alike, in the ACL log.
type LogEntry struct {
	Count      int
	Reason     Reason
	Context    Context
	Object     string // command, key or channel; AUTH or HELLO as it was written where the reason is DeniedAuth
	Username   string
	ClientInfo string // as in CLIENT LIST, of the latest
	LastNanos  int64  // time of the latest, Unix ns
}

const (
	// DefaultLogLength is how many entries the log keeps by default.
	DefaultLogLength = 128
	// groupingTime is how old an entry may be for a similar one to be added to it, and groupingDepth how far back to
	// look for it. Both are Redis's.
	groupingTime  = time.Minute
	groupingDepth = 10
)

// A Log keeps the latest denials. It may be used from many goroutines.
type Log struct {
	mutex   sync.Mutex
	length  int
	entries []LogEntry // the latest first
}

// SetLength sets how many entries are kept, from the next one on.
func (l *Log) SetLength(entries int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.length = entries
}

// Add logs a denial. Count need not be set.
func (l *Log) Add(added LogEntry) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	added.Count = 1
	for i := range min(groupingDepth, len(l.entries)) {
		if each := &l.entries[i]; each.alike(&added) {
			added.Count += each.Count
			l.entries = slices.Delete(l.entries, i, i+1)
			break
		}
	}
	l.entries = slices.Insert(l.entries, 0, added)
	l.entries = slices.Delete(l.entries, min(l.length, len(l.entries)), len(l.entries))
}

func (e *LogEntry) alike(later *LogEntry) bool {
	return e.Reason == later.Reason && e.Context == later.Context && e.Object == later.Object &&
		e.Username == later.Username && later.LastNanos-e.LastNanos <= int64(groupingTime)
}

// Latest returns up to n entries, the latest first.
func (l *Log) Latest(n int) []LogEntry {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.entries[:min(n, len(l.entries))])
}

// Reset forgets all entries.
func (l *Log) Reset() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.entries = nil
}
