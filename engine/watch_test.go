package engine

import (
	"testing"

	"github.com/cellserver/cellserver/keyspace"
)

// TestWatch: a change of a watched key is seen whatever makes it, though it is undone, and so is the key's death; nothing else is.
func TestWatch(t *testing.T) {
	hasher := keyspace.NewHasher()
	name, other := []byte("k"), []byte("other")
	key := Key{Hash: hasher.Sum(name), Bytes: name}
	elsewhere := Key{DB: 1, Hash: hasher.Sum(name), Bytes: name}
	tat := start + 10e9
	for _, c := range []struct {
		what    string
		there   bool // when the watch begins
		do      func(e *Engine)
		changed bool
	}{
		{"nothing", true, func(*Engine) {}, false},
		{"another key", true, func(e *Engine) { e.Store(Key{Hash: hasher.Sum(other), Bytes: other}, tat) }, false},
		{"the name in another database", true, func(e *Engine) { e.Store(elsewhere, tat) }, false},
		{"the same TAT", true, func(e *Engine) { e.Store(key, tat) }, true},
		{"there and back", true, func(e *Engine) { e.Store(key, tat+1); e.Store(key, tat) }, true},
		{"a new key", false, func(e *Engine) { e.Store(key, tat) }, true},
		{"a new key that goes", false, func(e *Engine) { e.Store(key, tat); e.Delete(key) }, true},
		{"a delete", true, func(e *Engine) { e.Delete(key) }, true},
		{"a delete of nothing", false, func(e *Engine) { e.Delete(key) }, false},
		{"a flush", true, func(e *Engine) { e.Flush(0) }, true},
		{"a flush of nothing", false, func(e *Engine) { e.Flush(0) }, false},
		{"a flush elsewhere", true, func(e *Engine) { e.Flush(1) }, false},
		{"a swap", true, func(e *Engine) { e.Swap(0, 1) }, true},
		{"a swap of nothing", false, func(e *Engine) { e.Swap(0, 1) }, false},
		{"the time before it dies", true, func(e *Engine) { e.Advance(tat - 1) }, false},
		{"its death", true, func(e *Engine) { e.Advance(tat) }, true},
		{"time without a key", false, func(e *Engine) { e.Advance(tat) }, false},
	} {
		e := New(hasher)
		e.Advance(start)
		if c.there {
			e.Store(key, tat)
		}
		watch := e.Watch(key)
		if again := e.Watch(key); again != watch || e.Watched() != 1 {
			t.Errorf("%s: a key is watched in two ways", c.what)
		}
		seen := e.Glimpse(watch)
		e.Unwatch(watch)
		c.do(e)
		if got := e.HasChanged(watch, seen); got != c.changed {
			t.Errorf("%s: changed: %v", c.what, got)
		}
		if e.Unwatch(watch); e.Watched() != 0 || e.effects != nil {
			t.Errorf("%s: a watch is left", c.what)
		}
	}
}
