package server

import (
	"strings"

	"github.com/cellserver/cellserver/resp"
)

var shutdownRows = []*command{
	{name: "shutdown", arity: -1, flags: "admin noscript loading stale no_multi allow_busy", categories: "@admin @slow @dangerous", group: "server", since: "1.0.0",
		summary: "Ends the server in order.", args: []string{"[nosave_save=NOSAVE|SAVE]", "[NOW]", "[FORCE]", "[ABORT]"}, local: shutdown},
}

// shutdownOptions are the words of SHUTDOWN. NOW is accepted and changes nothing: there are no replicas to wait for.
type shutdownOptions struct{ save, noSave, force, abort bool }

func parseShutdown(words [][]byte) (o shutdownOptions, ok bool) {
	for _, word := range words {
		switch {
		case is(word, "SAVE"):
			o.save = true
		case is(word, "NOSAVE"):
			o.noSave = true
		case is(word, "NOW"):
		case is(word, "FORCE"):
			o.force = true
		case is(word, "ABORT"):
			o.abort = true
		default:
			return o, false
		}
	}
	return o, !(o.save && o.noSave) && !(o.abort && len(words) > 1)
}

// optionsOfSignal are those that shutdown-on-sigint or shutdown-on-sigterm gives to a signal.
func optionsOfSignal(c *Config, signal string) (o shutdownOptions) {
	words := c.ShutdownOnSIGTERM
	if signal == "SIGINT" {
		words = c.ShutdownOnSIGINT
	}
	for word := range strings.FieldsSeq(words) {
		switch word {
		case "save":
			o.save = true
		case "nosave":
			o.noSave = true
		case "force":
			o.force = true
		}
	}
	return o
}

// shutdown answers SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE] | ABORT. There is no reply where it succeeds: the connection
// ends with the server, and none of its further commands is carried out.
func shutdown(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	options, ok := parseShutdown(args[1:])
	switch {
	case !ok:
		w.Error(errSyntax.Error())
		return
	case options.abort: // a shutdown that has begun is over before anyone could ask
		w.Error("ERR No shutdown in progress.")
		return
	}
	l.server.log.warning("User requested shutdown...")
	if err := l.saveBeforeEnd(options); err != nil && !options.force {
		w.Error("ERR Errors trying to SHUTDOWN. Check logs.")
		return
	}
	c.waiting = true
	c.updateInterest()
	l.server.requestEnd()
}

// EndFor has the server end in order for a signal, SIGINT or SIGTERM, as SHUTDOWN does with the options that the signal stands for: where the keyspace can't be saved it stays at work, as Redis
// does, since what is in memory is all there is. A script that is running is ended first. Where the end is under way already, a signal
// changes nothing.
func (s *Server) EndFor(signal string) {
	if s.endsSoon() {
		return
	}
	s.log.warning("Received %s scheduling shutdown...", signal)
	s.scripting.runtime.Stop()
	s.loops[0].post(&envelope{onShard: true, deliver: func(l *loop) {
		options := optionsOfSignal(s.config(), signal)
		if l.saveBeforeEnd(options) == nil || options.force {
			s.requestEnd()
		}
	}})
}

// saveBeforeEnd makes the keyspace durable for SHUTDOWN, by SAVE in any case and otherwise where there are save points. It is
// done here, where an error can still be told; a change that another connection makes before the end is saved then. Only the first
// that asks for the end has a say in that.
func (l *loop) saveBeforeEnd(options shutdownOptions) (err error) {
	s := l.server
	if s.endsSoon() {
		return nil
	}
	switch {
	case options.noSave || l.loading: // what is loaded so far is less than what is on disk
		s.savingAtEnd.Store(saveNever)
	case options.save || len(s.config().Save) > 0:
		s.savingAtEnd.Store(saveAlways)
		s.log.notice("Saving the final RDB snapshot before exiting.")
		l.exclusively(s.allShards, func() { err = s.snapshots.atOnce() })
		if err == errSaving { // it is given up at the end, and this one taken then
			err = nil
		}
		if options.force {
			s.savingAtEnd.Store(saveNever)
		}
	}
	switch {
	case err != nil && options.force:
		s.log.warning("Error trying to save the DB. Exit anyway: %v", err)
	case err != nil:
		s.log.warning("Error trying to save the DB, can't exit: %v", err)
	}
	return err
}

// EndRequested is closed when a client has asked for the server's end. Whoever runs the server calls Shutdown then, as
// for a signal.
func (s *Server) EndRequested() <-chan struct{} { return s.endRequested }

func (s *Server) requestEnd() { s.endOnce.Do(func() { close(s.endRequested) }) }

// endsSoon says whether the end was asked for, and nothing can keep the server from it.
func (s *Server) endsSoon() bool {
	select {
	case <-s.endRequested:
		return true
	default:
		return s.closing.Load()
	}
}
