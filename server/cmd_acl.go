package server

import (
	"time"

	"github.com/cellserver/cellserver/acl"
	"github.com/cellserver/cellserver/resp"
)

const (
	aclAdminFlags = "admin noscript loading stale"
	aclAdminSets  = "@admin @slow @dangerous"
)

var aclRows = []*command{
	{name: "acl", arity: -2, categories: "@slow", group: "server", since: "6.0.0", summary: "Tells about users and sets them.", subcommands: []*command{
		{name: "cat", arity: -2, flags: "noscript loading stale", categories: "@slow", group: "server", since: "6.0.0", summary: "Lists the categories, or a category's commands.", args: []string{"[categoryname]"}, local: aclCat},
		{name: "deluser", arity: -3, flags: aclAdminFlags, categories: aclAdminSets, group: "server", since: "6.0.0", summary: "Deletes users and closes their connections.", args: []string{"username..."}, local: aclDelUser},
		{name: "dryrun", arity: -4, flags: aclAdminFlags, categories: aclAdminSets, group: "server", since: "7.0.0", summary: "Tells whether a user may give a command.", args: []string{"username", "command", "[arg...]"}, local: aclDryRun},
		{name: "genpass", arity: -2, flags: "noscript loading stale", categories: "@slow", group: "server", since: "6.0.0", summary: "Makes a random password.", args: []string{"[bits]"}, local: aclGenPass},
		{name: "getuser", arity: 3, flags: aclAdminFlags, categories: aclAdminSets, group: "server", since: "6.0.0", summary: "Describes a user.", args: []string{"username"}, local: aclGetUser},
		{name: "list", arity: 2, flags: aclAdminFlags, categories: aclAdminSets, group: "server", since: "6.0.0", summary: "Describes all users, as in an ACL file.", local: aclList},
		{name: "load", arity: 2, flags: aclAdminFlags, categories: aclAdminSets, group: "server", since: "6.0.0", summary: "Replaces all users by those of the ACL file.", local: aclLoad},
		{name: "log", arity: -2, flags: aclAdminFlags, categories: aclAdminSets, group: "server", since: "6.0.0", summary: "Lists what was denied lately, or forgets it.", args: []string{"[operation=count|RESET]"}, local: aclLog},
		{name: "save", arity: 2, flags: aclAdminFlags, categories: aclAdminSets, group: "server", since: "6.0.0", summary: "Writes all users to the ACL file.", local: aclSave},
		{name: "setuser", arity: -3, flags: aclAdminFlags, categories: aclAdminSets, group: "server", since: "6.0.0", summary: "Makes or changes a user.", args: []string{"username", "[rule...]"}, local: aclSetUser},
		{name: "users", arity: 2, flags: aclAdminFlags, categories: aclAdminSets, group: "server", since: "6.0.0", summary: "Lists the users' names.", local: aclUsers},
		{name: "whoami", arity: 2, flags: "noscript loading stale", categories: "@slow", group: "server", since: "6.0.0", summary: "Returns the name of the connection's user.", local: aclWhoAmI},
		{name: "help", arity: 2, flags: "loading stale", categories: "@slow", group: "server", since: "6.0.0", summary: "Lists the subcommands.", local: help},
	}},
}

const (
	errNoACLFile   = "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration."
	errGenPassBits = "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096"
)

// aclLogDefault is how many entries ACL LOG tells unless told.
const aclLogDefault = 10

func writeBulks(w *resp.Writer, texts []string) {
	w.Array(len(texts))
	for _, text := range texts {
		w.BulkString(text)
	}
}

func aclWhoAmI(_ *loop, c *conn, _ [][]byte, w *resp.Writer) { w.BulkString(c.user.Name()) }

func aclUsers(l *loop, _ *conn, _ [][]byte, w *resp.Writer) { writeBulks(w, l.server.acl.Names()) }

func aclList(l *loop, _ *conn, _ [][]byte, w *resp.Writer) { writeBulks(w, l.server.acl.List()) }

func aclCat(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	switch len(args) {
	case 2:
		writeBulks(w, acl.Categories)
	case 3:
		names, known := l.server.acl.Catalogue().In(string(args[2]))
		if !known {
			w.Error("ERR Unknown category '" + string(args[2]) + "'")
			return
		}
		writeBulks(w, names)
	default:
		w.Error(resp.UnknownSubcommandOrArity("acl", args[1]))
	}
}

func aclSetUser(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	var rules []string
	for _, rule := range args[3:] {
		rules = append(rules, string(rule))
	}
	name := string(args[2])
	if err := l.server.acl.SetUser(name, rules); err != nil {
		w.Error("ERR " + err.Error())
		return
	}
	l.endSubscriptions(c, l.server.acl.User(name))
	w.OK()
}

