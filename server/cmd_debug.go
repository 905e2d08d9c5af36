package server

import (
	"crypto/sha1"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/cellserver/cellserver/engine"
	"github.com/cellserver/cellserver/resp"
)

// This file has DEBUG: what tests and drivers use of it. Anyone who may use it can stop the server, so that nobody may
// unless the configuration says so.

// Who may use DEBUG, the values of Config.EnableDebugCommand.
const (
	debugForNobody = "no"
	debugForLocal  = "local" // clients on this machine
	debugForAll    = "yes"
)

const errDebugOff = replyError(`ERR DEBUG command not allowed. If the enable-debug-command option is set to "local", you can run it ` +
	`from a local connection, otherwise you need to set this option in the configuration file, and then restart the server.`)

// mayDebug says whether the configuration lets the connection use DEBUG. As in Redis that is asked before its user's rights are.
func (l *loop) mayDebug(c *conn) bool {
	allowed := l.server.config().EnableDebugCommand
	return allowed == debugForAll || allowed == debugForLocal && isLocal(c.transport)
}

// A debugCommand is one subcommand of DEBUG. In Redis they are none to COMMAND, INFO and ACL, and so are not here.
type debugCommand struct {
	name    string
	words   int // with DEBUG and the name; negative: at least so many
	usage   string
	summary string
	run     func(l *loop, c *conn, args [][]byte, w *resp.Writer)
}

var debugCommands = []debugCommand{
	{"digest", 2, "DIGEST", "Output a hex signature representing the current DB content.", debugDigest},
	{"digest-value", -2, "DIGEST-VALUE <key> [<key> ...]", "Output a hex signature of the values of all the specified keys.", debugDigestValue},
	{"error", 3, "ERROR <string>", "Return an error with <string> as message.",
		func(_ *loop, _ *conn, args [][]byte, w *resp.Writer) { w.Error(string(args[2])) }},
	{"log", 3, "LOG <message>", "Write <message> to the server log.", debugLog},
	{"object", -3, "OBJECT <key>", "Show how <key> is stored.", debugObject},
	{"quicklist-packed-threshold", 3, "QUICKLIST-PACKED-THRESHOLD <size>", "Accepted: there are no lists.", debugListThreshold},
	{"set-active-expire", 3, "SET-ACTIVE-EXPIRE <0|1>", "Setting it to 0 ends the sweeping for dead keys, setting it to 1 resumes it.", debugSetActiveExpire},
	{"sleep", 3, "SLEEP <seconds>", "Stop the server for <seconds>. Decimals allowed.", debugSleep},
}

func runDebug(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	if is(args[1], "HELP") && len(args) == 2 {
		debugHelp(w)
		return
	}
	for _, d := range debugCommands {
		if is(args[1], d.name) && (len(args) == d.words || d.words < 0 && len(args) >= -d.words) {
			d.run(l, c, args, w)
			return
		}
	}
	w.Error(resp.UnknownSubcommandOrArity("debug", args[1]))
}

func debugHelp(w *resp.Writer) {
	w.Array(2*len(debugCommands) + 3)
	w.Simple("DEBUG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
	for _, d := range debugCommands {
		w.Simple(d.usage)
		w.Simple("    " + d.summary)
	}
	w.Simple("HELP")
	w.Simple("    Prints this help.")
}

// debugSleep stops all loops, as Redis stops: a client that tests its timeouts expects the server to be dead meanwhile.
func debugSleep(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	seconds, err := strconv.ParseFloat(string(args[2]), 64)
	if err != nil || !(seconds > 0 && seconds < math.MaxInt64/nanosPerSecond) {
		seconds = 0 // what Redis makes of a bad number
	}
	l.exclusively(l.server.allShards, func() { time.Sleep(time.Duration(seconds * nanosPerSecond)) })
	w.OK()
}

// debugDigest tells a number that is the same wherever the same keys have the same TATs, in Redis's 40 hex digits.
func debugDigest(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	digest := uint64(0)
	l.everywhere(func(e *engine.Engine) { digest ^= e.Digest() })
	w.Simple(fmt.Sprintf("%040x", digest))
}

// tats returns the TATs of keys of the connection's database, 0 for a missing key, all at one time.
func (l *loop) tats(c *conn, words [][]byte) []int64 {
	found := make([]int64, len(words))
	l.exclusively(l.server.allShards, func() {
		for i, word := range words {
			key := l.server.key(c.db, word)
			if tatNanos, live := l.server.engineOf(key).Get(key); live {
				found[i] = tatNanos
			}
		}
	})
	return found
}

func debugDigestValue(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	w.Array(len(args) - 2)
	for _, tatNanos := range l.tats(c, args[2:]) {
		var digest [sha1.Size]byte // zero for a missing key, as in Redis
		if tatNanos != 0 {
			digest = sha1.Sum(strconv.AppendInt(nil, tatNanos, 10))
		}
		w.Simple(fmt.Sprintf("%x", digest))
	}
}

// debugObject tells of a key what Redis does, where it is something here: no pointer and no access time.
func debugObject(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	tatNanos := l.tats(c, args[2:3])[0]
	if tatNanos == 0 {
		w.Error(errNoSuchKey.Error())
		return
	}
	digits := len(strconv.FormatInt(tatNanos, 10))
	w.Simple(fmt.Sprintf("Value at:0x%x refcount:1 encoding:embstr serializedlength:%d",
		l.server.hasher.Sum(args[2]), 1+digits)) // in a dump a byte for the length comes first
}

func debugLog(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	l.server.log.warning("DEBUG LOG: %s", args[2])
	w.OK()
}

func debugSetActiveExpire(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	on, _ := resp.ParseRedisInt(args[2]) // no number is 0, as in Redis
	l.server.sweepingOff.Store(on == 0)
	w.OK()
}

func debugListThreshold(_ *loop, _ *conn, args [][]byte, w *resp.Writer) {
	if !isMemorySize(args[2]) {
		w.Error("ERR argument must be a memory value bigger than 1 and smaller than 4gb")
		return
	}
	w.OK()
}

// isMemorySize says whether a word is a number of bytes below 4 GiB, in Redis's way of writing them: 100, 100b, 1gb.
func isMemorySize(word []byte) bool {
	digits := 0
	for digits < len(word) && '0' <= word[digits] && word[digits] <= '9' {
		digits++
	}
	n, err := strconv.ParseUint(string(word[:digits]), 10, 32)
	if err != nil {
		return false
	}
	for _, unit := range []struct {
		name  string
		bytes uint64
	}{{"", 1}, {"b", 1}, {"k", 1000}, {"kb", 1 << 10}, {"m", 1e6}, {"mb", 1 << 20}, {"g", 1e9}, {"gb", 1 << 30}} {
		if is(word[digits:], unit.name) {
			return n*unit.bytes < 4<<30
		}
	}
	return false
}
