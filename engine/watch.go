package engine

// watches counts the changes of keys while they are watched. It is a sink, attached while there are any.
type watches struct {
	engine *Engine
	keys   map[watchedKey]*Watch
}

// A watchedKey names an entry in the map of watches.
type watchedKey struct {
	db   int
	name string
}

// A Watch counts the changes of one key for all of its watchers.
type Watch struct {
	Hash     uint64 // of the key
	key      watchedKey
	changes  uint64
	watchers int
}

// A Glimpse is what a watched key looked like at some time.
type Glimpse struct {
	changes  uint64
	tatNanos int64 // 0: the key did not exist
}

// Watch begins to count the changes of a key, until Unwatch is called as often as Watch was. It is what WATCH needs:
// unlike a comparison of TATs it sees a key that was changed and changed back, as Redis does. For the same key it returns
// the same Watch, as long as that is watched.
func (e *Engine) Watch(key Key) *Watch {
	if e.watches == nil {
		e.watches = &watches{engine: e, keys: make(map[watchedKey]*Watch)}
		e.Attach(e.watches)
	}
	w := e.watches.keys[watchedKey{key.DB, string(key.Bytes)}]
	if w == nil {
		w = &Watch{Hash: key.Hash, key: watchedKey{key.DB, string(key.Bytes)}}
		e.watches.keys[w.key] = w
	}
	w.watchers++
	return w
}

// Glimpse looks at a watched key.
func (e *Engine) Glimpse(w *Watch) Glimpse {
	g := Glimpse{changes: w.changes}
	if tatNanos, live := e.peek(Key{DB: w.key.db, Hash: w.Hash, Bytes: []byte(w.key.name)}); live {
		g.tatNanos = tatNanos
	}
	return g
}

// HasChanged says whether a watched key was stored or deleted since the glimpse, or has expired. A key that was not stored
// since has the TAT that it had, so that there is nothing to look up.
func (e *Engine) HasChanged(w *Watch, since Glimpse) bool {
	return w.changes != since.changes || since.tatNanos != 0 && since.tatNanos <= e.now
}

// Unwatch ends one Watch.
func (e *Engine) Unwatch(w *Watch) {
	if w.watchers--; w.watchers == 0 {
		delete(e.watches.keys, w.key)
	}
	if len(e.watches.keys) == 0 {
		e.Detach(e.watches)
		e.watches = nil
	}
}

// Watched returns how many keys are watched.
func (e *Engine) Watched() int {
	if e.watches == nil {
		return 0
	}
	return len(e.watches.keys)
}

// Set counts a change.
func (w *watches) Set(db int, _ uint64, key []byte, _ int64) { w.count(db, key) }

// Delete counts a change.
func (w *watches) Delete(db int, _ uint64, key []byte) { w.count(db, key) }

func (w *watches) count(db int, key []byte) {
	if watched := w.keys[watchedKey{db, string(key)}]; watched != nil {
		watched.changes++
	}
}

// Flush counts a change of every watched key that lives in the database.
func (w *watches) Flush(db int) {
	for key, watched := range w.keys {
		if key.db == db && w.livesIn(db, watched) {
			watched.changes++
		}
	}
}

// Swap counts a change of every watched key of the two databases that lives in one of them.
func (w *watches) Swap(a, b int) {
	for key, watched := range w.keys {
		if (key.db == a || key.db == b) && (w.livesIn(a, watched) || w.livesIn(b, watched)) {
			watched.changes++
		}
	}
}

func (w *watches) livesIn(db int, watched *Watch) bool {
	return w.engine.Live(Key{DB: db, Hash: watched.Hash, Bytes: []byte(watched.key.name)})
}
