package script

import (
	"cmp"

	lua "github.com/yuin/gopher-lua"

	"github.com/cellserver/cellserver/resp"
)

// Host runs the commands of a running script. It may use words and the reply only until it returns or is called again.
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

// The levels of redis.log.
const (
	LogDebug = iota
	LogVerbose
	LogNotice
	LogWarning
)

// The flags of redis.set_repl.
const (
	replAOF     = 1
	replReplica = 2
)

// Options bound what a script may take. Zero stands for the default.
type Options struct {
	MaxStringBytes int   // DefaultMaxStringBytes
	MaxGrowthBytes int64 // DefaultMaxGrowthBytes
}

// Runtime holds compiled scripts and the Lua state that they run in. All methods but Kill are for one goroutine at a time.
type Runtime struct {
	cache

	guard          *guard
	maxStringBytes int
	sandbox        *sandbox

	// Of the present run.
	host        Host
	version     int // of RESP, between script and host
	random      rand48
	json        jsonOptions
	nested      int // coroutines that resumed each other, and protected calls
	protections int // protected calls under way

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
	r.sandbox, r.random = newSandbox(r), unseeded
	return r
}

// Kill ends the running script soon, with an error, and tells whether there was one. It leaves a committed one alone. Any
// goroutine may call it.
func (r *Runtime) Kill() bool { return r.guard.kill() }

// Stop is Kill for any script, committed or not.
func (r *Runtime) Stop() { r.guard.stopRunning() }

// Commit makes sure that the running script can't be killed from now on, and tells whether that was in time. Its host calls it
// before each command that writes: half of a script's effects would be left.
func (r *Runtime) Commit() bool { return r.guard.commit() }

// Committed tells whether a script is running that can't be killed. Any goroutine may call it.
func (r *Runtime) Committed() bool { return r.guard.state.Load() == committed }

// GiveBack collects what large scripts have left and gives the memory back to the system. It takes some 100 ms, but stops no
// other goroutine for long. Any goroutine may call it.
func (r *Runtime) GiveBack() { r.guard.giveBack() }

// Run runs a script and appends its reply, or the error that ended it, to w in w's version. It tells whether the process has
// grown much, and whether GiveBack is to be called for that: not again before that has returned, whatever runs meanwhile.
func (r *Runtime) Run(p *Program, keys, args [][]byte, host Host, w *resp.Writer) (grown, owes bool) {
	code := r.codeOf(p)
	r.host, r.version, r.nested, r.protections = host, 2, 0, 0
	r.json = defaultJSON
	start := len(w.Buf)

	r.guard.begin()
	failure := r.protectedRun(code, keys, args, w)
	r.guard.end()
	stopped := r.guard.reason
	r.host = nil

	if stopped != nil {
		failure.text, failure.at = "ERR "+stopped.Error(), cmp.Or(failure.at, firstLine)
	}
	if failure.text != "" {
		w.Buf = w.Buf[:start]
		w.Error(failure.text + " script: " + p.SHA() + ", on " + failure.at + ".")
	}
	grown, owes = r.guard.settle()
	if stopped != nil || failure.machine || grown {
		r.sandbox = newSandbox(r) // what the script left in the state may be large, or broken
	} else {
		r.sandbox.reset()
	}
	if cap(r.bytes) > keptBytes {
		r.bytes, r.words = nil, nil
	}
	return grown, owes
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

// protectedRun runs the script and converts its result. Whatever goes wrong comes back as a failure.
func (r *Runtime) protectedRun(code *lua.FunctionProto, keys, args [][]byte, w *resp.Writer) (f failure) {
	L := r.sandbox.L
	defer func() {
		if bug := recover(); bug != nil {
			f = failure{text: "ERR internal error of the script engine", at: firstLine, machine: true}
		}
	}()
	if !r.guard.fits(listBytes(keys) + listBytes(args)) {
		return failure{}
	}
	r.sandbox.set("KEYS", r.stringsTable(keys))
	r.sandbox.set("ARGV", r.stringsTable(args))
	L.Push(r.sandbox.protected)
	L.Push(L.NewFunctionFromProto(code))
	if err := L.PCall(1, 1, nil); err != nil {
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
	f := failure{at: err.StackTrace, machine: err.Type == lua.ApiErrorPanic}
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

// listBytes is what stringsTable takes.
func listBytes(list [][]byte) (n int) {
	for _, b := range list {
		n += len(b) + 32
	}
	return n
}

func (r *Runtime) stringsTable(list [][]byte) *lua.LTable {
	L := r.sandbox.L
	t := L.CreateTable(len(list), 0)
	for i, b := range list {
		r.add(L, t, i+1, lua.LString(b))
	}
	return t
}
