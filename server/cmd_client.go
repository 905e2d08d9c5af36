package server

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cellserver/cellserver/resp"
)

const errClientName = "ERR Client names cannot contain spaces, newlines or special characters."

// tracking is how CLIENT TRACKING has set a connection. There is nothing to invalidate: a client may cache only what it
// read with a command that a cache can serve, and every value here changes with time by itself. So the setting is kept
// and told, and no invalidation is ever sent.
type tracking struct {
	on, broadcast, optIn, optOut, noLoop bool
	prefixes                             []string
}

func clientID(_ *loop, c *conn, _ [][]byte, w *resp.Writer) { w.Int(c.id) }

func clientSetName(_ *loop, c *conn, args [][]byte, w *resp.Writer) {
	if !isPlain(args[2]) {
		w.Error(errClientName)
		return
	}
	c.name = string(args[2])
	w.OK()
}

func clientGetName(_ *loop, c *conn, _ [][]byte, w *resp.Writer) {
	if c.name == "" {
		w.Null()
		return
	}
	w.BulkString(c.name)
}

func clientSetInfo(_ *loop, c *conn, args [][]byte, w *resp.Writer) {
	var field *string
	switch {
	case is(args[2], "LIB-NAME"):
		field = &c.libName
	case is(args[2], "LIB-VER"):
		field = &c.libVer
	default:
		w.Error("ERR Unrecognized option '" + string(args[2]) + "'")
		return
	}
	if !isPlain(args[3]) {
		w.Error("ERR " + strings.ToLower(string(args[2])) + " cannot contain spaces, newlines or special characters.")
		return
	}
	*field = string(args[3])
	w.OK()
}

func clientNoEvict(_ *loop, c *conn, args [][]byte, w *resp.Writer) { setFlag(&c.noEvict, args[2], w) }
func clientNoTouch(_ *loop, c *conn, args [][]byte, w *resp.Writer) { setFlag(&c.noTouch, args[2], w) }

func setFlag(flag *bool, word []byte, w *resp.Writer) {
	on, ok := parseOnOff(word)
	if !ok {
		w.Error(errSyntax.Error())
		return
	}
	*flag = on
	w.OK()
}

func clientReply(_ *loop, c *conn, args [][]byte, w *resp.Writer) {
	switch {
	case is(args[2], "ON"):
		c.reply = replyOn
		w.OK()
	case is(args[2], "OFF"):
		c.reply = replyOff
	case is(args[2], "SKIP"):
		if c.reply != replyOff {
			c.reply = replySkipNext
		}
	default:
		w.Error(errSyntax.Error())
	}
}

// clientTracking answers CLIENT TRACKING ON|OFF [REDIRECT id] [PREFIX p...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP].
func clientTracking(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	on, ok := parseOnOff(args[2])
	if !ok {
		w.Error(errSyntax.Error())
		return
	}
	t := tracking{on: on}
	for i := 3; i < len(args); i++ {
		switch {
		case is(args[i], "BCAST"):
			t.broadcast = true
		case is(args[i], "OPTIN"):
			t.optIn = true
		case is(args[i], "OPTOUT"):
			t.optOut = true
		case is(args[i], "NOLOOP"):
			t.noLoop = true
		case is(args[i], "PREFIX") && i+1 < len(args):
			i++
			t.prefixes = append(t.prefixes, string(args[i]))
		case is(args[i], "REDIRECT") && i+1 < len(args):
			i++
			if id, ok := resp.ParseRedisInt(args[i]); !ok {
				w.Error(errNotInteger.Error())
				return
			} else if !l.hasClient(id) {
				w.Error("ERR The client ID you want redirect to does not exist")
				return
			}
		default:
			w.Error(errSyntax.Error())
			return
		}
	}
	if err := t.validate(); err != nil {
		w.Error(err.Error())
		return
	}
	c.tracking = t
	if !on {
		c.tracking = tracking{}
	}
	w.OK()
}

func (t *tracking) validate() error {
	switch {
	case !t.on:
		return nil
	case len(t.prefixes) > 0 && !t.broadcast:
		return replyError("ERR PREFIX option requires BCAST mode to be enabled")
	case t.broadcast && (t.optIn || t.optOut):
		return replyError("ERR OPTIN and OPTOUT are not compatible with BCAST")
	case t.optIn && t.optOut:
		return replyError("ERR You can't specify both OPTIN mode and OPTOUT mode")
	}
	return nil
}

func clientTrackingInfo(_ *loop, c *conn, _ [][]byte, w *resp.Writer) {
	flags := []string{"off"}
	if t := c.tracking; t.on {
		flags = []string{"on"}
		for _, option := range []struct {
			set  bool
			name string
		}{{t.broadcast, "bcast"}, {t.optIn, "optin"}, {t.optOut, "optout"}, {t.noLoop, "noloop"}} {
			if option.set {
				flags = append(flags, option.name)
			}
		}
	}
	w.Map(3)
	w.BulkString("flags")
	w.Set(len(flags))
	for _, flag := range flags {
		w.BulkString(flag)
	}
	w.BulkString("redirect")
	w.Int(c.redirect())
	w.BulkString("prefixes")
	w.Array(len(c.tracking.prefixes))
	for _, prefix := range c.tracking.prefixes {
		w.BulkString(prefix)
	}
}

