package persistence

import (
	"cmp"
	"slices"
)

// history is what is known of a log beyond the file that is being read: it holds over all of them.
//
// A string may be set by one command and get its expiry by a later one: that is how Redis rewrites a log without an RDB file, and how
// before version 7 it wrote SETEX down. So a string that is no limiter's key is not left out at once. It waits for its expiry until
// many others have come, or the log has ended.
type history struct {
	options LoadOptions

	recordedNanos int64   // of the last #TS:, 0: there was none
	baseNanos     int64   // when the base was written, 0: nobody knows
	sinceBase     int64   // calls that were applied as of then, since no #TS: had come yet
	sinceBaseIn   *Loaded // where they are to be told

	young, old map[placedKey]waitingString // the old are settled when there are enough of the young
	youngBytes int                         // of their keys
	order      int                         // of the last
}

type placedKey struct {
	db  int
	key string
}

// waitingString is a string without the expiry of a limiter's key.
type waitingString struct {
	tatNanos int64   // 0: it can't be one
	loaded   *Loaded // of its file
	order    int
}

const (
	// maxWaiting is how many strings wait for an expiry, at the least: commands of clients that work at the same time come in any order.
	maxWaiting = 1 << 14
	// maxWaitingBytes is how many bytes of keys make their number enough earlier.
	maxWaitingBytes = 16 << 20
)

func newHistory(options LoadOptions) *history {
	return &history{options: options, young: map[placedKey]waitingString{}, old: map[placedKey]waitingString{}}
}

// wait has a string wait for its expiry.
func (h *history) wait(db int, key []byte, tatNanos int64, loaded *Loaded) error {
	h.forget(db, key)
	h.order++
	h.young[placedKey{db, string(key)}] = waitingString{tatNanos, loaded, h.order}
	h.youngBytes += len(key)
	if len(h.young) < maxWaiting && h.youngBytes < maxWaitingBytes {
		return nil
	}
	settled := h.old
	h.old, h.young, h.youngBytes = h.young, map[placedKey]waitingString{}, 0
	return h.settle(settled)
}

// waiting returns a string that waits.
func (h *history) waiting(db int, key []byte) (waitingString, bool) {
	k := placedKey{db, string(key)}
	if w, waits := h.young[k]; waits {
		return w, true
	}
	w, waits := h.old[k]
	return w, waits
}

// forget is for a key that is gone, or has another value.
func (h *history) forget(db int, key []byte) {
	k := placedKey{db, string(key)}
	delete(h.young, k)
	delete(h.old, k)
}

// flush is for a database that was emptied.
func (h *history) flush(db int) {
	for _, strings := range []map[placedKey]waitingString{h.young, h.old} {
		for k := range strings {
			if k.db == db {
				delete(strings, k)
			}
		}
	}
}

// swap is for two databases that were exchanged.
func (h *history) swap(a, b int) {
	exchanged := map[int]int{a: b, b: a}
	for _, strings := range []*map[placedKey]waitingString{&h.young, &h.old} {
		moved := make(map[placedKey]waitingString, len(*strings))
		for k, w := range *strings {
			if other, concerned := exchanged[k.db]; concerned {
				k.db = other
			}
			moved[k] = w
		}
		*strings = moved
	}
}

// settle leaves strings out that have waited in vain.
func (h *history) settle(strings map[placedKey]waitingString) error {
	keys := make([]placedKey, 0, len(strings))
	for k := range strings {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b placedKey) int { return cmp.Compare(strings[a].order, strings[b].order) })
	for _, k := range keys {
		found := &strings[k].loaded.Found
		if err := found.leaveOut(&found.OtherStrings, []byte(k.key), h.options.Strict); err != nil {
			return err
		}
	}
	return nil
}

// end settles what is open at the end of the log.
func (h *history) end() error {
	if h.sinceBase > 0 {
		h.sinceBaseIn.CallsSinceBase += h.sinceBase
		h.sinceBaseIn.baseNanos = h.baseNanos
		if h.options.Strict {
			return errStrictCalls
		}
	}
	if err := h.settle(h.old); err != nil {
		return err
	}
	return h.settle(h.young)
}

// recorded is told of a #TS:. Redis writes one whenever the second is another, so where the first one comes within a second of the base,
// the calls before it have their time as exactly as those after it. A later first one tells nothing of them: aof-timestamp-enabled may
// have been switched on long after they were made.
func (h *history) recorded(nanos int64) {
	if h.recordedNanos == 0 && h.baseNanos <= nanos && nanos-h.baseNanos <= nanosPerSecond {
		h.sinceBase = 0
	}
	h.recordedNanos = nanos
}
