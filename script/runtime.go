package script

import (
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
	MaxStringBytes int    // DefaultMaxStringBytes
	MaxHeapBytes   uint64 // DefaultMaxHeapBytes
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
	if o.MaxHeapBytes == 0 {
		o.MaxHeapBytes = DefaultMaxHeapBytes
	}
	r := &Runtime{guard: newGuard(o.MaxHeapBytes), maxStringBytes: o.MaxStringBytes}
	r.Flush()
	r.sandbox = newSandbox(r)
	return r
}

// Kill ends the running script soon, with an error, and tells whether there was one. Any goroutine may call it.
func (r *Runtime) Kill() bool { return r.guard.kill() }

// Run runs a loaded script and appends its reply, or the error that ended it, to w in w's version.
func (r *Runtime) Run(sha string, keys, args [][]byte, host Host, w *resp.Writer) {
	p := r.Lookup(sha)
	if p == nil {
		w.Error("NOSCRIPT No matching script. Please use EVAL.")
		return
	}
	r.host, r.version, r.nested = host, 2, 0
	r.random, r.json = unseeded, defaultJSON
	s := r.sandbox
	s.set("KEYS", stringsTable(s.L, keys))
	s.set("ARGV", stringsTable(s.L, args))
	start := len(w.Buf)

	r.guard.begin()
	failure := r.protected(p, w)
	stopped := r.guard.reason
	r.guard.end()
	r.host = nil

	if stopped != nil {
		failure.text = "ERR " + stopped.Error()
	}
	if failure.text != "" {
		w.Buf = w.Buf[:start]
		w.Error(failure.text + " script: " + p.SHA + ", on " + failure.at + ".")
	}
	if stopped != nil || failure.machine {
		r.sandbox = newSandbox(r) // what is left in the state may be large, or broken
	} else {
		s.reset()
	}
}

// failure is how a run ended, if not well.
type failure struct {
	text    string // the error, with its code
	at      string // where: @user_script:1
	machine bool   // the Lua machine itself broke
}

// protected runs the script and converts its result. Whatever goes wrong comes back as a failure.
func (r *Runtime) protected(p *Program, w *resp.Writer) (f failure) {
	L := r.sandbox.L
	defer func() {
		if bug := recover(); bug != nil {
			f = failure{text: "ERR internal error of the script engine", at: "@" + chunkName + ":1", machine: true}
		}
	}()
	L.Push(L.NewFunctionFromProto(p.code))
	if err := L.PCall(0, 1, nil); err != nil {
		return newFailure(err.(*lua.ApiError))
	}
	c := replyConverter{r: r, w: w, start: len(w.Buf)}
	c.value(L.Get(-1), 0)
	L.SetTop(0)
	if c.tooLong {
		return failure{text: "ERR reply of the script is too long", at: "@" + chunkName + ":1"}
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
	return "@" + chunkName + ":1"
}

func stringsTable(L *lua.LState, list [][]byte) *lua.LTable {
	t := L.CreateTable(len(list), 0)
	for _, b := range list {
		t.Append(lua.LString(b))
	}
	return t
}
