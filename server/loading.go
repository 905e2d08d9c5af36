package server

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/gcra"
	"github.com/cellserver/cellserver/persistence"
)

// This file brings back, after a start, what is on disk. Clients are answered meanwhile: all commands that need the keys
// are refused, as in Redis, so that a client knows that the server lives and when to come again.

const errLoading = replyError("LOADING Redis is loading the dataset in memory")

// allowedWhileLoading says whether a command may be carried out while the shards do not have their data.
func (c *command) allowedWhileLoading() bool { return c.has("loading") && c.keys.step == 0 }

// loading tells how far the server is with it.
type loading struct {
	active      atomic.Bool
	began       time.Time
	done, total atomic.Int64 // bytes of the files
}

// bringUp loads what is on disk, gives it to the loops, and begins what works on it. Where the server ends meanwhile that is
// no error.
func (s *Server) bringUp() error {
	impatient := time.AfterFunc(loadPatience, s.startAccepting)
	defer impatient.Stop()
	load := newLoad(s)
	aof, err := load.run()
	if err == nil {
		err = s.takeOver(load.engines, aof)
	}
	if errors.Is(err, ErrServerClosed) {
		s.log.notice("Loading is given up: the server ends")
		return nil
	}
	if err != nil {
		return err
	}
	s.loading.active.Store(false)
	if impatient.Stop() {
		s.startAccepting()
	}
	s.tellReady()
	s.keepers.Go(s.snapshots.byPoints)
	s.keepers.Go(s.keepLog)
	return nil
}

// loadPatience is how long clients wait for a load before they are answered LOADING. Most loads are over by then, and many a client
// takes that answer for a failure. Redis does the same by counting: the first 2 MB are loaded before it looks at its clients.
const loadPatience = 200 * time.Millisecond

// startAccepting has the first loop take on the listeners, at which clients may be waiting already.
func (s *Server) startAccepting() {
	s.loops[0].post(&envelope{deliver: func(l *loop) {
		if s.closing.Load() {
			return
		}
		if s.acceptFailed = s.accept(l); s.acceptFailed != nil {
			s.end()
		}
	}})
}

// takeOver gives the loops their engines and their log, and has them carry out all commands.
func (s *Server) takeOver(engines []*engine.Engine, aof *persistence.Log) error {
	err := s.onEachShard(func(l *loop) {
		l.engine = engines[l.index]
		l.keepIn(aof)
	})
	if err == nil && aof != nil {
		s.aof.Store(aof)
		aof.Configure(logSettings(s.config())) // CONFIG SET may have been faster
		err = s.firstBase(aof)
	}
	if err != nil {
		return err
	}
	return s.onEachShard(func(l *loop) { l.loading = false })
}

// firstBase writes a base for a log that is new: before it is there the log has nothing to stand on.
func (s *Server) firstBase(aof *persistence.Log) error {
	if !aof.RewriteDue(s.clock.now()) {
		return nil
	}
	rewrite, err := aof.Rewrite(s.logHeader())
	if err == nil {
		err = s.writeBase(rewrite)
	}
	if err != nil {
		return fmt.Errorf("cannot write the append only file: %w", err)
	}
	return nil
}

// onEachShard has every loop do something with its shard, and returns when all have; ErrServerClosed if they end before.
func (s *Server) onEachShard(deliver func(l *loop)) error {
	delivered := make(chan struct{}, len(s.loops))
	s.tellOnShard(func(l *loop) {
		deliver(l)
		delivered <- struct{}{}
	})
	for range s.loops {
		select {
		case <-delivered:
		case <-s.stopped:
			return ErrServerClosed
		}
	}
	return nil
}

// A load brings back what was kept on disk, into engines that no loop has yet. It is the sink of what the files hold.
type load struct {
	server  *Server
	config  *Config // that of its begin: CONFIG SET must not send it to other files half-way
	engines []*engine.Engine
	options persistence.LoadOptions
	told    time.Time // when the log was told last how far it is

	putBackNanos int64 // by which all times of the files are earlier here: see acceptMachineClock
}

