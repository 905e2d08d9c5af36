package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cellserver/cellserver/resp"
)

const errClientName = "ERR Client names cannot contain spaces, newlines or special characters."

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
		w.Error("ERR Unrecognized option '" + printed(args[2]) + "'")
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

func clientInfo(l *loop, c *conn, _ [][]byte, w *resp.Writer) {
	w.Verbatim("txt", c.line(l.now)+"\n")
}

// clientList answers CLIENT LIST [TYPE type | ID id...].
func clientList(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	wanted := func(*conn) bool { return true }
	switch options := args[2:]; {
	case len(options) == 0:
	case len(options) == 2 && is(options[0], "TYPE"):
		class, ok := parseClass(options[1])
		if !ok {
			w.Error("ERR Unknown client type '" + printed(options[1]) + "'")
			return
		}
		wanted = func(c *conn) bool { return c.class() == class }
	case len(options) > 1 && is(options[0], "ID"):
		ids := make(map[int64]bool)
		for _, word := range options[1:] {
			id, ok := resp.ParseRedisInt(word)
			if !ok {
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
	l.inSteps(c, args, w, &clientListing{wanted: wanted, lines: gathering{pool: &l.outputs}})
}

// clientListing is CLIENT LIST. A connection is listed as it is at the step that comes to it.
type clientListing struct {
	wanted func(*conn) bool
	ids    []int64 // of those to be looked at
	begun  bool
	lines  gathering
}

func (t *clientListing) step(l *loop, _ *conn, _ [][]byte, _ *resp.Writer, until time.Duration) (done bool) {
	if !t.begun {
		t.begun, t.ids = true, l.server.clientIDs(l)
	}
	for next := true; next; next = len(t.ids) > 0 && l.server.clock.uptime() < until {
		some := t.ids[:min(len(t.ids), pieceLength/2)]
		t.ids = t.ids[len(some):]
		l.exclusively(l.server.allShards, func() {
			for _, id := range some {
				if c := l.server.client(id); c != nil && t.wanted(c) {
					t.lines.text(c.line(l.now))
					t.lines.text("\n")
				}
			}
		})
	}
	return len(t.ids) == 0
}

func (t *clientListing) reply(w *resp.Writer) {
	w.VerbatimHead("txt", t.lines.bytes)
	t.lines.text("\r\n")
}

func (t *clientListing) gathered() *gathering { return &t.lines }

// clientIDs returns the numbers of all connections, in their order.
func (s *Server) clientIDs(l *loop) (ids []int64) {
	l.exclusively(s.allShards, func() {
		for _, each := range s.loops {
			ids = slices.AppendSeq(ids, maps.Keys(each.conns))
		}
	})
	slices.Sort(ids)
	return ids
}

// client returns the connection of a number, nil where there is none any more. The caller has all shards.
func (s *Server) client(id int64) *conn {
	for _, l := range s.loops {
		if c := l.conns[id]; c != nil && !c.killed {
			return c
		}
	}
	return nil
}

// hasClient says whether there is a connection of that number.
func (l *loop) hasClient(id int64) (found bool) {
	l.exclusively(l.server.allShards, func() { found = l.server.client(id) != nil })
	return found
}

// line is the connection's line in CLIENT LIST, with the fields of Redis 7.
func (c *conn) line(nowNanos int64) string {
	peer, local, fd := c.addresses()
	flags := ""
	for _, flag := range []struct {
		set    bool
		letter string
	}{{c.monitoring, "O"}, {c.subs != nil, "P"}, {c.multi != nil, "x"}, {c.waiting, "b"}, {c.transport.IsUnix(), "U"}, {c.tracking.on, "t"}, {c.tracking.broadcast, "B"}, {c.noEvict, "e"}, {c.noTouch, "T"}, {c.closing, "c"}} {
		if flag.set {
			flags += flag.letter
		}
	}
	if flags == "" {
		flags = "N"
	}
	events := "r"
	switch {
	case c.full:
		events = "w"
	case c.stalled():
		events = "rw"
	}
	lastCommand := "NULL"
	if c.last != nil {
		lastCommand = c.last.fullName()
	}
	age := int64((c.loop.server.clock.uptime() - c.created).Seconds())
	idle := (nowNanos - c.lastUseNs) / nanosPerSecond
	queuedCommands, queuedBytes := -1, 0
	if c.multi != nil {
		queuedCommands, queuedBytes = len(c.multi.commands), c.multi.bytes
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=%d name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=%d ssub=%d multi=%d"+
		" qbuf=%d qbuf-free=%d argv-mem=0 multi-mem=%d rbs=%d rbp=%d obl=%d oll=%d omem=%d tot-mem=%d events=%s cmd=%s user=%s"+
		" redir=%d resp=%d lib-name=%s lib-ver=%s",
		c.id, peer, local, fd, c.name, age, idle, flags, c.db,
		c.subs.count(plainChannel), c.subs.count(channelPattern), c.subs.count(shardChannel), queuedCommands,
		len(c.in), cap(c.in)-len(c.in), queuedBytes, cap(c.out), cap(c.out), len(c.out), len(c.unsent.buffers), c.unsent.held+max(0, cap(c.out)-outputBytes), cap(c.in)+cap(c.out)+c.unsent.held,
		events, lastCommand, c.user.Name(), c.redirect(), c.version, c.libName, c.libVer)
}
