package server

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/cellserver/cellserver/config"
	"github.com/cellserver/cellserver/netio"
	"github.com/cellserver/cellserver/resp"
)

// An applier makes the server obey new values of some directives that are not simply read where they count. It runs before
// they are in force and may refuse them; if another refuses, it runs again for the old ones.
type applier struct {
	directives []string
	apply      func(s *Server, next *Config) error
}

var appliers = []applier{
	{[]string{"maxclients"}, (*Server).checkMaxClients},
	{[]string{"loglevel"}, func(s *Server, next *Config) error {
		s.log.level.Store(int32(logLevels[next.LogLevel]))
		return nil
	}},
	{[]string{"tls-cert-file", "tls-key-file", "tls-ca-cert-file", "tls-ca-cert-dir", "tls-auth-clients", "tls-protocols", "tls-ciphers"}, (*Server).applyTLS},
	{[]string{"proto-max-bulk-len"}, func(s *Server, next *Config) error {
		s.tell(func(l *loop) {
			for _, c := range l.conns {
				if c.authenticated {
					c.parser.Limits.MaxBulkBytes = next.MaxBulkBytes
				}
			}
		})
		return nil
	}},
	{[]string{"appendonly"}, (*Server).applyAppendOnly},
	{[]string{"dir", "dbfilename", "save"}, func(s *Server, next *Config) error {
		s.snapshots.tryOut(next)
		return nil
	}},
	{[]string{"appendfsync", "aof-timestamp-enabled", "auto-aof-rewrite-percentage", "auto-aof-rewrite-min-size"}, func(s *Server, next *Config) error {
		if aof := s.aof.Load(); aof != nil {
			aof.Configure(logSettings(next))
		}
		return nil
	}},
	{[]string{"requirepass"}, func(s *Server, next *Config) error {
		s.acl.SetDefaultPassword(next.RequirePass)
		return nil
	}},
	{[]string{"acllog-max-len", "acl-pubsub-default"}, func(s *Server, next *Config) error {
		s.acl.Log.SetLength(int(next.ACLLogMaxLen))
		s.acl.SetChannelsByDefault(next.ACLPubSubDefault == "allchannels")
		return nil
	}},
}

// applyTLS has new connections to tls-port use other certificates and rules. Without the port there is nothing to try.
func (s *Server) applyTLS(next *Config) error {
	if next.TLSPort == 0 {
		return nil
	}
	if err := s.ReloadTLS(tlsOptions(next)); err != nil {
		s.log.warning("Failed to configure TLS: %v", err)
		return errors.New("Unable to update TLS configuration. Check server logs.")
	}
	return nil
}

// configGet answers CONFIG GET pattern... .
func configGet(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	patterns := make([]string, len(args)-2)
	for i, arg := range args[2:] {
		patterns[i] = strings.ToLower(string(arg))
	}
	found := l.server.config().Get(patterns...)
	w.Map(len(found))
	for _, value := range found {
		w.BulkString(asAsked(value.Name, args[2:]))
		w.BulkString(value.Text)
	}
}

// asAsked returns a directive's name in the letters in which it was asked for, as Redis does where it was no pattern.
func asAsked(name string, asked [][]byte) string {
	for _, word := range asked {
		if is(word, name) {
			return string(word)
		}
	}
	return name
}

// configSet answers CONFIG SET name value... : all of them or none.
func configSet(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	if len(args)%2 != 0 {
		w.Error(resp.ErrTextSyntax)
		return
	}
	var pairs []config.Pair
	for i := 2; i < len(args); i += 2 {
		pairs = append(pairs, config.Pair{Name: string(args[i]), Value: string(args[i+1])})
	}
	if err := l.server.set(pairs, c.mayChangeProtected()); err != nil {
		w.Error("ERR " + err.Error())
		return
	}
	w.OK()
}

// set puts a configuration with new values in the place of the one that counts.
func (s *Server) set(pairs []config.Pair, protectedToo bool) error {
	s.setting.Lock()
	defer s.setting.Unlock()
	before := s.config()
	next, err := before.With(pairs, protectedToo)
	if err != nil {
		return err
	}
	for i, a := range appliers {
		name := a.concerns(pairs)
		if name == "" {
			continue
		}
		if err := a.apply(s, next); err != nil {
			for _, done := range appliers[:i] {
				if done.concerns(pairs) != "" {
					_ = done.apply(s, before) // which it accepted before
				}
			}
			return &config.SetError{Name: name, Err: err}
		}
	}
	s.settings.Store(next)
	for _, note := range next.NotesSince(before) {
		s.log.notice("%s", note)
	}
	return nil
}

// concerns returns the first of the names that the applier is about. A value that stays counts too: what the files of TLS
// hold may be new.
func (a *applier) concerns(pairs []config.Pair) string {
	for _, pair := range pairs {
		if slices.Contains(a.directives, strings.ToLower(pair.Name)) {
			return pair.Name
		}
	}
	return ""
}

// mayChangeProtected says whether enable-protected-configs allows the connection to change protected directives.
func (c *conn) mayChangeProtected() bool {
	switch c.loop.server.config().EnableProtectedConfigs {
	case "yes":
		return true
	case "local":
		return isLocal(c.transport)
	}
	return false
}

// isLocal says whether the peer is on this machine for sure: at a Unix socket or a loopback address.
func isLocal(t netio.Transport) bool {
	if t.IsUnix() {
		return true
	}
	peer, _, _ := t.Describe()
	host, _, err := net.SplitHostPort(peer)
	return err == nil && net.ParseIP(host).IsLoopback()
}

// configRewrite answers CONFIG REWRITE.
func configRewrite(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	s := l.server
	s.setting.Lock()
	defer s.setting.Unlock()
	current := s.config()
	if current.File == "" {
		w.Error("ERR The server is running without a config file")
		return
	}
	var users []string // where an ACL file has them, the lines stay as they are
	if current.ACLFile == "" {
		users = s.acl.List()
	}
	if err := current.Rewrite(users); err != nil {
		s.log.warning("CONFIG REWRITE failed: %v", err)
		var broken *config.Error
		if errors.As(err, &broken) {
			err = fmt.Errorf("%s: %w", broken.Source, broken.Err) // the whole text has several lines
		}
		w.Error("ERR Rewriting config file: " + err.Error())
		return
	}
	s.log.notice("CONFIG REWRITE executed with success.")
	w.OK()
}