func newLoad(s *Server) *load {
	l := &load{server: s, config: s.config(), told: time.Now()}
	for range s.loops {
		l.engines = append(l.engines, engine.New(s.hasher))
	}
	l.options = persistence.LoadOptions{
		NowNanos:    s.clock.now(),
		Databases:   l.config.Databases,
		Strict:      l.config.StrictLoad,
		TruncatedOK: l.config.AOFLoadTruncated,
		AnyClock:    l.config.AcceptMachineClock,
		Renamed:     renamed(l.config.Renames),
		Progress:    l.progress,
	}
	return l
}

// run loads what is on disk, and returns the log to go on with.
func (l *load) run() (*persistence.Log, error) {
	if l.config.AcceptMachineClock {
		found, _, err := l.read(persistence.Discard)
		if err != nil {
			return nil, err
		}
		l.acceptMachineClock(found.ClockNanos)
	}
	found, fromLog, err := l.read(l)
	if err != nil {
		return nil, err
	}
	l.finish(found)
	if !l.config.AppendOnly {
		return nil, nil
	}
	if !fromLog {
		found = nil
	} else if l.putBackNanos > 0 {
		found.WantBase()
	}
	aof, err := persistence.OpenLog(logPlace(l.config, l.server), logSettings(l.config), found, l.server.clock.now())
	if err != nil {
		return nil, fmt.Errorf("cannot open the append only file: %w", err)
	}
	l.server.tellOfUnlisted(aof)
	return aof, nil
}

// read reads the log, if it is on and there is one, or else the last snapshot, if there is one. Redis takes an empty keyspace where the
// log is on and there is none, and so forgets a snapshot that is there.
func (l *load) read(sink persistence.Sink) (found *persistence.Loaded, fromLog bool, err error) {
	if l.config.AppendOnly {
		found, err = persistence.LoadLog(logPlace(l.config, l.server), l.options, sink)
		if !errors.Is(err, fs.ErrNotExist) {
			return found, true, err
		}
	}
	path := filepath.Join(l.config.Dir, l.config.DBFilename)
	found, err = persistence.LoadSnapshot(l.server.snapshots.disk, path, l.options, sink)
	if errors.Is(err, fs.ErrNotExist) {
		return &persistence.Loaded{}, false, nil
	}
	return found, false, err // which names the file
}

// acceptMachineClock obeys accept-machine-clock: the store's clock is the machine's, though the files have seen a later one. A limit that
// stayed as it is would be owed the difference too, so all of them are put back by it: they stand as when the files were written.
func (l *load) acceptMachineClock(filesNanos int64) {
	ahead := filesNanos - l.server.clock.now()
	if ahead <= 0 {
		return
	}
	l.putBackNanos = ahead
	l.options.NowNanos += ahead
	l.server.log.warning("The data is %v ahead of this machine's clock. The machine's counts from now on, and all limits are put back by that, "+
		"as accept-machine-clock says: they stand as when the data was written, and callers wait longer by the time since then. "+
		"The option is for one start.", time.Duration(ahead).Round(time.Millisecond))
}

// progress notes how far the load is, tells the log of it every second, and ends the load where the server ends.
func (l *load) progress(done, total int64) error {
	const mib = 1 << 20
	s := l.server
	s.loading.done.Store(done)
	s.loading.total.Store(total)
	if time.Since(l.told) >= time.Second {
		l.told = time.Now()
		s.log.notice("Loading: %d of %d MB", done/mib, total/mib)
	}
	if s.closing.Load() {
		return ErrServerClosed
	}
	return nil
}

