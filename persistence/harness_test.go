package persistence

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/internal/vfs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a name in a database.
type place struct {
	db  int
	key string
}

// state is a keyspace, and a Sink.
type state struct {
	tats  map[place]int64
	calls []string // of Throttle
}

func newState() *state { return &state{tats: map[place]int64{}} }

func (s *state) Store(db int, key []byte, tatNanos int64) { s.tats[place{db, string(key)}] = tatNanos }
func (s *state) Delete(db int, key []byte)                { delete(s.tats, place{db, string(key)}) }

func (s *state) Flush(db int) {
	maps.DeleteFunc(s.tats, func(p place, _ int64) bool { return p.db == db })
}

func (s *state) Swap(a, b int) {
	swapped := map[place]int64{}
	for p, tat := range s.tats {
		switch p.db {
		case a:
			p.db = b
		case b:
			p.db = a
		}
		swapped[p] = tat
	}
	s.tats = swapped
}

func (s *state) Throttle(db int, key []byte, limit *gcra.Limit, quantity, atNanos int64) {
	s.calls = append(s.calls, fmt.Sprintf("%d %s %d %d %d %d at %d", db, key, limit.MaxBurst, limit.Count, limit.Period, quantity, atNanos))
}

// names returns the places in order.
func (s *state) names() []place {
	return slices.SortedFunc(maps.Keys(s.tats), func(a, b place) int {
		if a.db != b.db {
			return a.db - b.db
		}
		return slices.Compare([]byte(a.key), []byte(b.key))
	})
}

func sameState(t testing.TB, got, want *state) {
	t.Helper()
	for p, tat := range want.tats {
		if got.tats[p] != tat {
			t.Errorf("%.60v has %d, want %d", p, got.tats[p], tat)
		}
	}
	for p, tat := range got.tats {
		if _, wanted := want.tats[p]; !wanted {
			t.Errorf("%.60v has %d and should not be there", p, tat)
		}
	}
}

var testPlace = Place{Dir: ".", DirName: "appendonlydir", FileName: "appendonly.aof"}

// a shop is a server as persistence sees it: two shards, a keyspace, a log.
type shop struct {
	t      testing.TB
	place  Place
	disk   *vfs.Disk
	log    *Log
	state  *state
	shards [2]*ShardLog
	now    int64
}

// openShop starts a server on what is in the place, and does the first rewrite if the log waits for one.
func openShop(t testing.TB, at Place, settings Settings) *shop {
	t.Helper()
	s := &shop{t: t, place: at, state: newState(), now: now}
	s.disk, _ = at.FS.(*vfs.Disk)
	loaded, err := LoadLog(at, loadOptions, s.state)
	if loaded == nil && err == nil || loaded != nil && err != nil && loaded.manifest == nil {
		t.Fatal(loaded, err)
	}
	if err != nil {
		loaded = nil
	}
	s.follow(OpenLog(at, settings, loaded, s.now))
	if s.log.RewriteDue(s.now) {
		must(t, s.rewrite())
	}
	return s
}

// follow has the shards tell a log that was just opened.
func (s *shop) follow(log *Log, err error) {
	s.t.Helper()
	must(s.t, err)
	s.log, s.shards = log, [2]*ShardLog{log.Shard(true), log.Shard(false)}
}

var loadOptions = LoadOptions{NowNanos: now, Databases: 16, TruncatedOK: true}

func onDisk(disk vfs.FS) Place {
	at := testPlace
	at.FS = disk
	return at
}

// hashOf is poor on purpose.
func hashOf(key string) uint64 {
	h := uint64(0)
	for _, c := range []byte(key) {
		h = h*31 + uint64(c)
	}
	return h
}

func (s *shop) shard(key string) *ShardLog { return s.shards[hashOf(key)%2] }

func (s *shop) set(db int, key string, tat int64) {
	s.state.tats[place{db, key}] = tat
	s.shard(key).Set(db, hashOf(key), []byte(key), tat)
}

func (s *shop) del(db int, key string) {
	delete(s.state.tats, place{db, key})
	s.shard(key).Delete(db, hashOf(key), []byte(key))
}

func (s *shop) flush(db int) {
	s.state.Flush(db)
	for _, shard := range slices.Backward(s.shards[:]) {
		shard.Flush(db)
	}
}

func (s *shop) swap(a, b int) {
	s.state.Swap(a, b)
	for _, shard := range slices.Backward(s.shards[:]) {
		shard.Swap(a, b)
	}
}

// pass ends a pass of both loops.
func (s *shop) pass() error {
	for _, shard := range s.shards {
		shard.Collect(s.now)
	}
	return s.log.Commit(s.log.Position())
}

// wait lets time pass, with loops that are idle.
func (s *shop) wait(nanos int64) {
	const tick = 100e6
	for end := s.now + nanos; s.now < end; {
		s.now += tick
		s.log.Tick(s.now)
		_ = s.pass() // the log's Err tells
	}
	s.log.Tick(s.now)
}

// rewrite does a rewrite at once.
func (s *shop) rewrite() error {
	r, err := s.log.Rewrite(RDBHeader{ClockNanos: s.now})
	if err != nil {
		return err
	}
	for _, p := range s.state.names() {
		if err := r.Write(p.db, AppendEntry(nil, []byte(p.key), s.state.tats[p])); err != nil {
			r.Abort(err)
			return err
		}
	}
	return r.Finish()
}

// reload loads what is on disk.
func (s *shop) reload() (*state, *Loaded) {
	s.t.Helper()
	got := newState()
	loaded, err := LoadLog(s.place, loadOptions, got)
	if err != nil {
		s.t.Fatal(err)
	}
	return got, loaded
}

// file returns the content of a file of the log.
func (s *shop) file(name string) string {
	s.t.Helper()
	return string(readFile(s.t, s.place.FS, s.place.path(name)))
}

func readFile(t testing.TB, fsys vfs.FS, path string) []byte {
	t.Helper()
	file, size, err := openSized(fsys, path)
	must(t, err)
	defer file.Close()
	content := make([]byte, size)
	if n, err := file.ReadAt(content, 0); int64(n) != size {
		t.Fatal(err)
	}
	return content
}

// putFile writes a file, synced, in a folder that is made if need be.
func putFile(t testing.TB, fsys vfs.FS, dir, path, content string) {
	t.Helper()
	must(t, fsys.MakeDir(dir))
	file, err := fsys.Create(path)
	must(t, err)
	_, err = file.Write([]byte(content))
	must(t, err)
	must(t, file.Sync())
	must(t, file.Close())
	must(t, fsys.SyncDir(dir))
	must(t, fsys.SyncDir("."))
}
