package persistence

// An Applier carries out the commands by which a log, or the stream of a master, tells what changed: it gives a [Sink] what they change,
// and says of each what became of it. It knows nothing of where they come from. Its callers split bytes into words, know the times, and
// decide what is an error.
//
// The commands between MULTI and EXEC are carried out when EXEC comes, all of them; those whose EXEC does not come never are.
//
// An open transaction is held whole. The exported fields may be changed between calls.
type Applier struct {
	Sink Sink
	// Renamed has the own names of commands by those that rename-command gives them, in lower case. A Redis whose rename-command has
	// renamed a command logs the new name, as the client sent it.
	Renamed map[string]string
	// Begin and End, where given, are called before the first and after the last command of a transaction, by its EXEC. End is called
	// after an error, too.
	Begin, End func()
	// Source is where commands come from now, for Event.
	Source any

	databases   int // how many there are
	tell        func(Event) error
	db          int
	transaction *transaction // nil outside
	strings     waitingStrings
	name        []byte // room for one
}

// NewApplier returns an Applier that is in database 0. It calls tell after every command but MULTI and EXEC, and for every string that
// has waited in vain. An error that tell returns ends the call of Apply or Finish and is returned by it; what is left of a transaction
// is then dropped.
func NewApplier(databases int, sink Sink, tell func(Event) error) *Applier {
	a := &Applier{Sink: sink, databases: databases, tell: tell}
	a.strings.leaveOut = func(key string, source any) error {
		return tell(Event{Outcome: OtherString, Key: []byte(key), Source: source})
	}
	return a
}

// Times are what is known of time when a command is carried out, in Unix nanoseconds. A replica, which carries commands out as they
// come, has its store's clock in all three.
type Times struct {
	NowNanos  int64 // what has expired by then is gone
	FromNanos int64 // where times to live count from
	CallNanos int64 // as of when CL.THROTTLE is decided, 0: nothing tells
}

// An Outcome is what became of a command.
type Outcome int

// The outcomes. All from LongKey on say why a command, or a key, is left out.
const (
	Applied     Outcome = iota // nothing more is to be told. A string that is not a limiter key counts: it may become one
	Stored                     // the key has a TAT
	Expired                    // what was to be stored has expired, and the key is deleted
	Throttled                  // CL.THROTTLE was given to the sink
	LongKey                    // the key is longer than MaxKeyBytes
	OtherType                  // RESTORE of another type than a string, which has deleted the key
	OtherString                // a string waited in vain for the expiry of a limiter's key. It is told later, by itself
	NoTime                     // CL.THROTTLE of which nothing tells when it was made
	NoDatabase                 // SELECT or SWAPDB of a database that does not exist
	Unknown                    // a command that is not applied, or not with these words
)

// An Event tells what became of a command. The words are good until tell returns.
type Event struct {
	Outcome Outcome
	Name    string   // of the command by its own name, in lower case. "" for Unknown and OtherString
	Words   [][]byte // of the command as it came. nil for OtherString
	Key     []byte   // the one that LongKey, OtherType and OtherString are about
	Source  any      // the Applier's when the command was carried out
}

// transaction holds the commands between MULTI and EXEC.
type transaction struct {
	words [][]byte // of all commands
	ends  []int    // in words
}

// maxNameBytes is the longest name of a command: what rename-command allows.
const maxNameBytes = 128

// Apply carries a command out, or keeps it until its transaction ends: times are then those of EXEC. There is at least
// one word, the name, and none is kept. The error is tell's.
func (a *Applier) Apply(words [][]byte, at Times) error {
	switch name := a.ownName(words[0]); {
	case string(name) == "multi":
		if a.transaction == nil {
			a.transaction = &transaction{}
		}
		return nil
	case string(name) == "exec":
		return a.exec(at)
	case a.transaction == nil:
		return a.apply(name, words, at)
	}
	t := a.transaction
	for _, word := range words {
		t.words = append(t.words, append([]byte{}, word...))
	}
	t.ends = append(t.ends, len(t.words))
	return nil
}

// exec carries out the commands of a transaction.
func (a *Applier) exec(at Times) error {
	t := a.transaction
	if t == nil {
		return nil
	}
	a.transaction = nil
	if a.Begin != nil {
		a.Begin()
	}
	if a.End != nil {
		defer a.End()
	}
	begin := 0
	for _, end := range t.ends {
		words := t.words[begin:end]
		if err := a.apply(a.ownName(words[0]), words, at); err != nil {
			return err
		}
		begin = end
	}
	return nil
}

// apply carries out a command and tells of it.
func (a *Applier) apply(name []byte, words [][]byte, at Times) error {
	command := appliedCommands[string(name)]
	if command == nil || len(words) < command.minWords {
		return a.tell(Event{Outcome: Unknown, Words: words, Source: a.Source})
	}
	outcome, err := command.apply(a, words, at)
	event := Event{Outcome: outcome, Name: command.name, Words: words, Source: a.Source}
	switch outcome {
	case Unknown:
		event.Name = ""
	case LongKey, OtherType:
		event.Key = words[1]
	}
	if told := a.tell(event); told != nil {
		return told
	}
	return err
}

// ownName returns a command's own name in lower case, good until the next call; "" if it is not a command.
func (a *Applier) ownName(word []byte) []byte {
	if len(word) > maxNameBytes {
		return nil
	}
	a.name = append(a.name[:0], word...)
	for i, c := range a.name {
		if c-'A' < 26 {
			a.name[i] = c | 0x20
		}
	}
	if own, renamed := a.Renamed[string(a.name)]; renamed {
		a.name = append(a.name[:0], own...)
	}
	return a.name
}

// InTransaction tells whether MULTI has come and its EXEC has not.
func (a *Applier) InTransaction() bool { return a.transaction != nil }

// Database returns the database of the next command.
func (a *Applier) Database() int { return a.db }

// Restart drops an open transaction and goes on in a database: another file begins, or another connection. Strings go on waiting.
func (a *Applier) Restart(db int) {
	a.transaction, a.db = nil, db
}

// Finish says that no command comes any more that could give a waiting string its expiry. The error is tell's.
func (a *Applier) Finish() error {
	return a.strings.finish()
}
