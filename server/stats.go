package server

import (
	"strings"
	"time"
)

// This file counts and times what is done: INFO's commandstats, errorstats and latencystats, and what SLOWLOG and LATENCY
// are told.
//
// Every loop counts for itself, without locks or atomics, in memory that it alone writes; INFO stops the loops and adds
// up. Statistics observe and decide nothing: without them the server would answer the same.
//
// # What a call's time is
//
// Commands that are no calls of a batch are timed one by one. The calls of a batch take fractions of a microsecond each,
// of which reading the clock for every one would be a good part; so the batch is timed as a whole, from before its first
// call to after its last, and its time is divided among its calls by the number of their keys. An MGET of a thousand keys
// in a batch with a hundred CL.THROTTLEs is thereby told from them; which of two CL.THROTTLEs took longer is not. A call's
// part decides whether SLOWLOG has it. LATENCY is told of the batch as a whole, since for all of it the clients waited.

// commandStats is what a loop counts of one command.
type commandStats struct {
	calls    uint64
	rejected uint64 // turned down before they were begun: wrong arity and the like
	failed   uint64 // begun, and answered with an error
	nanos    int64
	latency  *histogram // nil: nothing recorded
}

// maxErrorKinds is how many first words of errors are counted apart, as in later Redis versions: a script that makes up
// error codes must not fill the memory. Errors past it count in the total.
const maxErrorKinds = 128

// loopStats counts what a loop's connections did, and what was done on its shard.
type loopStats struct {
	commands          uint64 // calls of all commands
	errorReplies      uint64
	inputBytes        uint64
	outputBytes       uint64
	reads             uint64
	writes            uint64
	queryLimitCloses  uint64
	outputLimitCloses uint64
	sweepNanos        int64
	sweepsCutShort    uint64 // sweeps that left more to do than one may

	byCommand []commandStats    // by command.index
	errors    map[string]uint64 // by first word
}

func newLoopStats(commands int) loopStats {
	return loopStats{byCommand: make([]commandStats, commands), errors: make(map[string]uint64)}
}

// add adds the counters of another loop.
func (s *loopStats) add(other *loopStats) {
	s.commands += other.commands
	s.errorReplies += other.errorReplies
	s.inputBytes += other.inputBytes
	s.outputBytes += other.outputBytes
	s.reads += other.reads
	s.writes += other.writes
	s.queryLimitCloses += other.queryLimitCloses
	s.outputLimitCloses += other.outputLimitCloses
	s.sweepNanos += other.sweepNanos
	s.sweepsCutShort += other.sweepsCutShort
	for i := range other.byCommand {
		s.byCommand[i].add(&other.byCommand[i])
	}
	for kind, n := range other.errors {
		s.errors[kind] += n
	}
}

func (s *commandStats) add(other *commandStats) {
	s.calls += other.calls
	s.rejected += other.rejected
	s.failed += other.failed
	s.nanos += other.nanos
	if other.latency != nil {
		if s.latency == nil {
			s.latency = new(histogram)
		}
		s.latency.add(other.latency)
	}
}

// countError counts an error reply, given from its '-' on. The command is the one that failed; nil where none was begun.
func (s *loopStats) countError(cmd *command, reply []byte) {
	s.errorReplies++
	if cmd != nil {
		s.byCommand[cmd.index].failed++
	}
	line, _, _ := strings.Cut(string(reply[1:]), "\r\n")
	kind, _, hasMore := strings.Cut(line, " ")
	if !hasMore {
		kind = "ERR" // as in Redis: the word is a message and no code
	}
	if _, known := s.errors[kind]; known || len(s.errors) < maxErrorKinds {
		s.errors[kind]++
	}
}

// reject counts a command that is turned down before it is begun. An unknown one, nil, is counted as an error only.
func (s *loopStats) reject(cmd *command) {
	if cmd != nil {
		s.byCommand[cmd.index].rejected++
	}
}

// isSlow says whether SLOWLOG wants a command that took so long.
func (s *Server) isSlow(spent time.Duration) bool {
	slowerThan := s.config().SlowlogLogSlowerThanMicros
	return slowerThan >= 0 && spent.Microseconds() >= slowerThan
}

// book counts calls of a command that took so long together.
func (l *loop) book(cmd *command, calls int, spent time.Duration) {
	s := &l.stats.byCommand[cmd.index]
	l.stats.commands += uint64(calls)
	s.calls += uint64(calls)
	s.nanos += int64(spent)
	if !l.server.config().LatencyTracking {
		return
	}
	if s.latency == nil {
		s.latency = new(histogram)
	}
	s.latency.record(int64(spent)/int64(calls), uint64(calls))
}

// bookSweep counts a sweep for dead keys.
func (l *loop) bookSweep(spent time.Duration, cutShort bool) {
	l.stats.sweepNanos += int64(spent)
	if cutShort {
		l.stats.sweepsCutShort++
	}
	l.server.noteEvent(eventExpireCycle, spent)
}

// bookOne counts a command that was timed by itself.
func (l *loop) bookOne(c *conn, cmd *command, words [][]byte, spent time.Duration) {
	l.book(cmd, 1, spent)
	if l.server.isSlow(spent) && !cmd.has("skip_slowlog") {
		l.server.slowlog.add(l.server, c, redacted(cmd, words), spent)
	}
	l.noteLatency(cmd.slow, spent)
}

// bookBatch counts the calls of a batch and divides its time among them.
func (l *loop) bookBatch(b *batch) {
	keys := len(b.calls) + b.furtherKeys
	anySlow := false
	for first := 0; first < len(b.calls); {
		cmd, end := b.calls[first].command, first+1
		for end < len(b.calls) && b.calls[end].command == cmd {
			end++
		}
		if cmd != nil {
			keysOfRun := end - first
			if b.furtherKeys > 0 {
				keysOfRun = keysOf(b.calls[first:end])
			}
			l.book(cmd, end-first, b.spent*time.Duration(keysOfRun)/time.Duration(keys))
			anySlow = anySlow || cmd.slow
		}
		first = end
	}
	if l.server.isSlow(b.spent) {
		l.logSlowCalls(b, keys)
	}
	l.noteLatency(anySlow, b.spent)
}

// keys returns how many keys a call has: its share of the batch's work.
func (c *call) keys() int {
	if c.command == nil || c.command.keyed == nil {
		return 1
	}
	k := c.command.keys
	return (k.end(len(c.args)) - k.first + k.step - 1) / k.step
}

func keysOf(calls []call) (keys int) {
	for i := range calls {
		keys += calls[i].keys()
	}
	return keys
}

// logSlowCalls has SLOWLOG keep those calls of a slow batch whose part of its time is long enough.
func (l *loop) logSlowCalls(b *batch, keys int) {
	for i := range b.calls {
		c := &b.calls[i]
		if c.command == nil {
			continue
		}
		if part := b.spent * time.Duration(c.keys()) / time.Duration(keys); l.server.isSlow(part) {
			l.server.slowlog.add(l.server, c.conn, c.words(), part)
		}
	}
}