// finish takes note of what was loaded, if there was anything.
func (l *load) finish(found *persistence.Loaded) {
	s := l.server
	if found.From == "" {
		return
	}
	s.clock.notBefore(found.ClockNanos - l.putBackNanos)
	changes, keys := uint64(0), 0
	for _, e := range l.engines {
		e.Advance(s.clock.now())
		changes += e.Stats().Changes
		for db := range l.config.Databases {
			keys += e.Len(db)
		}
	}
	if l.putBackNanos > 0 {
		changes = 0 // the files have other TATs
	}
	s.snapshots.loaded(found.Found, changes)
	s.log.notice("DB loaded from %s: %d keys (%d entries read, %d CL.THROTTLE calls applied, %d expired entries left out) in %.3f seconds",
		found.From, keys, found.Entries, found.Throttles, found.Expired, time.Since(s.loading.began).Seconds())
	if found.TornBytes > 0 {
		among := ""
		if found.TornRecords > 0 {
			among = fmt.Sprintf(", with %d whole commands among them", found.TornRecords)
		}
		s.log.warning("%s ends in the middle of %s: its last %d bytes are cut off%s", found.TornFile, found.TornIn, found.TornBytes, among)
	}
	if warning := found.Warning(); warning != "" {
		s.log.warning("%s", warning)
		names, err := found.KeepLeftOut(s.snapshots.disk)
		if err != nil {
			s.log.warning("The files with what was left out could not all be kept: %v", err)
		}
		if len(names) > 0 {
			s.log.warning("What was left out is kept in %s", strings.Join(names, ", "))
		}
	}
	if ahead := time.Duration(found.ClockNanos - l.putBackNanos - time.Now().UnixNano()); ahead > clockStep {
		s.log.warning("The data is %v ahead of this machine's clock, and so the store's clock is: it never goes back. "+
			"A start with accept-machine-clock yes goes by the machine's.", ahead.Round(time.Millisecond))
	}
}

// clockStep is how far clocks are apart before it is worth a warning: more than a restart on one machine can make of it.
const clockStep = time.Second

func (l *load) key(db int, bytes []byte) (*engine.Engine, engine.Key) {
	key := l.server.key(db, bytes)
	return l.engines[l.server.shardOfHash(key.Hash)], key
}

// Store gives a key a TAT.
func (l *load) Store(db int, bytes []byte, tatNanos int64) {
	e, key := l.key(db, bytes)
	e.Store(key, tatNanos-l.putBackNanos)
}

// Delete removes a key.
func (l *load) Delete(db int, bytes []byte) {
	e, key := l.key(db, bytes)
	e.Delete(key)
}

// Flush empties a database.
func (l *load) Flush(db int) {
	for _, e := range l.engines {
		e.Flush(db)
	}
}

// Swap exchanges two databases.
func (l *load) Swap(a, b int) {
	for _, e := range l.engines {
		e.Swap(a, b)
	}
}

// Throttle applies a call that a Redis with redis-cell has logged, as of the time when it was made.
func (l *load) Throttle(db int, bytes []byte, limit *gcra.Limit, quantity, atNanos int64) {
	e, key := l.key(db, bytes)
	e.Advance(atNanos - l.putBackNanos)
	var decision gcra.Decision
	_ = e.Throttle(&key, limit, quantity, &decision) // a call that was refused then changes nothing now either
}

// info writes INFO's lines on whether data is being loaded.
func (l *loading) info(b *strings.Builder) {
	flagLine(b, "loading", l.active.Load())
	never(b, "async_loading")
}

// infoProgress writes INFO's lines on how far the load is, which are there only during one, as in Redis.
func (l *loading) infoProgress(b *strings.Builder, now time.Time) {
	if !l.active.Load() {
		return
	}
	done, total := l.done.Load(), l.total.Load()
	share := float64(done) / float64(max(total, 1))
	eta := int64(1) // what Redis says before it can know
	if done > 0 {
		eta = int64(now.Sub(l.began).Seconds() * (1/share - 1))
	}
	line(b, "loading_start_time", l.began.Unix())
	line(b, "loading_total_bytes", total)
	never(b, "loading_rdb_used_mem")
	line(b, "loading_loaded_bytes", done)
	line(b, "loading_loaded_perc", fmt.Sprintf("%.2f", 100*share))
	line(b, "loading_eta_seconds", eta)
}
