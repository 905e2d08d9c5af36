package server

import (
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cellserver/cellserver/persistence"
)

// This file keeps the append-only file: Redis's AOF. Every engine tells its changes to its loop's batch; whoever has used a
// shard hands the batch over to the log when the policy wants it, and before a reply leaves, the log is as safe as the policy
// says: see loop.finish.

// everyTick is how often the log does what time brings.
const everyTick = 100 * time.Millisecond

func logPlace(c *Config, s *Server) persistence.Place {
	return persistence.Place{FS: s.snapshots.disk, Dir: c.Dir, DirName: c.AppendDirname, FileName: c.AppendFilename}
}

func logSettings(c *Config) persistence.Settings {
	policy, err := persistence.ParsePolicy(c.AppendFsync)
	if err != nil {
		panic("server: the table of directives allows an appendfsync that is none: " + err.Error())
	}
	return persistence.Settings{
		Policy:            policy,
		Timestamps:        c.AOFTimestampEnabled,
		RewritePercentage: c.AutoAOFRewritePercentage,
		RewriteMinBytes:   c.AutoAOFRewriteMinSize,
	}
}

func (s *Server) logHeader() persistence.RDBHeader {
	return persistence.RDBHeader{ClockNanos: s.clock.now(), Version: redisVersion, AOFBase: true}
}

// handOver gives the shard's changes to the log, if its policy wants them now. Whoever calls it has the shard. It returns the
// log's position after them; 0: there was nothing to give.
func (l *loop) handOver(nowNanos int64) (position uint64) {
	if l.journal != nil {
		return l.journal.Collect(nowNanos)
	}
	return 0
}

// keepIn has the shard's changes told to a log from now on, to that alone; nil: to none.
func (l *loop) keepIn(aof *persistence.Log) {
	if l.journal != nil {
		l.engine.Detach(l.journal)
		l.journal = nil
	}
	if aof != nil {
		l.journal = aof.Shard(l.index == 0)
		l.engine.Attach(l.journal)
	}
}

// logPosition is how much the log has been given; 0: there is none.
func (s *Server) logPosition() uint64 {
	if aof := s.aof.Load(); aof != nil {
		return aof.Position()
	}
	return 0
}

// commit makes what the batch has changed as safe as the log's policy says. If that fails its clients must not be told that
// it is, so they are told nothing: their connections are closed. A batch that has changed nothing is answered in any case.
func (l *loop) commit(b *batch) {
	aof := l.server.aof.Load()
	if aof == nil || b.position == 0 {
		return
	}
	if err := aof.Commit(b.position); err != nil {
		for i := range b.entries {
			l.close(b.entries[i].conn)
		}
		l.lookAtDisk()
	}
}

// lookAtDisk notes whether changes must be refused because they would not be kept.
func (l *loop) lookAtDisk() {
	l.misconfigured = nil
	s := l.server
	if aof := s.aof.Load(); aof != nil && s.config().AppendFsync == persistence.Always.String() {
		if err := aof.Err(); err != nil {
			l.misconfigured = replyError(persistence.Misconfigured(err))
			return
		}
	}
	if s.snapshots.failed.Load() && s.config().StopWritesOnBGSaveError && len(s.config().Save) > 0 {
		l.misconfigured = errSnapshotBroken
	}
}

const errSnapshotBroken = replyError("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. " +
	"Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails " +
	"(stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.")

// keepLog does for the log what time brings, until the loops have ended.
func (s *Server) keepLog() {
	var trouble error
	for {
		select {
		case <-time.After(everyTick):
		case <-s.stopped:
			return
		}
		aof := s.aof.Load()
		if aof == nil {
			continue
		}
		now := s.clock.now()
		aof.Tick(now)
		trouble = s.tellOfTrouble(trouble, aof.Err())
		if aof.RewriteDue(now) {
			if err := s.rewriteLog(aof); err != nil {
				s.log.warning("Background append only file rewriting failed: %v", err)
			}
		}
	}
}

// tellOfTrouble logs, in Redis's words, when writing begins to fail and when it works again.
func (s *Server) tellOfTrouble(before, now error) error {
	switch {
	case before == nil && now != nil:
		s.log.warning("Error writing to the AOF file: %v", now)
	case before != nil && now == nil:
		s.log.warning("AOF write error looks solved, the server can write again.")
	}
	return now
}

// rewriteLog makes a new base for the log while the loops are at work. It returns at once.
func (s *Server) rewriteLog(aof *persistence.Log) error {
	rewrite, err := aof.Rewrite(s.logHeader())
	if err != nil {
		return err
	}
	s.log.notice("Background append only file rewriting started by pid %d", os.Getpid()) // as Redis says it of its child
	s.rewriting.begin(s.clock.uptime())
	s.rewrites.Go(func() {
		defer func() { s.rewriting.end(s.clock.uptime()) }()
		if err := s.writeBase(rewrite); err != nil {
			s.log.warning("Background AOF rewrite terminated with error: %v", err)
			return
		}
		s.log.notice("Background AOF rewrite finished successfully")
	})
	return nil
}

