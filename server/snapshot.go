package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cellserver/cellserver/config"
	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/internal/vfs"
	"github.com/cellserver/cellserver/persistence"
)

// snapshots takes snapshots of the keyspace and knows how the last one went. Redis forks for that; here the loops encode
// a piece each between two passes, while calls go on. A key is in the file as it was at some time between the snapshot's
// begin and its end.
type snapshots struct {
	server *Server
	disk   vfs.FS

	mu           sync.Mutex
	running      bool
	began        time.Time         // the one that is running, or else the last
	took         time.Duration     // by the last one; negative: there was none
	saved        time.Time         // when the last good one was begun, or the server was started
	savedChanges uint64            // the keyspace's changes at that time
	count        uint64            // good ones
	found        persistence.Found // by the last load
	failed       atomic.Bool       // the last one in the background; the loops look at it
}

// everySave is how often the save points are looked at.
const everySave = 100 * time.Millisecond

// saveRetry is how long a failed snapshot rests before a save point takes the next: Redis's CONFIG_BGSAVE_RETRY_DELAY.
const saveRetry = 5 * time.Second

var (
	errSaving  = replyError("ERR Background save already in progress")
	errSwapped = errors.New("databases were swapped meanwhile")
)

func newSnapshots(s *Server) *snapshots {
	return &snapshots{server: s, disk: vfs.OS{}, saved: time.Now(), took: -1}
}

// tryOut warns where a configuration asks for snapshots that can't be written: when the first one fails it is too late for whoever has
// just set the server up.
func (p *snapshots) tryOut(c *Config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running || len(c.Save) == 0 {
		return
	}
	path := filepath.Join(c.Dir, c.DBFilename)
	file, err := vfs.NewReplacement(p.disk, path+".try") // another name: a server that runs in the same folder may be saving
	if err == nil {
		file.Abort()
		return
	}
	consequence := "What is not saved is lost at the end of the server."
	if c.StopWritesOnBGSaveError {
		consequence = "From the first one on that fails, changes will be refused (stop-writes-on-bgsave-error)."
	}
	p.server.log.warning("Snapshots can't be saved to %s, and 'save' asks for them: %v. %s", path, err, consequence)
}

// begin marks a snapshot as running, unless one is.
func (p *snapshots) begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running {
		return errSaving
	}
	p.running, p.began = true, time.Now()
	return nil
}

// end notes how the snapshot went that began with begin.
func (p *snapshots) end(changes uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running, p.took = false, time.Since(p.began)
	if err == nil {
		p.failed.Store(false)
		p.saved, p.savedChanges = p.began, changes
		p.count++
	}
}

// background takes a snapshot while the loops are at work. It returns at once. changes is how many of the keyspace's the
// snapshot has at least.
func (p *snapshots) background(changes uint64) error {
	if err := p.begin(); err != nil {
		return err
	}
	log := p.server.log
	log.notice("Background saving started by pid %d", os.Getpid()) // as Redis says it of its child
	go func() {
		err := p.write(p.betweenPasses)
		for errors.Is(err, errSwapped) {
			err = p.write(p.betweenPasses)
		}
		if err != nil {
			p.failed.Store(true)
			log.warning("Background saving error: %v", err)
		} else {
			log.notice("Background saving terminated with success")
		}
		p.end(changes, err)
	}()
	return nil
}

// atOnce takes a snapshot while nothing else uses the shards. If it fails that is no reason to refuse changes, as in Redis: whoever
// has asked for it is told.
func (p *snapshots) atOnce() error {
	if err := p.begin(); err != nil {
		return err
	}
	changes := p.server.countChanges()
	err := p.write(p.directly)
	p.end(changes, err)
	return err
}

// directly encodes a piece while nothing else uses the shards.
func (p *snapshots) directly(shard, db int, cursor uint64, buf []byte) (next uint64, entries []byte, err error) {
	next, entries = encodePiece(p.server.loops[shard].engine, db, cursor, buf)
	return next, entries, nil
}

// A pieceSource encodes the next piece of a database of a shard into buf.
type pieceSource func(shard, db int, cursor uint64, buf []byte) (next uint64, entries []byte, err error)

// write takes a snapshot of what source gives.
func (p *snapshots) write(source pieceSource) error {
	config := p.server.config()
	swaps := p.server.swaps.Load()
	header := persistence.RDBHeader{ClockNanos: p.server.clock.now(), Version: redisVersion}
	file, err := persistence.NewSnapshot(p.disk, filepath.Join(config.Dir, config.DBFilename), header)
	if err != nil {
		return err
	}
	err = writePieces(file, len(p.server.loops), source)
	if err == nil && p.server.swaps.Load() != swaps {
		err = errSwapped
	}
	if err != nil {
		file.Abort()
		return err
	}
	if err = file.Finish(); err == nil {
		p.server.log.notice("DB saved on disk")
	}
	return err
}

// A pieceWriter takes entries of one database: a snapshot, or a new base of the log.
type pieceWriter interface {
	Write(db int, entries []byte) error
}

