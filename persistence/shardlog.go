package persistence

// A ShardLog is the way of one shard's effects into a log: a sink that collects them until the log wants them. It belongs to
// whoever owns the shard.
//
// A database is emptied, or exchanged with another, on all shards in one step. The log has one record for that, which the first
// shard's sink writes. So the first shard is told last: by then the other shards' effects from before are in the log, or void.
type ShardLog struct {
	log   *Log
	batch Batch
	first bool
}

// Shard returns a new sink for the effects of a shard, one of which is the first.
func (l *Log) Shard(first bool) *ShardLog { return &ShardLog{log: l, first: first} }

// Set records that the key has this TAT. The hash is any function of the key's bytes.
func (s *ShardLog) Set(db int, hash uint64, key []byte, tatNanos int64) {
	s.batch.Set(db, hash, key, tatNanos)
}

// Delete records that the key is gone.
func (s *ShardLog) Delete(db int, hash uint64, key []byte) { s.batch.Delete(db, hash, key) }

// Flush records that a database is emptied.
func (s *ShardLog) Flush(db int) {
	s.batch.Flush(db)
	if s.first {
		s.log.flushDatabase(db)
	}
}

// Swap records that two databases change places. A rewrite that has not come to Finish is worth nothing after it.
func (s *ShardLog) Swap(a, b int) {
	s.Append()
	if s.first {
		s.log.swapDatabases(a, b)
	}
}

// Collect is called at the end of each pass that may have had effects, and at least every 100 ms: it gives the log what was
// collected, if the policy wants that now. It returns the log's position after it; 0: there was nothing to give.
func (s *ShardLog) Collect(nowNanos int64) (position uint64) {
	return s.log.Collect(&s.batch, nowNanos)
}

// Append gives the log what was collected at once.
func (s *ShardLog) Append() { s.log.Append(&s.batch) }
