package engine

// watches counts the changes of keys while they are watched. It is a sink, attached while there are any.
type watches struct {
	engine *Engine
	keys   map[watchedKey]*watch
}

// A watchedKey names an entry in the map of watches.
type watchedKey struct {
	db   int
	name string
}

// A watch counts the changes of one key.
type watch struct {
	changes  uint64
	watchers int
}

// Watch begins to count the changes of a key, until Unwatch is called as often as Watch was. Together with Changes it is
// what WATCH needs: unlike a comparison of TATs it sees a key that was changed and changed back, as Redis does.
func (e *Engine) Watch(key Key) {
	if e.watches == nil {
		e.watches = &watches{engine: e, keys: make(map[watchedKey]*watch)}
		e.Attach(e.watches)
	}
	name := watchedKey{key.DB, string(key.Bytes)}
	if e.watches.keys[name] == nil {
		e.watches.keys[name] = &watch{}
	}
	e.watches.keys[name].watchers++
}

// Changes returns how often a watched key was stored or deleted since it is watched.
func (e *Engine) Changes(key Key) uint64 {
	return e.watches.keys[watchedKey{key.DB, string(key.Bytes)}].changes
}

// Unwatch ends one Watch.
func (e *Engine) Unwatch(key Key) {
	name := watchedKey{key.DB, string(key.Bytes)}
	w := e.watches.keys[name]
	if w.watchers--; w.watchers == 0 {
		delete(e.watches.keys, name)
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
	for name, watched := range w.keys {
		if name.db == db && w.engine.liveIn(db, name.name) {
			watched.changes++
		}
	}
}

// Swap counts a change of every watched key of the two databases that lives in one of them.
func (w *watches) Swap(a, b int) {
	for name, watched := range w.keys {
		if (name.db == a || name.db == b) && (w.engine.liveIn(a, name.name) || w.engine.liveIn(b, name.name)) {
			watched.changes++
		}
	}
}

func (e *Engine) liveIn(db int, name string) bool {
	key := []byte(name)
	return e.Live(Key{DB: db, Hash: e.hasher.Sum(key), Bytes: key})
}
