package server

import (
	"time"

	"github.com/cellserver/cellserver/resp"
	"github.com/cellserver/cellserver/script"
)

// This file has EVAL and its relatives. A script is one step over all shards, as in Redis, where nothing else runs
// meanwhile: it may use keys that it has not declared, and which those are is known only when it does.

// shaDigits is the length of a script's name. What is of another length is none, whatever follows.
const shaDigits = 40

const (
	errNoScript       = "NOSCRIPT No matching script. Please use EVAL."
	errNegativeKeys   = "ERR Number of keys can't be negative"
	errTooManyKeys    = "ERR Number of keys can't be greater than number of args"
	errNotBusy        = "NOTBUSY No scripts in execution right now."
	errUnkillable     = "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command."
	errScriptKilled   = "ERR Script killed by user with SCRIPT KILL..."
	errScriptArity    = "ERR Wrong number of args calling Redis command from script"
	errScriptNotThis  = "ERR This Redis command is not allowed from script"
	errScriptReadOnly = "ERR Write commands are not allowed from read-only scripts."
)

// giveBackDelay is how long after a script that took much memory that goes back to the system. Meanwhile the reply leaves, and
// of several such scripts in a row only one has it done.
const giveBackDelay = time.Second

// scripting is what the server has for scripts. It belongs to whoever has all shards; only Kill, Stop and Committed of the runtime
// are for all.
type scripting struct {
	runtime *script.Runtime
	// executor carries out a script's commands. It is no loop that runs: it stands for one that has taken all shards, so
	// that the real one can answer its connections while a script runs for long.
	executor *loop
	runner   *runner
}

func newScripting(s *Server) scripting {
	executor := &loop{server: s, holds: make([]bool, len(s.loops)), stats: newLoopStats(len(s.commands.all))}
	for shard := range executor.holds {
		executor.holds[shard] = true
	}
	return scripting{runtime: script.New(script.Options{}), executor: executor, runner: newRunner(s.ended)}
}

// A scriptRun is one script being run: the script's host.
type scriptRun struct {
	executor      *loop
	caller        *conn // not the client's: a script that selects a database or a protocol does so for itself
	client        *conn // the client's as it was at the begin, for the ACL log; nil: the user may do everything
	readOnly      bool
	misconfigured error  // of the loop
	reply         []byte // of the last command; its memory is used again
}

// Call carries out one command of the script.
func (r *scriptRun) Call(words [][]byte, version int) []byte {
	l := r.executor
	r.caller.version = version
	w := resp.Writer{Buf: r.reply[:0], Version: version}
	cmd, err := l.lookup(words)
	switch {
	case cmd == nil:
		w.Error(l.unknownInScript(words))
	case !cmd.takes(len(words)) && cmd.decide == nil:
		w.Error(errScriptArity)
	case err != nil:
		w.Error(err.Error())
	case cmd.has("noscript"):
		w.Error(errScriptNotThis)
	case r.readOnly && cmd.has("write"):
		w.Error(errScriptReadOnly)
	case r.misconfigured != nil && cmd.has("write"):
		w.Error(r.misconfigured.Error())
	case r.denied(cmd, words, &w):
	case cmd.has("write") && !l.server.scripting.runtime.Commit(): // killed a moment ago
		w.Error(errScriptKilled)
	default:
		l.bookedTo = l.server.clock.uptime() // what was before is the script's own time
		l.carryOut(r.caller, cmd, words, &w)
		l.feedScripted(r.caller.db, cmd, words)
	}
	r.reply = w.Buf
	return w.Buf
}

func (l *loop) unknownInScript(words [][]byte) string {
	if container := l.server.commands.find(words[:1]); container != nil {
		return resp.UnknownSubcommandInScript(container.name, words[1])
	}
	return resp.UnknownInScript(words[0])
}

// Log writes a line of redis.log.
func (r *scriptRun) Log(level int, message string) {
	log := r.executor.server.log
	switch level {
	case script.LogDebug:
		log.debug("%s", message)
	case script.LogVerbose:
		log.verbose("%s", message)
	case script.LogNotice:
		log.notice("%s", message)
	default:
		log.warning("%s", message)
	}
}

// CheckACL answers redis.acl_check_cmd.
func (r *scriptRun) CheckACL(words [][]byte) (allowed, known bool) {
	cmd, err := r.executor.lookup(words)
	if cmd == nil || err != nil {
		return false, cmd != nil
	}
	return r.caller.user.Unrestricted() || r.executor.server.acl.Check(r.caller.user, r.executor.accessRequest(cmd, words)) == nil, true
}

// denied says whether the caller may not give the command, and then replies so.
func (r *scriptRun) denied(cmd *command, words [][]byte, w *resp.Writer) bool {
	if r.client == nil {
		return false
	}
	err := r.executor.permitInScript(r.client, cmd, words)
	if err != nil {
		w.Error(err.Error())
	}
	return err != nil
}

func eval(l *loop, c *conn, args [][]byte, w *resp.Writer)         { l.eval(c, args, false, w) }
func evalReadOnly(l *loop, c *conn, args [][]byte, w *resp.Writer) { l.eval(c, args, true, w) }

