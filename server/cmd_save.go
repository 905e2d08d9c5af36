package server

import (
	"github.com/cellserver/cellserver/persistence"
	"github.com/cellserver/cellserver/resp"
)

// This file has the commands on snapshots.

func save(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	var err error
	l.exclusively(l.server.allShards, func() { err = l.server.snapshots.atOnce() })
	switch err {
	case nil:
		w.OK()
	case errSaving:
		w.Error(err.Error())
	default:
		l.server.log.warning("Error saving DB on disk: %v", err)
		w.Error("ERR") // all that Redis says
	}
}

// backgroundSave answers BGSAVE [SCHEDULE].
func backgroundSave(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	if len(args) > 2 || len(args) == 2 && !is(args[1], "SCHEDULE") {
		w.Error(errSyntax.Error())
		return
	}
	var changes uint64
	l.exclusively(l.server.allShards, func() { changes = l.server.countChanges() })
	if err := l.server.snapshots.background(changes); err != nil {
		w.Error(err.Error())
		return
	}
	w.Simple("Background saving started")
}

// backgroundRewrite answers BGREWRITEAOF.
func backgroundRewrite(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	aof := l.server.aof.Load()
	if aof == nil {
		w.Error("ERR there is no append only file: appendonly is no")
		return
	}
	switch err := l.server.rewriteLog(aof); err {
	case nil:
		w.Simple("Background append only file rewriting started")
	case persistence.ErrRewriting:
		w.Error(err.Error())
	default:
		l.server.log.warning("Can't rewrite append only file in background: %v", err)
		w.Error("ERR Can't execute an AOF background rewriting. Please check the server logs for more information.")
	}
}

func lastSave(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	p := l.server.snapshots
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Int(p.saved.Unix())
}
