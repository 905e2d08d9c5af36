package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cellserver/cellserver/acl"
	"github.com/cellserver/cellserver/resp"
)

// This file asks package acl what connections may do, and does what follows.

// newACL makes the users of a server with a command table, whose commands it gives their numbers.
func newACL(t *commandTable) *acl.Store {
	var described []acl.Command
	var all []*command
	for _, row := range t.rows {
		for _, c := range append([]*command{row}, row.subcommands...) {
			var categories []string
			for category := range strings.FieldsSeq(c.categories) {
				categories = append(categories, strings.TrimPrefix(category, "@"))
			}
			described = append(described, acl.Command{Name: c.fullName(), Categories: categories, NoAuth: c.has("no_auth")})
			all = append(all, c)
		}
	}
	store := acl.NewStore(acl.NewCatalogue(described))
	for _, c := range all {
		c.aclID, _ = store.Catalogue().ID(c.fullName())
	}
	return store
}

// aclFile is the path of the ACL file.
func (s *Server) aclFile() string {
	c := s.config()
	return c.Path(c.ACLFile)
}

// loadUsers makes the users that the configuration says: in its own lines or in an ACL file, not in both.
func (s *Server) loadUsers(c *Config) error {
	s.acl.SetChannelsByDefault(c.ACLPubSubDefault == "allchannels")
	s.acl.Log.SetLength(int(c.ACLLogMaxLen))
	if c.RequirePass != "" {
		s.acl.SetDefaultPassword(c.RequirePass)
	}
	if c.ACLFile == "" {
		for _, line := range c.Users {
			if err := s.acl.Define(line.Words[1], line.Words[2:]); err != nil {
				return fmt.Errorf("%s: %w", line.Source, err)
			}
		}
		return nil
	}
	if len(c.Users) > 0 {
		return errors.New("users are defined in the configuration and aclfile names a file for them: have them in one place, and put the lines of the one into the other")
	}
	if _, err := s.acl.Load(c.Path(c.ACLFile)); err != nil {
		return fmt.Errorf("cannot start because of ACL errors: %w", err)
	}
	return nil
}

// errProtected is what protected-mode says to clients on other machines; the text is Redis's.
const errProtected = "DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. " +
	"In this mode connections are only accepted from the loopback interface. If you want to connect from external computers to Redis you may adopt one of the following solutions: " +
	"1) Just disable protected mode sending the command 'CONFIG SET protected-mode no' from the loopback interface by connecting to Redis from the same host the server is running, " +
	"however MAKE SURE Redis is not publicly accessible from internet if you do so. Use CONFIG REWRITE to make this change permanent. " +
	"2) Alternatively you can just disable the protected mode by editing the Redis configuration file, and setting the protected mode option to 'no', and then restarting the server. " +
	"3) If you started the server manually just for testing, restart it with the '--protected-mode no' option. " +
	"4) Setup a an authentication password for the default user. NOTE: You only need to do one of the above things in order for the server to start accepting connections from the outside."

// protects says whether only clients on this machine may connect.
func (s *Server) protects() bool { return s.config().ProtectedMode && s.acl.Default().HasNoPassword() }

// welcome makes a connection the default user's, as it is at its begin and after RESET.
func (s *Server) welcome(c *conn) {
	c.user = s.acl.Default()
	c.setAuthenticated(c.user.NeedsNoPassword())
}

// setAuthenticated sets whether the connection has shown who it is.
func (c *conn) setAuthenticated(authenticated bool) {
	c.authenticated = authenticated
	c.limitInput()
}

// limitInput sets how much one command of the connection may announce. A connection that has not shown who it is is asked about
// again in each of its turns: whether it must do so changes with the default user.
func (c *conn) limitInput() {
	c.parser.Limits = resp.DefaultLimits()
	if c.mustAuthenticate() {
		c.parser.Limits = resp.UnauthenticatedLimits()
	}
	c.parser.Limits.MaxBulkBytes = min(c.parser.Limits.MaxBulkBytes, c.loop.server.config().MaxBulkBytes)
}

// maxUnauthenticatedQueryBytes is the most unparsed input held for a connection that has not shown who it is, as in Redis.
const maxUnauthenticatedQueryBytes = 1 << 20

// maxQueryBytes is the most unparsed input that is held for the connection.
func (c *conn) maxQueryBytes() int {
	if c.mustAuthenticate() {
		return maxUnauthenticatedQueryBytes
	}
	return c.loop.server.config().MaxQueryBytes
}

const errNoAuth = replyError("NOAUTH Authentication required.")

// permit returns the error for a command that the connection's user may not give, and logs it.
func (l *loop) permit(c *conn, cmd *command, words [][]byte) error {
	if c.authenticated && c.user.Unrestricted() {
		return nil
	}
	if c.mustAuthenticate() && !cmd.has("no_auth") {
		return errNoAuth
	}
	context := acl.TopLevel
	if c.multi != nil {
		context = acl.InTransaction
	}
	if denial := l.denial(c, cmd, words, context); denial != nil {
		return denial
	}
	return nil
}

