package persistence

import (
	"cmp"
	"slices"
)

// waitingStrings are strings that lack the expiry of a limiter key and may still get it.
//
// A string may be set by one command and get its expiry by a later one: that is how Redis rewrites a log without an RDB file, and how
// before version 7 it wrote SETEX down. So a string that is not a limiter key is not left out at once. It waits for its expiry
// until many others have come, or until Finish.
type waitingStrings struct {
	leaveOut func(key string, source any) error // is told of those that have waited in vain. Its errors end what calls it

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
	tatNanos int64 // 0: it can't be one
	source   any   // the Applier's when it was set
	order    int
}

const (
	// maxWaiting is how many strings wait for an expiry, at the least: commands of clients that work at the same time come in any order.
	maxWaiting = 1 << 14
	// maxWaitingBytes is how many bytes of keys make their number enough earlier.
	maxWaitingBytes = 16 << 20
)

// wait has a string wait for its expiry.
func (s *waitingStrings) wait(db int, key []byte, tatNanos int64, source any) error {
	s.forget(db, key)
	s.order++
	if s.young == nil {
		s.young = map[placedKey]waitingString{}
	}
	s.young[placedKey{db, string(key)}] = waitingString{tatNanos, source, s.order}
	s.youngBytes += len(key)
	if len(s.young) < maxWaiting && s.youngBytes < maxWaitingBytes {
		return nil
	}
	settled := s.old
	s.old, s.young, s.youngBytes = s.young, nil, 0
	return s.settle(settled)
}

// waiting returns a string that waits.
func (s *waitingStrings) waiting(db int, key []byte) (waitingString, bool) {
	k := placedKey{db, string(key)}
	if w, waits := s.young[k]; waits {
		return w, true
	}
	w, waits := s.old[k]
	return w, waits
}

// forget is for a key that is gone, or has another value.
func (s *waitingStrings) forget(db int, key []byte) {
	k := placedKey{db, string(key)}
	delete(s.young, k)
	delete(s.old, k)
}

// flush is for a database that was emptied.
func (s *waitingStrings) flush(db int) {
	for _, waiting := range []map[placedKey]waitingString{s.young, s.old} {
		for k := range waiting {
			if k.db == db {
				delete(waiting, k)
			}
		}
	}
}

// swap is for two databases that were exchanged.
func (s *waitingStrings) swap(a, b int) {
	exchanged := map[int]int{a: b, b: a}
	for _, waiting := range []*map[placedKey]waitingString{&s.young, &s.old} {
		moved := make(map[placedKey]waitingString, len(*waiting))
		for k, w := range *waiting {
			if other, concerned := exchanged[k.db]; concerned {
				k.db = other
			}
			moved[k] = w
		}
		*waiting = moved
	}
}

// settle leaves out strings that have waited in vain.
func (s *waitingStrings) settle(waiting map[placedKey]waitingString) error {
	keys := make([]placedKey, 0, len(waiting))
	for k := range waiting {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b placedKey) int { return cmp.Compare(waiting[a].order, waiting[b].order) })
	for _, k := range keys {
		if err := s.leaveOut(k.key, waiting[k].source); err != nil {
			return err
		}
	}
	return nil
}

// finish leaves out all that wait.
func (s *waitingStrings) finish() error {
	old, young := s.old, s.young
	s.old, s.young, s.youngBytes = nil, nil, 0
	if err := s.settle(old); err != nil {
		return err
	}
	return s.settle(young)
}
