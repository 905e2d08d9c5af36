package server

import (
	"strings"
	"time"

	"github.com/cellserver/cellserver/acl"
	"github.com/cellserver/cellserver/resp"
)

// This file has the subcommands of CLIENT that act on other connections.

var clientAdminRows = []*command{
	{name: "kill", arity: -3, flags: connectionAdminFlags, categories: connectionAdminSets, group: "connection", since: "2.4.0", summary: "Closes connections.", args: []string{"filter=ip:port|new-format=([ID client-id]|[normal_master_slave_pubsub=TYPE (NORMAL|MASTER|SLAVE|REPLICA|PUBSUB)]|[USER username]|[ADDR ip:port]|[LADDR ip:port]|[SKIPME yes/no])..."}, local: clientKill},
	{name: "pause", arity: -3, flags: connectionAdminFlags, categories: connectionAdminSets, group: "connection", since: "3.0.0", summary: "Makes the commands of all connections wait.", args: []string{"timeout", "[mode=WRITE|ALL]"}, local: clientPauseFor},
	{name: "unpause", arity: 2, flags: connectionAdminFlags, categories: connectionAdminSets, group: "connection", since: "6.2.0", summary: "Ends a pause.", local: clientUnpause},
	{name: "caching", arity: 3, flags: connectionFlags, categories: "@slow @connection", group: "connection", since: "6.0.0", summary: "Sets whether the keys of the next command are tracked.", args: []string{"mode=YES|NO"}, local: clientCaching},
	{name: "unblock", arity: -3, flags: connectionAdminFlags, categories: connectionAdminSets, group: "connection", since: "5.0.0", summary: "Ends a blocking command of another connection.", args: []string{"client-id", "[timeout_error=TIMEOUT|ERROR]"}, local: clientUnblock},
}

// longestPause is the longest pause that CLIENT PAUSE may set: a hundred years. Where Redis's own arithmetic wraps, so that
// it pauses nobody, we refuse.
const longestPause = 100 * 365 * 24 * time.Hour

// clientPauseFor answers CLIENT PAUSE milliseconds [WRITE|ALL].
func clientPauseFor(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	all := true
	switch {
	case len(args) > 4:
		w.Error(resp.UnknownSubcommandOrArity("client", args[1]))
		return
	case len(args) == 3 || is(args[3], "ALL"):
	case is(args[3], "WRITE"):
		all = false
	default:
		w.Error("ERR CLIENT PAUSE mode must be WRITE or ALL")
		return
	}
	milliseconds, ok := resp.ParseRedisInt(args[2])
	switch {
	case !ok:
		w.Error("ERR timeout is not an integer or out of range")
		return
	case milliseconds < 0:
		w.Error("ERR timeout is negative")
		return
	case milliseconds > int64(longestPause/time.Millisecond):
		w.Error("ERR timeout is out of range")
		return
	}
	l.server.pauseClients(l.now, time.Duration(milliseconds)*time.Millisecond, all)
	l.lookAround()
	w.OK()
}

func clientUnpause(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	l.server.unpauseClients()
	w.OK()
}

// clientUnblock answers CLIENT UNBLOCK id [TIMEOUT|ERROR]. No command of ours blocks its connection, so there is none to
// unblock; one that waits for the end of a pause is not touched.
func clientUnblock(_ *loop, _ *conn, args [][]byte, w *resp.Writer) {
	switch {
	case len(args) > 4:
		w.Error(resp.UnknownSubcommandOrArity("client", args[1]))
		return
	case len(args) == 4 && !is(args[3], "TIMEOUT") && !is(args[3], "ERROR"):
		w.Error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
		return
	}
	if _, ok := resp.ParseRedisInt(args[2]); !ok {
		w.Error(errNotInteger.Error())
		return
	}
	w.Int(0)
}

