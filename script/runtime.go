package script

import (
	"cmp"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/cellserver/cellserver/resp"
)

// Host carries out the commands of a running script. It may use words and the reply only until it returns or is called again.
type Host interface {
	// Call runs a command and returns its reply in RESP2, or in RESP3 if version is 3. An error begins with '-'; commands that a
	// script may not run, unknown ones and wrong numbers of arguments get Redis's texts for scripts ("-ERR Unknown Redis command
	// called from script"). The reply may be in memory that the next call overwrites.
	Call(words [][]byte, version int) (reply []byte)
	// Log writes a line of redis.log at one of the levels LogDebug to LogWarning.
	Log(level int, message string)
}

// ACLChecker is what a Host may implement for redis.acl_check_cmd.
type ACLChecker interface {
	// CheckACL tells whether the user of the script may run a command; known is false if there is no such command.
	CheckACL(words [][]byte) (allowed, known bool)
}

// ReplicationSetter is what a Host may implement for redis.set_repl. The flags are ReplAOF and ReplReplica.
type ReplicationSetter interface {
	SetReplication(flags int)
}

// The levels of redis.log.
const (
	LogDebug = iota
	LogVerbose
	LogNotice
	LogWarning
)

// The flags of redis.set_repl.
const (
	ReplAOF     = 1
	ReplReplica = 2
)

// Options bound what a script may take. Zero stands for the default.
type Options struct {
	MaxStringBytes int   // DefaultMaxStringBytes
	MaxGrowthBytes int64 // DefaultMaxGrowthBytes
}

// Runtime holds compiled scripts and the Lua state that they run in. All methods but Kill are for one goroutine at a time.
type Runtime struct {
	programs   map[string]*Program // by SHA1
	byBody     map[string]*Program // spares the hashing
	cacheBytes int

	guard          *guard
	maxStringBytes int
	sandbox        *sandbox

	// Of the present run.
	host    Host
	version int // of RESP, between script and host
	random  rand48
	json    jsonOptions
	nested  int // coroutines that resumed each other

	// Memory that runs reuse.
	words  [][]byte
	bytes  []byte
	joined []byte
}

// New returns a runtime without scripts.
func New(o Options) *Runtime {
	if o.MaxStringBytes == 0 {
		o.MaxStringBytes = DefaultMaxStringBytes
	}
	if o.MaxGrowthBytes == 0 {
		o.MaxGrowthBytes = DefaultMaxGrowthBytes
	}
	r := &Runtime{guard: newGuard(o.MaxGrowthBytes), maxStringBytes: o.MaxStringBytes}
	r.Flush()
	r.sandbox = newSandbox(r)
	return r
}

// Kill ends the running script soon, with an error, and tells whether there was one. Any goroutine may call it.
func (r *Runtime) Kill() bool { return r.guard.kill() }

// GiveBack collects what large scripts have left and gives the memory back to the system. It takes some 100 ms, but stops nobody
// else for long. Any goroutine may call it.
func (r *Runtime) GiveBack() { r.guard.giveBack() }

// Run runs a loaded script and appends its reply, or the error that ended it, to w in w's version. It tells whether GiveBack is
// to be called: not again before that has returned, whatever runs meanwhile.
func (r *Runtime) Run(sha string, keys, args [][]byte, host Host, w *resp.Writer) (owes bool) {
	p := r.Lookup(sha)
	if p == nil {
		w.Error("NOSCRIPT No matching script. Please use EVAL.")
		return false
	}
	r.host, r.version, r.nested = host, 2, 0
	r.random, r.json = unseeded, defaultJSON
	start := len(w.Buf)

	r.guard.begin()
	failure := r.protected(p, keys, args, w)
	stopped := r.guard.reason
	r.host = nil

	if stopped != nil {
		failure.text, failure.at = "ERR "+stopped.Error(), cmp.Or(failure.at, firstLine)
	}
	if failure.text != "" {
		w.Buf = w.Buf[:start]
		w.Error(failure.text + " script: " + p.SHA + ", on " + failure.at + ".")
	}
	grown, owes := r.guard.end()
	if stopped != nil || failure.machine || grown {
		r.sandbox = newSandbox(r) // what is left in the state may be large, or broken
	} else {
		r.sandbox.reset()
	}
	if cap(r.bytes) > keptBytes {
		r.bytes, r.words = nil, nil
	}
	return owes
}

// failure is how a run ended, if not well.
type failure struct {
	text    string // the error, with its code
	at      string // where: @user_script:1
	machine bool   // the Lua machine itself broke
}

// firstLine is where a failure is that has no place in the script.
const firstLine = "@" + chunkName + ":1"

// keptBytes is the most memory that a buffer keeps for its next use.
const keptBytes = 64 << 10

// protected runs the script and converts its result. Whatever goes wrong comes back as a failure.
func (r *Runtime) protected(p *Program, keys, args [][]byte, w *resp.Writer) (f failure) {
	L := r.sandbox.L
	defer func() {
		if bug := recover(); bug != nil {
			f = failure{text: "ERR internal error of the script engine", at: firstLine, machine: true}
		}
	}()
	if !r.guard.fits(listBytes(keys) + listBytes(args)) {
		return failure{}
	}
	r.sandbox.set("KEYS", stringsTable(L, keys))
	r.sandbox.set("ARGV", stringsTable(L, args))
	L.Push(L.NewFunctionFromProto(p.code))
	if err := L.PCall(0, 1, nil); err != nil {
		err := err.(*lua.ApiError)
		if text, ok := err.Object.(lua.LString); ok && !r.guard.fits(6*len(text)) { // each step to the reply copies it
			return failure{}
		}
		return newFailure(err)
	}
	c := replyConverter{r: r, w: w, start: len(w.Buf)}
	c.value(L.Get(-1), 0)
	L.SetTop(0)
	if c.tooLong {
		return failure{text: "ERR reply of the script is too long", at: firstLine}
	}
	return failure{}
}

func newFailure(err *lua.ApiError) failure {
	f := failure{at: place(err.StackTrace), machine: err.Type == lua.ApiErrorPanic}
	switch v := err.Object.(type) {
	case *lua.LTable:
		text, ok := toText(v.RawGetString("err"))
		if !ok {
			text = "ERR unknown error"
		}
		f.text = text
	default:
		text, ok := toText(v)
		if !ok {
			text = tostring(v)
		}
		f.text = "ERR " + machineText(text)
	}
	if f.text == "" {
		f.text = " " // Redis answers with an empty error
	}
	return f
}

// place finds the innermost function in Lua in a stack trace of the machine:
//
//	stack traceback:
//		[G]: in function 'error'
//		user_script:3: in function 'f'
func place(trace string) string {
	for line := range strings.SplitSeq(trace, "\n") {
		line = strings.TrimSpace(line)
		end := strings.LastIndex(line, ": in ")
		if end < 0 || strings.HasPrefix(line, "[G]") {
			continue
		}
		if at := line[:end]; strings.Contains(at, ":") {
			return "@" + at
		}
	}
	return firstLine
}

// listBytes is what stringsTable takes.
func listBytes(list [][]byte) (n int) {
	for _, b := range list {
		n += len(b) + 32
	}
	return n
}

func stringsTable(L *lua.LState, list [][]byte) *lua.LTable {
	t := L.CreateTable(len(list), 0)
	for _, b := range list {
		t.Append(lua.LString(b))
	}
	return t
}