func aclDelUser(l *loop, c *conn, args [][]byte, w *resp.Writer) {
	var names []string
	for _, name := range args[2:] {
		names = append(names, string(name))
	}
	deleted, err := l.server.acl.Delete(names)
	if err != nil {
		w.Error("ERR " + err.Error())
		return
	}
	l.disconnect(c, deleted)
	w.Int(int64(len(deleted)))
}

func aclGetUser(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	user := l.server.acl.User(string(args[2]))
	if user == nil {
		w.Null()
		return
	}
	d := l.server.acl.Describe(user)
	w.Map(6)
	w.BulkString("flags")
	w.Set(len(d.Flags))
	for _, flag := range d.Flags {
		w.BulkString(flag)
	}
	w.BulkString("passwords")
	writeBulks(w, d.Passwords)
	writePermissions(w, d.Permissions)
	w.BulkString("selectors")
	w.Array(len(d.Selectors))
	for _, selector := range d.Selectors {
		w.Map(3)
		writePermissions(w, selector)
	}
}

// writePermissions writes three entries of a map.
func writePermissions(w *resp.Writer, p acl.Permissions) {
	for _, text := range []string{"commands", p.Commands, "keys", p.Keys, "channels", p.Channels} {
		w.BulkString(text)
	}
}

// aclDryRun answers ACL DRYRUN username command [arg...]: OK, or as a string why not.
func aclDryRun(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	user := l.server.acl.User(string(args[2]))
	if user == nil {
		w.Error("ERR User '" + string(args[2]) + "' not found")
		return
	}
	words := args[3:]
	cmd := l.server.commands.find(words)
	switch {
	case cmd == nil || cmd.subcommands != nil && len(words) > 1:
		w.Error("ERR Command '" + string(words[0]) + "' not found")
		return
	case !cmd.takes(len(words)):
		w.Error(resp.WrongArity(cmd.fullName()))
		return
	}
	if denial := l.server.acl.Check(user, l.accessRequest(cmd, words)); denial != nil {
		w.BulkString(denial.Explanation())
		return
	}
	w.OK()
}

func aclGenPass(_ *loop, _ *conn, args [][]byte, w *resp.Writer) {
	bits := int64(acl.DefaultPasswordBits)
	if len(args) > 3 {
		w.Error(resp.UnknownSubcommandOrArity("acl", args[1]))
		return
	}
	if len(args) == 3 {
		wanted, ok := resp.ParseRedisInt(args[2])
		if !ok {
			w.Error(errNotInteger.Error())
			return
		}
		if wanted < 1 || wanted > acl.MaxPasswordBits {
			w.Error(errGenPassBits)
			return
		}
		bits = wanted
	}
	w.BulkString(acl.GeneratePassword(int(bits)))
}

func aclLoad(l *loop, c *conn, _ [][]byte, w *resp.Writer) {
	if l.server.config().ACLFile == "" {
		w.Error(errNoACLFile)
		return
	}
	replaced, err := l.server.acl.Load(l.server.aclFile())
	if err != nil {
		w.Error("ERR " + err.Error())
		return
	}
	l.disconnect(c, replaced)
	l.endSubscriptions(c, l.server.acl.Default()) // which keeps its connections
	w.OK()
}

func aclSave(l *loop, _ *conn, _ [][]byte, w *resp.Writer) {
	if l.server.config().ACLFile == "" {
		w.Error(errNoACLFile)
		return
	}
	if err := l.server.acl.Save(l.server.aclFile()); err != nil {
		l.server.log.warning("Can't save the ACLs: %v", err)
		w.Error("ERR There was an error trying to save the ACLs. Please check the server logs for more information")
		return
	}
	w.OK()
}

// aclLog answers ACL LOG [count | RESET].
func aclLog(l *loop, _ *conn, args [][]byte, w *resp.Writer) {
	count := int64(aclLogDefault)
	switch {
	case len(args) > 3:
		w.Error(resp.UnknownSubcommandOrArity("acl", args[1]))
		return
	case len(args) == 3 && is(args[2], "RESET"):
		l.server.acl.Log.Reset()
		w.OK()
		return
	case len(args) == 3:
		wanted, ok := resp.ParseRedisInt(args[2])
		if !ok {
			w.Error(errNotInteger.Error())
			return
		}
		count = max(0, wanted)
	}
	entries := l.server.acl.Log.Latest(int(count))
	w.Array(len(entries))
	for _, entry := range entries {
		w.Map(7)
		w.BulkString("count")
		w.Int(int64(entry.Count))
		for _, text := range []string{"reason", entry.Reason.String(), "context", entry.Context.String(),
			"object", entry.Object, "username", entry.Username} {
			w.BulkString(text)
		}
		w.BulkString("age-seconds")
		w.Double(ageSeconds(l.now - entry.LastNanos))
		w.BulkString("client-info")
		w.BulkString(entry.ClientInfo)
	}
}

// ageSeconds is an age in whole milliseconds, as Redis measures it. Another loop's entry may be younger than now.
func ageSeconds(nanos int64) float64 {
	return float64(max(0, nanos)/int64(time.Millisecond)) / 1000
}