// The classes of connections, as CLIENT LIST TYPE, CLIENT KILL TYPE and client-output-buffer-limit name them. There are
// none of masters and replicas.
const (
	classNormal  = "normal"
	classPubsub  = "pubsub"
	classMaster  = "master"
	classReplica = "replica"
)

// parseClass reads a class's name, in any case.
func parseClass(word []byte) (class string, ok bool) {
	switch class = strings.ToLower(string(word)); class {
	case classNormal, classPubsub, classMaster, classReplica:
		return class, true
	case "slave":
		return classReplica, true
	}
	return "", false
}

func (c *conn) class() string {
	if c.subs != nil {
		return classPubsub
	}
	return classNormal
}

// A clientFilter says which connections CLIENT KILL means: those that fit all that is set.
type clientFilter struct {
	id          int64
	class       string
	peer, local string // addresses
	user        *acl.User
	skipCaller  bool
}

func (f *clientFilter) fits(caller *conn) func(c *conn) bool {
	return func(c *conn) bool {
		peer, local, _ := c.addresses()
		return (f.id == 0 || f.id == c.id) &&
			(f.class == "" || f.class == c.class()) &&
			(f.peer == "" || f.peer == peer) &&
			(f.local == "" || f.local == local) &&
			(f.user == nil || f.user == c.user) &&
			(!f.skipCaller || c != caller)
	}
}

// parseClientFilter reads the pairs of CLIENT KILL: ID, TYPE, ADDR, LADDR, USER, SKIPME.
func parseClientFilter(users *acl.Store, words [][]byte) (f clientFilter, err error) {
	f.skipCaller = true
	for ; len(words) > 0; words = words[2:] {
		if len(words) == 1 {
			return f, errSyntax
		}
		option, value := words[0], words[1]
		var ok bool
		switch {
		case is(option, "ID"):
			if f.id, ok = resp.ParseRedisInt(value); !ok || f.id < 1 {
				return f, replyError("ERR client-id should be greater than 0")
			}
		case is(option, "TYPE"):
			if f.class, ok = parseClass(value); !ok {
				return f, replyError("ERR Unknown client type '" + string(value) + "'")
			}
		case is(option, "ADDR"):
			f.peer = string(value)
		case is(option, "LADDR"):
			f.local = string(value)
		case is(option, "USER"):
			if f.user = users.User(string(value)); f.user == nil {
				return f, replyError("ERR No such user '" + string(value) + "'")
			}
		case is(option, "SKIPME") && is(value, "YES"):
			f.skipCaller = true
		case is(option, "SKIPME") && is(value, "NO"):
			f.skipCaller = false
		default:
			return f, errSyntax
		}
	}
	return f, nil
}

// clientKill answers CLIENT KILL addr:port, with OK or an error, and CLIENT KILL option value..., with a count.
func clientKill(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	if len(args) == 3 {
		filter := clientFilter{peer: string(args[2])}
		if filter.peer == "" || l.kill(c, filter.fits(c)) == 0 {
			w.Error("ERR No such client")
			return
		}
		w.OK()
		return
	}
	filter, err := parseClientFilter(l.server.acl, args[2:])
	if err != nil {
		w.Error(err.Error())
		return
	}
	w.Int(int64(l.kill(c, filter.fits(c))))
}

// kill closes the connections that fit, and returns how many they are: the caller's after the reply, others before their
// loop looks at them again. What they have not been sent yet is lost.
func (l *loop) kill(caller *conn, fits func(c *conn) bool) (killed int) {
	l.exclusively(l.server.allShards, func() {
		for _, each := range l.server.loops {
			var doomed []*conn
			for _, c := range each.conns {
				if c.killed || !fits(c) {
					continue
				}
				killed++
				if c == caller {
					c.closing = true
					continue
				}
				c.killed = true
				if c.subs != nil {
					c.subs.over.Store(true)
				}
				doomed = append(doomed, c)
			}
			if len(doomed) > 0 {
				each.post(&envelope{deliver: func(l *loop) { l.closeAll(doomed) }})
			}
		}
	})
	return killed
}
