package server

import (
	"github.com/cellserver/cellserver/acl"
	"github.com/cellserver/cellserver/resp"
)

// This file has the commands on the connection itself.

// ping answers PING [message]. While a RESP2 connection has subscriptions the answer has the shape of a message, which is
// all that its client expects then.
func ping(_ *loop, c *conn, args [][]byte, w *resp.Writer) {
	switch {
	case len(args) <= 2 && c.subs != nil && c.version == 2:
		w.Array(2)
		w.BulkString("pong")
		if len(args) == 1 {
			w.BulkString("")
		} else {
			w.Bulk(args[1])
		}
	case len(args) == 1:
		w.Simple("PONG")
	case len(args) == 2:
		w.Bulk(args[1])
	default:
		w.Error(resp.WrongArity("ping"))
	}
}

func echo(_ *loop, _ *conn, args [][]byte, w *resp.Writer) { w.Bulk(args[1]) }

func quit(_ *loop, c *conn, _ [][]byte, w *resp.Writer) {
	w.OK()
	c.closing = true
}

func selectDB(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	db, err := l.server.parseDB(args[1])
	if err != nil {
		w.Error(err.Error())
		return
	}
	c.db = db
	w.OK()
}

const errNoPassword = replyError("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")

func auth(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	var err error
	switch {
	case len(args) == 2 && l.server.acl.Default().HasNoPassword():
		err = errNoPassword
	case len(args) == 2:
		err = l.authenticate(c, args[0], acl.DefaultUser, args[1])
	case len(args) == 3:
		err = l.authenticate(c, args[0], string(args[1]), args[2])
	default:
		err = errSyntax
	}
	if err != nil {
		w.Error(err.Error())
		return
	}
	w.OK()
}

const errHelloNoAuth = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"

// hello answers HELLO [protover [AUTH user password] [SETNAME name]]. The version stays where any part is wrong; an AUTH and
// a name before that part count, as in Redis.
func hello(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	version := int64(c.version)
	if len(args) > 1 {
		wanted, ok := resp.ParseRedisInt(args[1])
		if !ok {
			w.Error("ERR Protocol version is not an integer or out of range")
			return
		}
		if wanted != 2 && wanted != 3 {
			w.Error("NOPROTO unsupported protocol version")
			return
		}
		version = wanted
	}
	for i := 2; i < len(args); {
		switch {
		case is(args[i], "AUTH") && i+2 < len(args):
			if err := l.authenticate(c, args[0], string(args[i+1]), args[i+2]); err != nil {
				w.Error(err.Error())
				return
			}
			i += 3
		case is(args[i], "SETNAME") && i+1 < len(args):
			if !isPlain(args[i+1]) {
				w.Error(errClientName)
				return
			}
			c.name = string(args[i+1])
			i += 2
		default:
			w.Error("ERR Syntax error in HELLO option '" + printed(args[i]) + "'")
			return
		}
	}
	if c.mustAuthenticate() {
		w.Error(errHelloNoAuth)
		return
	}
	c.version = int(version)
	w.Version = c.version
	w.Map(7)
	w.BulkString("server")
	w.BulkString("redis")
	w.BulkString("version")
	w.BulkString(redisVersion)
	w.BulkString("proto")
	w.Int(version)
	w.BulkString("id")
	w.Int(c.id)
	w.BulkString("mode")
	w.BulkString("standalone")
	w.BulkString("role")
	w.BulkString("master")
	w.BulkString("modules")
	writeModules(w)
}

// The module that the server stands in for. Callers look for it in MODULE LIST, HELLO and INFO.
const (
	moduleName    = "redis-cell"
	moduleVersion = 1
)

func writeModules(w *resp.Writer) {
	w.Array(1)
	w.Map(4)
	w.BulkString("name")
	w.BulkString(moduleName)
	w.BulkString("ver")
	w.Int(moduleVersion)
	w.BulkString("path")
	w.BulkString("")
	w.BulkString("args")
	w.Array(0)
}

func moduleList(_ *loop, _ *conn, _ [][]byte, w *resp.Writer) { writeModules(w) }

// reset makes the connection as it was when it was new.
func reset(l *loop, c *conn, _ [][]byte, w *resp.Writer) {
	c.version, c.db, c.reply = 2, 0, replyOn
	c.name = ""
	c.noEvict, c.noTouch = false, false
	c.tracking = tracking{}
	c.multi = nil
	l.server.welcome(c)
	l.unwatch(c)
	l.leave(c)
	l.stopMonitoring(c)
	w.Version = c.version
	w.Simple("RESET")
}

// isPlain says whether a name can stand in CLIENT LIST: printable, without spaces.
func isPlain(name []byte) bool {
	for _, b := range name {
		if b < '!' || b > '~' {
			return false
		}
	}
	return true
}

// parseOnOff reads the ON or OFF of a CLIENT subcommand.
func parseOnOff(word []byte) (on, ok bool) {
	return is(word, "ON"), is(word, "ON") || is(word, "OFF")
}
