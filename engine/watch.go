package engine

// A watchedKey names an entry in the map of watches.
type watchedKey struct {
	db   int
	name string
}

// A watch counts the changes of one key while somebody wants to know of them.
type watch struct {
	changes  uint64
	watchers int
}

// Watch begins to count the changes of a key, until Unwatch is called as often as Watch was. Together with Changed it is
// what WATCH needs: unlike a comparison of TATs it sees a key that was changed and changed back, as Redis does.
func (e *Engine) Watch(key Key) {
	if e.watches == nil {
		e.watches = make(map[watchedKey]*watch)
	}
	name := watchedKey{key.DB, string(key.Bytes)}
	if e.watches[name] == nil {
		e.watches[name] = &watch{}
	}
	e.watches[name].watchers++
}

// Changes returns how often a watched key was stored or deleted since it is watched.
func (e *Engine) Changes(key Key) uint64 {
	return e.watches[watchedKey{key.DB, string(key.Bytes)}].changes
}

// Unwatch ends one Watch.
func (e *Engine) Unwatch(key Key) {
	name := watchedKey{key.DB, string(key.Bytes)}
	w := e.watches[name]
	if w.watchers--; w.watchers == 0 {
		delete(e.watches, name)
	}
	if len(e.watches) == 0 {
		e.watches = nil
	}
}

func (e *Engine) countChange(key *Key) {
	if w := e.watches[watchedKey{key.DB, string(key.Bytes)}]; w != nil {
		w.changes++
	}
}

// countFlush counts a change of every live key of a database that is watched.
func (e *Engine) countFlush(db int) {
	for name, w := range e.watches {
		if name.db == db && e.liveIn(db, name.name) {
			w.changes++
		}
	}
}

// countSwap counts a change of every watched key of two databases that lives in one of them.
func (e *Engine) countSwap(a, b int) {
	for name, w := range e.watches {
		if (name.db == a || name.db == b) && (e.liveIn(a, name.name) || e.liveIn(b, name.name)) {
			w.changes++
		}
	}
}

func (e *Engine) liveIn(db int, name string) bool {
	key := []byte(name)
	return e.Live(Key{DB: db, Hash: e.hasher.Sum(key), Bytes: key})
}

// Watched returns how many keys are watched.
func (e *Engine) Watched() int { return len(e.watches) }
