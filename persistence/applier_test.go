package persistence

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// told notes what an Applier tells, each as a line of its outcome and what it is about.
type told struct {
	lines []string
	fail  Outcome // the outcome at which errTold is returned
}

var (
	errTold      = errors.New("told")
	outcomeNames = [...]string{Applied: "applied", Stored: "stored", Expired: "expired", Throttled: "throttled", LongKey: "long key",
		OtherType: "other type", OtherString: "other string", NoTime: "no time", NoDatabase: "no database", Unknown: "unknown"}
)

func (n *told) tell(e Event) error {
	about := e.Name
	switch {
	case e.Outcome == Unknown:
		about = string(e.Words[0])
	case e.Outcome == OtherString:
		about = fmt.Sprintf("%s from %v", e.Key, e.Source)
	case e.Key != nil:
		about += fmt.Sprintf(" %.3s", e.Key)
	}
	n.lines = append(n.lines, outcomeNames[e.Outcome]+": "+about)
	if n.fail != Applied && e.Outcome == n.fail {
		return errTold
	}
	return nil
}

func wordsOf(line string) (words [][]byte) {
	for _, word := range strings.Fields(line) {
		words = append(words, []byte(word))
	}
	return words
}

// atClock are the times of a replica.
func atClock(nanos int64) Times { return Times{NowNanos: nanos, FromNanos: nanos, CallNanos: nanos} }

// TestApplier: what becomes of each command, and what is told of it.
func TestApplier(t *testing.T) {
	tat, bare := withExpiry(later), fmt.Sprint(later)
	longKey := strings.Repeat("x", MaxKeyBytes+1)
	k := place{0, "k"}
	past := fmt.Sprint(now/1e6 - 1000)
	longName := strings.Repeat("n", maxNameBytes+1)
	for _, c := range []struct {
		name     string
		commands []string
		told     []string
		tats     map[place]int64
		calls    []string
		renamed  bool // DEL is no more, and PUT is SET
	}{
		{"set", []string{"SET k " + tat}, []string{"stored: set"}, map[place]int64{k: later}, nil, false},
		{"set of what has expired", []string{"SET k " + tat, "SET k " + withExpiry(now)}, []string{"stored: set", "expired: set"}, nil, nil, false},
		{"time to live", []string{fmt.Sprint("PSETEX k ", (later-now)/1e6, " ", later)}, []string{"stored: psetex"}, map[place]int64{k: later}, nil, false},
		{"del", []string{"SET k " + tat, "DEL k l"}, []string{"stored: set", "applied: del"}, nil, nil, false},
		{"databases", []string{"SELECT 3", "SET k " + tat, "SWAPDB 3 4", "FLUSHDB"},
			[]string{"applied: select", "stored: set", "applied: swapdb", "applied: flushdb"}, map[place]int64{{4, "k"}: later}, nil, false},
		{"flushall", []string{"SELECT 3", "SET k " + tat, "SELECT 0", "FLUSHALL"},
			[]string{"applied: select", "stored: set", "applied: select", "applied: flushall"}, nil, nil, false},
		{"no such database", []string{"SELECT 16", "SWAPDB 0 16", "SET k " + tat},
			[]string{"no database: select", "no database: swapdb", "stored: set"}, map[place]int64{k: later}, nil, false},
		{"expiry by a later command", []string{"SET k " + bare, fmt.Sprint("PEXPIREAT k ", later/1e6)},
			[]string{"applied: set", "stored: pexpireat"}, map[place]int64{k: later}, nil, false},
		{"expiry that has passed", []string{"SET k " + tat, "PEXPIREAT k " + past}, []string{"stored: set", "applied: pexpireat"}, nil, nil, false},
		{"no expiry", []string{"SET k " + tat, "SET k 42"}, []string{"stored: set", "applied: set", "other string: k from here"}, nil, nil, false},
		{"call", []string{"CL.THROTTLE k 9 10 60"}, []string{"throttled: cl.throttle"}, nil,
			[]string{fmt.Sprint("0 k 9 10 60 1 at ", int64(now))}, false},
		{"call of no sense", []string{"CL.THROTTLE k 9 10", "CL.THROTTLE k 9 10 x"}, []string{"unknown: CL.THROTTLE", "unknown: CL.THROTTLE"}, nil, nil, false},
		{"long keys", []string{"SET " + longKey + " " + tat, "CL.THROTTLE " + longKey + " 9 10 60", "RESTORE " + longKey + " 0 x"},
			[]string{"long key: set xxx", "long key: cl.throttle xxx", "long key: restore xxx"}, nil, nil, false},
		{"other type", []string{"SET k " + tat, "RESTORE k 0 x"}, []string{"stored: set", "other type: restore k"}, nil, nil, false},
		{"others", []string{"PUBLISH c m", "SET k", longName}, []string{"unknown: PUBLISH", "unknown: SET", "unknown: " + longName}, nil, nil, false},
		{"renamed", []string{"PUT k " + tat, "put k " + tat, "DEL k"}, []string{"stored: set", "stored: set", "unknown: DEL"}, map[place]int64{k: later}, nil, true},
		{"transaction", []string{"MULTI", "SET k " + tat, "SELECT 2", "SET l " + tat, "EXEC", "DEL l", "EXEC"},
			[]string{"begin", "stored: set", "applied: select", "stored: set", "end", "unknown: DEL"}, map[place]int64{k: later, {2, "l"}: later}, nil, true},
		{"transaction without its end", []string{"MULTI", "SET k " + tat, "MULTI"}, nil, nil, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			notes, got := &told{}, newState()
			a := NewApplier(16, got, notes.tell)
			a.Source = "here"
			a.Begin = func() { notes.lines = append(notes.lines, "begin") }
			a.End = func() { notes.lines = append(notes.lines, "end") }
			if c.renamed {
				a.Renamed = map[string]string{"put": "set", "del": ""}
			}
			for _, command := range c.commands {
				words := wordsOf(command)
				must(t, a.Apply(words, atClock(now)))
				for _, word := range words { // the Applier keeps none
					clear(word)
				}
			}
			must(t, a.Finish())
			if !slices.Equal(notes.lines, c.told) {
				t.Errorf("told %q, want %q", notes.lines, c.told)
			}
			if !slices.Equal(got.calls, c.calls) {
				t.Errorf("calls %q, want %q", got.calls, c.calls)
			}
			sameState(t, got, &state{tats: c.tats})
		})
	}
}