// redirect returns what CLIENT GETREDIR tells: -1 where tracking is off, 0 where nothing is redirected.
func (c *conn) redirect() int64 {
	if c.tracking.on {
		return 0
	}
	return -1
}

func clientGetRedir(_ *loop, c *conn, _ [][]byte, w *resp.Writer) { w.Int(c.redirect()) }

func clientInfo(l *loop, c *conn, _ [][]byte, w *resp.Writer) {
	w.Verbatim("txt", c.line(l.now)+"\n")
}

// clientList answers CLIENT LIST [TYPE type | ID id...].
func clientList(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	wanted := func(*conn) bool { return true }
	switch options := args[2:]; {
	case len(options) == 0:
	case len(options) == 2 && is(options[0], "TYPE"):
		switch kind := strings.ToLower(string(options[1])); kind {
		case "normal":
		case "master", "replica", "slave", "pubsub":
			wanted = func(*conn) bool { return false }
		default:
			w.Error("ERR Unknown client type '" + string(options[1]) + "'")
			return
		}
	case len(options) > 1 && is(options[0], "ID"):
		ids := make(map[int64]bool)
		for _, word := range options[1:] {
			id, ok := resp.ParseRedisInt(word)
			if !ok || id < 1 {
				w.Error("ERR Invalid client ID")
				return
			}
			ids[id] = true
		}
		wanted = func(c *conn) bool { return ids[c.id] }
	default:
		w.Error(errSyntax.Error())
		return
	}
	var lines strings.Builder
	for _, c := range l.server.clientsNow(l) {
		if wanted(c.conn) {
			lines.WriteString(c.line)
			lines.WriteByte('\n')
		}
	}
	w.Verbatim("txt", lines.String())
}

// describedConn is a connection and its line in CLIENT LIST, made while its loop stood still.
type describedConn struct {
	conn *conn
	line string
}

// clientsNow describes all connections, in the order of their numbers.
func (s *Server) clientsNow(l *loop) []describedConn {
	var described []describedConn
	l.exclusively(s.allShards, func() {
		for _, each := range s.loops {
			for _, c := range each.conns {
				described = append(described, describedConn{c, c.line(l.now)})
			}
		}
	})
	slices.SortFunc(described, func(a, b describedConn) int { return int(a.conn.id - b.conn.id) })
	return described
}

// hasClient says whether there is a connection of that number.
func (l *loop) hasClient(id int64) (found bool) {
	l.exclusively(l.server.allShards, func() {
		for _, each := range l.server.loops {
			found = found || each.conns[id] != nil
		}
	})
	return found
}

// line is the connection's line in CLIENT LIST, with the fields of Redis 7.
func (c *conn) line(nowNanos int64) string {
	peer, local, fd := c.describe()
	flags := ""
	for _, flag := range []struct {
		set    bool
		letter string
	}{{c.multi != nil, "x"}, {c.isUnix(), "U"}, {c.tracking.on, "t"}, {c.tracking.broadcast, "B"}, {c.noEvict, "e"}, {c.noTouch, "T"}, {c.closing, "c"}} {
		if flag.set {
			flags += flag.letter
		}
	}
	if flags == "" {
		flags = "N"
	}
	events := "r"
	if c.stalled {
		events = "w"
	}
	lastCommand := "NULL"
	if c.last != nil {
		lastCommand = c.last.fullName()
	}
	age := int64((c.loop.server.clock.uptime() - c.created).Seconds())
	idle := (nowNanos - c.lastUseNs) / nanosPerSecond
	queued := len(c.out) - c.sent
	queuedCommands, queuedBytes := -1, 0
	if c.multi != nil {
		queuedCommands, queuedBytes = len(c.multi.commands), c.multi.bytes
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=%d name=%s age=%d idle=%d flags=%s db=%d sub=0 psub=0 ssub=0 multi=%d"+
		" qbuf=%d qbuf-free=%d argv-mem=0 multi-mem=%d rbs=%d rbp=%d obl=%d oll=0 omem=%d tot-mem=%d events=%s cmd=%s user=%s"+
		" redir=%d resp=%d lib-name=%s lib-ver=%s",
		c.id, peer, local, fd, c.name, age, idle, flags, c.db, queuedCommands,
		len(c.in), cap(c.in)-len(c.in), queuedBytes, cap(c.out), cap(c.out), queued, max(0, cap(c.out)-outputBytes), cap(c.in)+cap(c.out),
		events, lastCommand, defaultUser, c.redirect(), c.version, c.libName, c.libVer)
}