// denial says why the connection's user may not give a command, and logs it; nil: the user may.
func (l *loop) denial(c *conn, cmd *command, words [][]byte, context acl.Context) *acl.Denial {
	if c.user.Unrestricted() {
		return nil
	}
	denial := l.server.acl.Check(c.user, l.accessRequest(cmd, words))
	if denial != nil {
		l.logDenial(c, acl.LogEntry{Reason: denial.Reason, Context: context, Object: denial.Object, Username: c.user.Name()})
	}
	return denial
}

// mustAuthenticate says whether the connection has to show who it is before anything else.
func (c *conn) mustAuthenticate() bool {
	return !c.authenticated && !c.loop.server.acl.Default().NeedsNoPassword()
}

// permitQueued is permit for a command that EXEC is about to carry out: the user may have lost the right to it since.
func (l *loop) permitQueued(c *conn, t *transaction, queued queuedCommand) error {
	c.multi = t // so that the ACL log says where it was
	denial := l.denial(c, queued.command, queued.words, acl.InTransaction)
	c.multi = nil
	if denial == nil {
		return nil
	}
	return replyError("NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
		"This command is no longer allowed for the following reason: " + denial.ReasonAtExec())
}

// permitInScript is permit for a command of a script. The script's connection is the caller's user's.
func (l *loop) permitInScript(c *conn, cmd *command, words [][]byte) error {
	denial := l.denial(c, cmd, words, acl.InScript)
	if denial == nil {
		return nil
	}
	return replyError("ERR The user executing the script " + denial.ReasonInScript())
}

func (l *loop) logDenial(c *conn, entry acl.LogEntry) {
	entry.ClientInfo, entry.LastNanos = c.line(l.now), l.now
	l.server.acl.Log.Add(entry)
}

// authenticate makes a connection a user's. What fails is logged under the command as it was written: AUTH or HELLO.
func (l *loop) authenticate(c *conn, command []byte, name string, password []byte) error {
	user, err := l.server.acl.Authenticate(name, password)
	if err != nil {
		l.logDenial(c, acl.LogEntry{Reason: acl.DeniedAuth, Object: string(command), Username: name})
		return err
	}
	c.user = user
	c.setAuthenticated(true)
	return nil
}

// accessRequest says what a command, with as many words as it takes, would touch. It is good until the next one.
func (l *loop) accessRequest(cmd *command, words [][]byte) *acl.Request {
	r := &l.request
	*r = acl.Request{Command: cmd.aclID, Keys: r.Keys[:0], Channels: r.Channels[:0]}
	if len(words) > 1 && cmd.container == "" {
		r.FirstArgument = words[1]
	}
	access := keyAccess(cmd.access, words)
	first, end, step := cmd.keyIndexes(words)
	for i := first; i < end; i += step {
		if i > first && cmd.access2 != "" {
			access = keyAccess(cmd.access2, words)
		}
		r.Keys = append(r.Keys, acl.Key{Name: words[i], Access: access})
	}
	if of, uses := channelArguments[cmd.fullName()]; uses {
		end := len(words)
		if of.justOne {
			end = 2
		}
		for _, name := range words[1:end] {
			r.Channels = append(r.Channels, acl.Channel{Name: name, IsPattern: of.patterns})
		}
	}
	return r
}

// keyAccess translates a key specification's flags: access is reading, update, insert and delete are writing. A command whose
// flags are variable, SET, reads only where it has GET.
func keyAccess(flags string, words [][]byte) (access acl.Access) {
	isGet := func(word []byte) bool { return is(word, "GET") }
	variable := false
	for flag := range strings.FieldsSeq(flags) {
		switch flag {
		case "access":
			access |= acl.Read
		case "update", "insert", "delete":
			access |= acl.Write
		case "variable_flags":
			variable = true
		}
	}
	if variable && !slices.ContainsFunc(words[min(3, len(words)):], isGet) {
		access &^= acl.Read
	}
	return access
}

// channelArguments are the commands that name channels, from the first argument on. Others that do, UNSUBSCRIBE and its
// relatives, are not restricted.
var channelArguments = map[string]struct{ justOne, patterns bool }{
	"publish":    {justOne: true},
	"spublish":   {justOne: true},
	"subscribe":  {},
	"ssubscribe": {},
	"psubscribe": {patterns: true},
}

// disconnect closes the connections of users who are no more, the one that asked for it after its reply.
func (l *loop) disconnect(asked *conn, users []*acl.User) {
	if len(users) > 0 {
		l.kill(asked, func(c *conn) bool { return slices.Contains(users, c.user) })
	}
}

// endSubscriptions closes the connections of a user who was changed where they have a subscription that the user may not have
// any more. Once it has returned they receive nothing.
func (l *loop) endSubscriptions(asked *conn, user *acl.User) {
	if l.server.pubsub.any() {
		l.kill(asked, func(c *conn) bool { return c.user == user && !c.mayReceive() })
	}
}

// mayReceive says whether the connection's user may have all subscriptions that the connection has.
func (c *conn) mayReceive() bool {
	for kind := range channelKinds {
		for _, name := range c.subs.sorted(kind) {
			if !c.user.MayReceive(acl.Channel{Name: []byte(name), IsPattern: kind == channelPattern}) {
				return false
			}
		}
	}
	return true
}