// writeBase fills a new base while the loops are at work and puts it in place, or gives it up.
func (s *Server) writeBase(rewrite *persistence.Rewrite) error {
	if err := writePieces(rewrite, len(s.loops), s.snapshots.betweenPasses); err != nil {
		rewrite.Abort(err)
		return err
	}
	return rewrite.Finish()
}

// rewriteTimes knows how long rewrites take.
type rewriteTimes struct {
	mu      sync.Mutex
	began   time.Duration // the server's uptime
	running bool
	count   int
	took    time.Duration // by the last
}

func (r *rewriteTimes) begin(uptime time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began, r.running = uptime, true
}

func (r *rewriteTimes) end(uptime time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took, r.running = uptime-r.began, false
	r.count++
}

// seconds returns how long the last rewrite took and the one that is running has, each -1 where there is none.
func (r *rewriteTimes) seconds(uptime time.Duration) (last, current int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, current = -1, -1
	if r.count > 0 {
		last = int64(r.took.Seconds())
	}
	if r.running {
		current = int64((uptime - r.began).Seconds())
	}
	return last, current
}

// applyAppendOnly turns the log on or off for CONFIG SET. It goes on after the command is answered: a loop must not wait for
// the others in the middle of one.
func (s *Server) applyAppendOnly(next *Config) error {
	aof := s.aof.Load()
	switch {
	case s.loading.active.Load():
		return errors.New("not while data is being loaded")
	case next.AppendOnly && aof == nil:
		s.logCloses.Wait() // which holds the folder
		opened, err := persistence.OpenLog(logPlace(next, s), logSettings(next), nil, s.clock.now())
		if err != nil {
			s.log.warning("cannot open the append only file: %v", err)
			return errors.New("Unable to turn on AOF. Check server logs.")
		}
		s.tellOfUnlisted(opened)
		s.tellOnShard(func(l *loop) { l.keepIn(opened) })
		s.aof.Store(opened) // the first rewrite is due at once; it comes to each loop after the message
	case !next.AppendOnly && aof != nil:
		s.aof.Store(nil)
		s.tellOnShard(func(l *loop) { l.keepIn(nil) })
		s.logCloses.Go(func() { _ = aof.Close() }) // what it was to keep is not wanted any more
	}
	return nil
}

// tellOfUnlisted logs that a new log's folder has files of another, which may be one whose manifest was lost.
func (s *Server) tellOfUnlisted(aof *persistence.Log) {
	if names := aof.Unlisted(); len(names) > 0 {
		s.log.warning("The folder %s has files of a log that no manifest lists: %s. They are not loaded, and left alone. If the manifest was lost, end the server, bring it back and start again.",
			s.config().AppendDirname, strings.Join(names, ", "))
	}
}

// tellOnShard has every loop do something with its shard.
func (s *Server) tellOnShard(deliver func(l *loop)) {
	for _, l := range s.loops {
		l.post(&envelope{onShard: true, deliver: deliver})
	}
}

// closeLog keeps what is left, once the loops have ended.
func (s *Server) closeLog() error {
	s.rewrites.Wait()
	s.logCloses.Wait()
	aof := s.aof.Load()
	if aof == nil {
		return nil
	}
	for _, l := range s.loops {
		if l.journal != nil { // else the loop has ended before it was told of the log
			l.journal.Append()
		}
	}
	return aof.Close()
}

// infoLog writes INFO's lines on the log. The sizes are there only where it is on, as in Redis.
func (s *Server) infoLog(b *strings.Builder) {
	aof := s.aof.Load()
	last, current := s.rewriting.seconds(s.clock.uptime())
	line(b, "aof_last_rewrite_time_sec", last)
	line(b, "aof_current_rewrite_time_sec", current)
	if aof == nil {
		never(b, "aof_enabled", "aof_rewrite_in_progress", "aof_rewrite_scheduled", "aof_rewrites", "aof_last_cow_size")
		line(b, "aof_last_bgrewrite_status", "ok")
		line(b, "aof_last_write_status", "ok")
		return
	}
	ok := map[bool]string{true: "ok", false: "err"}
	stats, due := aof.Stats(), aof.RewriteDue(s.clock.now())
	line(b, "aof_enabled", 1)
	flagLine(b, "aof_rewrite_in_progress", stats.Rewriting)
	flagLine(b, "aof_rewrite_scheduled", due || stats.WaitingForBase && !stats.Rewriting)
	line(b, "aof_rewrites", stats.Rewrites)
	line(b, "aof_last_bgrewrite_status", ok[stats.LastRewriteFail == nil])
	line(b, "aof_last_write_status", ok[aof.Err() == nil])
	line(b, "aof_current_size", stats.CurrentBytes)
	line(b, "aof_base_size", stats.BaseBytes)
	never(b, "aof_last_cow_size") // nothing is copied on write
}