func (l *loop) eval(c *conn, args [][]byte, readOnly bool, w *resp.Writer) {
	l.withScript(c, args, readOnly, w, func(runtime *script.Runtime) (*script.Program, error) { return runtime.Load(args[1]) })
}

func evalSHA(l *loop, c *conn, args [][]byte, w *resp.Writer)         { l.evalSHA(c, args, false, w) }
func evalSHAReadOnly(l *loop, c *conn, args [][]byte, w *resp.Writer) { l.evalSHA(c, args, true, w) }

func (l *loop) evalSHA(c *conn, args [][]byte, readOnly bool, w *resp.Writer) {
	if len(args[1]) != shaDigits {
		w.Error(errNoScript)
		return
	}
	l.withScript(c, args, readOnly, w, func(runtime *script.Runtime) (*script.Program, error) {
		if p := runtime.Lookup(args[1]); p != nil {
			return p, nil
		}
		return nil, replyError(errNoScript)
	})
}

// withScript runs the script that find finds, with the keys and arguments among the words of the command. As in Redis their
// number is looked at before the script.
func (l *loop) withScript(c *conn, args [][]byte, readOnly bool, w *resp.Writer, find func(*script.Runtime) (*script.Program, error)) {
	if l.monitored {
		l.feedLine(c.db, c.source(), args, noSecret) // here, and so before the script's own commands
	}
	keys, rest, err := splitKeys(args[2:])
	if err != nil {
		w.Error(err.Error())
		return
	}
	l.exclusively(l.server.allShards, func() {
		program, err := find(l.server.scripting.runtime)
		if err != nil {
			w.Error(err.Error())
			return
		}
		l.runScript(c, program, keys, rest, readOnly, w)
	})
}

// runScript runs a loaded script. The loop must have all shards.
func (l *loop) runScript(c *conn, program *script.Program, keys, args [][]byte, readOnly bool, w *resp.Writer) {
	scripting := &l.server.scripting
	executor := scripting.executor
	executor.now, executor.monitored = l.now, l.monitored
	run := &scriptRun{executor: executor, misconfigured: l.misconfigured, readOnly: readOnly || program.Flags.NoWrites}
	run.caller = executor.standIn(c)
	run.caller.version = 2
	if !c.user.Unrestricted() {
		run.client = executor.standIn(c)
	}
	reply := resp.Writer{Version: w.Version}
	grown, owes := false, false
	l.runGuarded(func() { grown, owes = scripting.runtime.Run(program, keys, args, run, &reply) })
	l.feed = append(l.feed, executor.feed...)
	executor.feed = nil
	w.Buf = append(w.Buf, reply.Buf...)
	if grown {
		scripting.runner.renew()
	}
	if owes {
		go func() {
			time.Sleep(giveBackDelay)
			scripting.runtime.GiveBack()
		}()
	}
}

// standIn makes a connection of the executor that tells of itself what a client's does. The client's own belongs to a loop that
// may be at work while the script runs.
func (l *loop) standIn(c *conn) *conn {
	return &conn{
		transport: c.transport, loop: l, id: c.id, version: c.version, db: c.db, user: c.user, authenticated: true,
		name: c.name, libName: c.libName, libVer: c.libVer, last: c.last, created: c.created, lastUseNs: c.lastUseNs,
	}
}

// splitKeys reads numkeys key... arg...
func splitKeys(words [][]byte) (keys, args [][]byte, err error) {
	n, ok := resp.ParseRedisInt(words[0])
	switch {
	case !ok:
		return nil, nil, errNotInteger
	case n < 0:
		return nil, nil, replyError(errNegativeKeys)
	case n > int64(len(words)-1):
		return nil, nil, replyError(errTooManyKeys)
	}
	return words[1 : 1+n], words[1+n:], nil
}

func scriptLoad(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	l.exclusively(l.server.allShards, func() {
		program, err := l.server.scripting.runtime.Load(args[2])
		if err != nil {
			w.Error(err.Error())
			return
		}
		w.BulkString(program.SHA())
	})
}

func scriptExists(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	w.Array(len(args) - 2)
	l.exclusively(l.server.allShards, func() {
		for _, sha := range args[2:] {
			found := int64(0)
			if l.server.scripting.runtime.Lookup(sha) != nil {
				found = 1
			}
			w.Int(found)
		}
	})
}

// scriptFlush answers SCRIPT FLUSH [ASYNC|SYNC]; neither takes time.
func scriptFlush(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	if len(args) > 3 || len(args) == 3 && !is(args[2], "ASYNC") && !is(args[2], "SYNC") {
		w.Error("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
		return
	}
	l.exclusively(l.server.allShards, func() { l.server.scripting.runtime.Flush() })
	w.OK()
}

func scriptKill(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	runtime := l.server.scripting.runtime
	switch {
	case runtime.Kill():
		w.OK()
	case runtime.Committed():
		w.Error(errUnkillable)
	default:
		w.Error(errNotBusy)
	}
}