// TestApplierTimes: each command has times of its own; those of a transaction are its EXEC's.
func TestApplierTimes(t *testing.T) {
	notes, got := &told{}, newState()
	a := NewApplier(16, got, notes.tell)
	must(t, a.Apply(wordsOf("CL.THROTTLE k 9 10 60"), Times{NowNanos: now}))
	must(t, a.Apply(wordsOf("CL.THROTTLE k 9 10 60"), Times{NowNanos: now, CallNanos: 5}))
	must(t, a.Apply(wordsOf("MULTI"), Times{CallNanos: 6}))
	must(t, a.Apply(wordsOf("CL.THROTTLE k 9 10 60 2"), Times{CallNanos: 7}))
	must(t, a.Apply(wordsOf("EXEC"), Times{CallNanos: 8}))
	must(t, a.Apply(wordsOf("SET k "+withExpiry(later)), atClock(later-1)))
	must(t, a.Apply(wordsOf("SET l "+withExpiry(later)), atClock(later)))
	if want := []string{"0 k 9 10 60 1 at 5", "0 k 9 10 60 2 at 8"}; !slices.Equal(got.calls, want) {
		t.Errorf("calls %q, want %q", got.calls, want)
	}
	if want := []string{"no time: cl.throttle", "throttled: cl.throttle", "throttled: cl.throttle", "stored: set", "expired: set"}; !slices.Equal(notes.lines, want) {
		t.Errorf("told %q, want %q", notes.lines, want)
	}
	sameState(t, got, &state{tats: map[place]int64{{0, "k"}: later}})
}

// TestApplierError: an error ends a transaction where it is, and what comes next is outside of it.
func TestApplierError(t *testing.T) {
	notes, got, ended := &told{fail: Unknown}, newState(), 0
	a := NewApplier(16, got, notes.tell)
	a.End = func() { ended++ }
	for _, command := range []string{"MULTI", "SET k " + withExpiry(later), "HELLO", "SET l " + withExpiry(later)} {
		must(t, a.Apply(wordsOf(command), atClock(now)))
	}
	if err := a.Apply(wordsOf("EXEC"), atClock(now)); err != errTold || ended != 1 || a.InTransaction() {
		t.Errorf("EXEC returns %v, End was called %d times, in a transaction: %v", err, ended, a.InTransaction())
	}
	must(t, a.Apply(wordsOf("SET m "+withExpiry(later)), atClock(now)))
	sameState(t, got, &state{tats: map[place]int64{{0, "k"}: later, {0, "m"}: later}})
}

// TestApplierRestart: a transaction that is open is dropped, and strings wait on for their expiry with the source that they had.
func TestApplierRestart(t *testing.T) {
	notes, got := &told{}, newState()
	a := NewApplier(16, got, notes.tell)
	a.Source = "first"
	for _, command := range []string{"SELECT 2", fmt.Sprint("SET k ", later), "SET counter 42", "MULTI", "DEL k"} {
		must(t, a.Apply(wordsOf(command), atClock(now)))
	}
	a.Source = "second"
	a.Restart(2)
	must(t, a.Apply(wordsOf(fmt.Sprint("PEXPIREAT k ", later/1e6)), atClock(now)))
	if a.Database() != 2 || a.InTransaction() {
		t.Errorf("in database %d, in a transaction: %v", a.Database(), a.InTransaction())
	}
	must(t, a.Finish())
	want := []string{"applied: select", "applied: set", "applied: set", "stored: pexpireat", "other string: counter from first"}
	if !slices.Equal(notes.lines, want) {
		t.Errorf("told %q, want %q", notes.lines, want)
	}
	sameState(t, got, &state{tats: map[place]int64{{2, "k"}: later}})
}