func writePieces(w pieceWriter, shards int, source pieceSource) error {
	var buf []byte
	for shard := range shards {
		for db := range engine.Databases {
			for cursor, done := uint64(0), false; !done; done = cursor == 0 {
				var err error
				if cursor, buf, err = source(shard, db, cursor, buf[:0]); err != nil {
					return err
				}
				if err = w.Write(db, buf); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// encodePiece encodes a segment of the table: some 500 to 900 entries, at about 0.1 microseconds each.
func encodePiece(e *engine.Engine, db int, cursor uint64, buf []byte) (next uint64, entries []byte) {
	next = e.ScanSegment(db, cursor, func(key []byte, tatNanos int64) {
		buf = persistence.AppendEntry(buf, key, tatNanos)
	})
	return next, buf
}

// betweenPasses has a shard's loop encode a piece before its next pass, and waits for it.
func (p *snapshots) betweenPasses(shard, db int, cursor uint64, buf []byte) (next uint64, entries []byte, err error) {
	encoded := make(chan struct{})
	p.server.loops[shard].post(&envelope{onShard: true, deliver: func(l *loop) {
		l.engine.Advance(l.now)
		next, entries = encodePiece(l.engine, db, cursor, buf)
		close(encoded)
	}})
	select {
	case <-encoded:
		return next, entries, nil
	case <-p.server.stopped:
		return 0, nil, ErrServerClosed
	}
}

// byPoints takes a snapshot whenever a save point says so.
func (p *snapshots) byPoints() {
	for {
		select {
		case <-time.After(everySave):
		case <-p.server.stopped:
			return
		}
		if point := p.due(time.Now()); point != nil {
			p.server.log.notice("%d changes in %d seconds. Saving...", point.Changes, point.Seconds)
			_ = p.background(p.server.changes.Load()) // if one is running, the next look will tell
		}
	}
}

// due returns the save point that asks for a snapshot, nil: none does.
func (p *snapshots) due(now time.Time) *config.SavePoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running || p.failed.Load() && now.Sub(p.began) < saveRetry {
		return nil
	}
	changes := p.server.changes.Load() - p.savedChanges
	for _, point := range p.server.config().Save {
		if int64(changes) >= point.Changes && now.Sub(p.saved) >= time.Duration(point.Seconds)*time.Second {
			return &point
		}
	}
	return nil
}

// atEnd takes the last snapshot, once the loops have ended: where there are save points, as in Redis, unless SHUTDOWN has
// said otherwise.
func (p *snapshots) atEnd() error {
	wanted := len(p.server.config().Save) > 0
	switch p.server.savingAtEnd.Load() {
	case saveAlways:
		wanted = true
	case saveNever:
		wanted = false
	}
	if !wanted {
		return nil
	}
	p.wait()
	if p.upToDate() {
		return nil
	}
	if err := p.atOnce(); err != nil {
		return fmt.Errorf("the last snapshot failed: %w", err)
	}
	return nil
}

// upToDate says whether the last snapshot has all changes. The loops have ended.
func (p *snapshots) upToDate() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count > 0 && !p.failed.Load() && p.savedChanges == p.server.countChanges()
}

// wait returns when no snapshot is running.
func (p *snapshots) wait() {
	for p.isRunning() {
		time.Sleep(time.Millisecond)
	}
}

// loaded notes what a load found, and that the changes it made are saved already.
func (p *snapshots) loaded(found persistence.Found, changes uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found, p.savedChanges = found, changes
}

func (p *snapshots) isRunning() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

// What SHUTDOWN says about the last snapshot.
const (
	saveByPoints int32 = iota
	saveAlways
	saveNever
)

// info writes INFO's lines on snapshots. changes counts those of the keyspace since the server's start.
func (p *snapshots) info(b *strings.Builder, changes uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	status, took, current := "ok", int64(-1), int64(-1)
	if p.failed.Load() {
		status = "err"
	}
	if p.took >= 0 {
		took = int64(p.took.Seconds())
	}
	if p.running {
		current = int64(time.Since(p.began).Seconds())
	}
	line(b, "rdb_changes_since_last_save", changes-p.savedChanges)
	flagLine(b, "rdb_bgsave_in_progress", p.running)
	line(b, "rdb_last_save_time", p.saved.Unix())
	line(b, "rdb_last_bgsave_status", status)
	line(b, "rdb_last_bgsave_time_sec", took)
	line(b, "rdb_current_bgsave_time_sec", current)
	line(b, "rdb_saves", p.count)
	line(b, "rdb_last_load_keys_expired", p.found.Expired)
	line(b, "rdb_last_load_keys_loaded", p.found.Entries)
	never(b, "rdb_last_cow_size") // nothing is copied on write
}

// countChanges returns how many effects there were, of all shards, which the caller must have.
func (s *Server) countChanges() (changes uint64) {
	for _, l := range s.loops {
		changes += l.engine.Stats().Changes
	}
	return changes
}
