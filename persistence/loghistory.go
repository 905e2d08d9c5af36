package persistence

import (
	"bytes"
	"fmt"
)

// history is what is known of a log beyond the file that is being read: it holds over all of them. So does what the applier knows,
// except for the database and an open transaction.
type history struct {
	options LoadOptions
	applier *Applier

	recordedNanos int64   // of the last #TS:, 0: there was none
	baseNanos     int64   // when the base was written, 0: unknown
	sinceBase     int64   // calls that were applied as of then, since no #TS: had come yet
	sinceBaseIn   *Loaded // where they are to be told
}

func newHistory(options LoadOptions) *history {
	h := &history{options: options}
	h.applier = NewApplier(options.Databases, Discard, h.count)
	h.applier.Renamed = options.Renamed
	return h
}

// times are those of the next command. A time to live counts from when its command was recorded, as far as is known. A call before the
// first #TS: was made no earlier than the base was written: a state from an earlier time refuses nothing that the true one lets pass.
func (h *history) times() Times {
	at := Times{NowNanos: h.options.NowNanos, FromNanos: h.recordedNanos, CallNanos: h.recordedNanos}
	if h.recordedNanos == 0 {
		at.FromNanos, at.CallNanos = h.options.NowNanos, h.baseNanos
	}
	return at
}

// count is what the applier tells of each command: it counts the command for the file that it is from, and refuses what a strict load
// refuses.
func (h *history) count(e Event) error {
	loaded := e.Source.(*Loaded)
	if e.Outcome != Unknown && e.Outcome != OtherString && e.Name != "select" { // which changes nothing
		loaded.Records++
	}
	switch e.Outcome {
	case Stored:
		loaded.Entries++
	case Expired:
		loaded.Expired++
	case Throttled:
		loaded.Throttles++
		if h.recordedNanos == 0 {
			h.sinceBase, h.sinceBaseIn = h.sinceBase+1, loaded
		}
	case LongKey:
		return loaded.leaveOut(&loaded.LongKeys, e.Key, h.options.Strict)
	case OtherType:
		return loaded.leaveOut(&loaded.OtherTypes, e.Key, h.options.Strict)
	case OtherString:
		return loaded.leaveOut(&loaded.OtherStrings, e.Key, h.options.Strict)
	case NoTime:
		loaded.TimelessCalls++
		if h.options.Strict {
			return errStrictCalls
		}
	case NoDatabase:
		return &databasesError{h.options.Databases}
	case Unknown:
		return loaded.leaveOutCommand(e.Words[0], h.options.Strict)
	}
	return nil
}

// leaveOutCommand counts a command that is not applied.
func (l *Loaded) leaveOutCommand(name []byte, strict bool) error {
	l.OtherCommands++
	l.commands.add(bytes.ToUpper(name[:min(len(name), maxNameBytes)]))
	if strict {
		return fmt.Errorf("it holds commands that change no limiter keys, and %w: %s; cellserver check tells more", errStrict, quoteExample(name))
	}
	return nil
}

// end settles what is open at the end of the log.
func (h *history) end() error {
	if h.sinceBase > 0 {
		h.sinceBaseIn.CallsSinceBase += h.sinceBase
		h.sinceBaseIn.baseNanos = h.baseNanos
		if h.options.Strict {
			return errStrictCalls
		}
	}
	return h.applier.Finish()
}

// recorded is told of a #TS:. Redis writes one whenever the second is another, so where the first one comes within a second of the base,
// the calls before it have their time as exactly as those after it. A later first one says nothing about them:
// aof-timestamp-enabled may have been switched on long after they were made.
func (h *history) recorded(nanos int64) {
	if h.recordedNanos == 0 && h.baseNanos <= nanos && nanos-h.baseNanos <= nanosPerSecond {
		h.sinceBase = 0
	}
	h.recordedNanos = nanos
}
