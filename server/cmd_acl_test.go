package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cellserver/cellserver/internal/realredis"
	"github.com/cellserver/cellserver/resp"
)

// aclConversation is answered alike by redis-server 7.0.15, but for the order of single commands in a description.
// Lines are in the grammar of redis-cli.
const aclConversation = `
ACL WHOAMI
ACL USERS
ACL LIST
ACL CAT
ACL CAT foo
ACL CAT a b
ACL
ACL FOO
ACL WHOAMI x
ACL SETUSER
ACL SETUSER a
ACL LIST
ACL GETUSER a
ACL GETUSER nobody
ACL SETUSER a on >p ~k* &c* +get -get +@read -set +config|get
ACL GETUSER a
ACL SETUSER a +@all -@dangerous +info
ACL GETUSER a
ACL SETUSER a -@all +@string +@connection -ping
ACL GETUSER a
ACL SETUSER a reset (+get ~x) (+@all -@keyspace +keys +scan -@write %R~y &z)
ACL GETUSER a
ACL LIST
ACL SETUSER a ( +set
ACL SETUSER a clearselectors +lpush +hset -foo
ACL GETUSER a
ACL SETUSER a +lpush +hset +select|0 +get|x
ACL GETUSER a
ACL SETUSER a +@foo
ACL SETUSER a foo
ACL SETUSER a %~x
ACL SETUSER a "~a b"
ACL SETUSER a allkeys ~x
ACL SETUSER a allchannels &x
ACL SETUSER a #12
ACL SETUSER a <nope
ACL SETUSER a +config|get|x
ACL SETUSER a +config|nope
ACL SETUSER "a b" on
ACL SETUSER "a\x00b" on
ACL SETUSER b on nopass +@all -set ~k* &c*
ACL SETUSER c on nopass +@read %R~r* %W~w* (+set ~s*) (+set +get %W~w*)
ACL SETUSER d on nopass +select|0 +config|get +acl|whoami (+@all ~q &q)
ACL SETUSER e off
ACL SETUSER f on nopass +@all %R~a %W~b
ACL LIST
ACL DRYRUN nobody get x
ACL DRYRUN b
ACL DRYRUN b get
ACL DRYRUN b foo
ACL DRYRUN b config
ACL DRYRUN b config foo
ACL DRYRUN b config|get x
ACL DRYRUN b acl
ACL DRYRUN b get k1
ACL DRYRUN b get x
ACL DRYRUN b set k1 v
ACL DRYRUN c get r1
ACL DRYRUN c get w1
ACL DRYRUN c exists w1
ACL DRYRUN c mget r1 r2 x1
ACL DRYRUN c set s1 x
ACL DRYRUN c set w1 x
ACL DRYRUN c set w1 x get
ACL DRYRUN c set x1 x
ACL DRYRUN c del x1
ACL DRYRUN d select 0
ACL DRYRUN d select 1
ACL DRYRUN d config get x
ACL DRYRUN d del q z
ACL DRYRUN e auth x
ACL DRYRUN e ping
ACL DRYRUN f copy a b
ACL DRYRUN f copy b a
ACL DRYRUN f rename a b
ACL DRYRUN f rename b a
ACL DRYRUN f object encoding b
ACL DRYRUN f memory usage b
ACL DRYRUN f ttl b
ACL DRYRUN f expire b 1
ACL DRYRUN f expire a 1
ACL DRYRUN f persist a
ACL DRYRUN f touch b
ACL DRYRUN f type b
ACL DRYRUN f unlink a
ACL DRYRUN f set b 1 ex get
ACL DRYRUN f set b 1 ex 10
ACL DRYRUN f watch c
AUTH nobody x
AUTH e x
AUTH x
AUTH a b c
AUTH
HELLO 2 AUTH nobody x SETNAME foo
CLIENT GETNAME
AUTH c anything
ACL WHOAMI
GET x
SET r1 1
DEL r1
EXISTS w9
MGET r1 x
MULTI
AUTH d x
ACL WHOAMI
PING
CONFIG GET nothing
MULTI
RESET
ACL WHOAMI
MULTI
PING
ACL WHOAMI
EXEC
AUTH b x
MULTI
PING
SET k1 1
EXEC
AUTH default x
ACL LOG x
ACL LOG 0
ACL LOG -5
ACL LOG a b
ACL LOG RESET
ACL LOG
ACL GENPASS 0
ACL GENPASS 4097
ACL GENPASS x
ACL GENPASS 1 2
ACL SAVE
ACL LOAD
ACL DELUSER
ACL DELUSER default
ACL DELUSER default a
ACL DELUSER nobody a b a
ACL USERS
ACL SETUSER a
ACL LIST
`

func TestACLAgreesWithRedis(t *testing.T) {
	theirs := dialTo(t, "tcp", realredis.Start(t).Address)
	ours := dial(t, startServer(t, nil))
	for _, version := range []string{"", "HELLO 3"} {
		for line := range strings.Lines(version + aclConversation + "ACL DELUSER a b c d e f\n") {
			words, err := resp.SplitArgs([]byte(line), nil)
			if err != nil {
				t.Fatal(line, err)
			}
			var command []string
			for _, word := range words {
				command = append(command, string(word))
			}
			if len(command) == 0 {
				continue
			}
			got, want := ours.do(command...), theirs.do(command...)
			if strings.HasPrefix(command[0], "HELLO") && !strings.HasPrefix(want, "-") {
				continue
			}
			if len(command) > 1 && (command[1] == "LIST" || command[1] == "GETUSER") {
				got, want = inOrder(got), inOrder(want)
			}
			if got != want {
				t.Errorf("%s (RESP %s)\n got %s\nwant %s", strings.TrimSpace(line), version, got, want)
			}
		}
	}
}

// inOrder sorts the words of descriptions of users, since Redis tells single commands in an order of chance.
func inOrder(reply string) string {
	words := strings.FieldsFunc(reply, func(r rune) bool { return strings.ContainsRune(` "()[]`, r) })
	slices.Sort(words)
	return strings.Join(words, " ")
}

func TestACLLog(t *testing.T) {
	c := dial(t, startServer(t, nil))
	info := `"client-info" "id=1 *cmd=* user=*"`
	dialogue{
		{"ACL LOG", "[]"},
		{"ACL SETUSER u on >p ~a +get +multi +auth", "OK"},
		{"auth u wrong", "-WRONGPASS invalid username-password pair or user is disabled."},
		{"AUTH u p", "OK"},
		{"GET b", "-NOPERM this user has no permissions to access one of the keys used as arguments"},
		{"GET b", "-NOPERM this user has no permissions to access one of the keys used as arguments"},
		{"ACL LOG", "-NOPERM this user has no permissions to run the 'acl|log' command"},
		{"CL.THROTTLE a 1 1 1", "-NOPERM this user has no permissions to run the 'cl.throttle' command"},
		{"MULTI", "OK"},
		{"SET a 1", "-NOPERM this user has no permissions to run the 'set' command"},
		{"RESET", "RESET"},
		{"ACL LOG 1", `[["count" 1 "reason" "command" "context" "multi" "object" "set" "username" "u" "age-seconds" "0*" ` + info + "]]"},
		{"ACL LOG", `[["count" 1 "reason" "command" "context" "multi" "object" "set" * ` +
			`["count" 1 "reason" "command" "context" "toplevel" "object" "cl.throttle" * ` +
			`["count" 1 "reason" "command" "context" "toplevel" "object" "acl|log" * ` +
			`["count" 2 "reason" "key" "context" "toplevel" "object" "b" * ` +
			`["count" 1 "reason" "auth" "context" "toplevel" "object" "auth" "username" "u" *]]`},
		{"ACL LOG RESET", "OK"},
		{"ACL LOG", "[]"},
	}.run(t, c)
}

// TestACLLogDescribesTheClient has what redis-server 7.0.15 says of the client, also where a script or EXEC was denied something.
func TestACLLogDescribesTheClient(t *testing.T) {
	c := dial(t, startServer(t, nil))
	script := "redis.setresp(3) redis.call('select', 3) return redis.pcall('set', 'k', '1').err"
	noRight := `"ERR The user executing the script can't run this command or subcommand"`
	for _, command := range []string{"ACL SETUSER u on nopass ~* +@all -set", "CLIENT SETNAME me", "AUTH u x", "SELECT 1"} {
		if got := c.run(command); got != "OK" {
			t.Fatal(command, got)
		}
	}
	for _, row := range []struct {
		commands [][]string
		want     string
	}{
		{[][]string{{"SET", "k", "1"}}, "flags=N db=1 multi=-1 cmd=set resp=2"},
		{[][]string{{"EVAL", script, "0"}}, "flags=N db=1 multi=-1 cmd=eval resp=2"},
		{[][]string{{"AUTH", "u2", "x"}}, "flags=N db=1 multi=-1 cmd=auth resp=2"},
		{[][]string{{"MULTI"}, {"SET", "k", "1"}, {"DISCARD"}}, "flags=x db=1 multi=0 cmd=set resp=2"},
		{[][]string{{"MULTI"}, {"ACL", "SETUSER", "u", "-get"}, {"GET", "k"}, {"EXEC"}}, "flags=x db=1 multi=2 cmd=exec resp=2"},
		{[][]string{{"HELLO", "3"}, {"EVALSHA", strings.Trim(c.do("SCRIPT", "LOAD", script), `"`), "0"}}, "flags=N db=1 multi=-1 cmd=evalsha resp=3"},
	} {
		last := ""
		for _, command := range row.commands {
			last = c.do(command...)
		}
		if strings.HasPrefix(row.commands[0][0], "EVAL") && last != noRight {
			t.Error(last)
		}
		entry := c.run("ACL LOG 1")
		var got []string
		for field := range strings.FieldsSeq(entry) {
			switch name, value, _ := strings.Cut(field, "="); name {
			case "flags", "db", "multi", "cmd", "resp":
				got = append(got, field)
			case "name", "idle", "user":
				if want := map[string]string{"name": "me", "idle": "0", "user": "u"}; value != want[name] {
					t.Error(row.commands, field)
				}
			}
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%q: %s", row.commands, entry)
		}
		c.run("ACL LOG RESET")
	}
}

// TestUsersOfConnections: what a user may do changes at once, and a deleted user's connections end.
func TestUsersOfConnections(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		admin := dial(t, s)
		admin.run("ACL SETUSER u on nopass +@all ~*")
		var users []*client
		for range 8 {
			user := dial(t, s)
			dialogue{{"AUTH u x", "OK"}, {"ACL WHOAMI", `"u"`}, {"CL.THROTTLE a 100 1 1", "[0 *"}}.run(t, user)
			users = append(users, user)
		}
		dialogue{{"ACL SETUSER u -cl.throttle", "OK"}, {"CLIENT LIST", "*user=default*user=u*"}}.run(t, admin)
		for _, user := range users {
			dialogue{{"CL.THROTTLE a 1 1 1", "-NOPERM *"}}.run(t, user)
		}
		dialogue{{"ACL DELUSER u", "1"}, {"PING", "PONG"}}.run(t, admin)
		for _, user := range users {
			user.closed()
		}
		dialogue{{"ACL SETUSER u on nopass +acl", "OK"}, {"AUTH u x", "OK"}, {"ACL DELUSER u", "1"}}.run(t, admin)
		admin.closed()
	})
}

func TestACLFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.acl")
	write := func(content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("user same on nopass +@all\nuser changed on nopass +@all\n")
	s := startServer(t, func(c *Config) { c.ACLFile = path })
	admin, same, changed := dial(t, s), dial(t, s), dial(t, s)
	same.run("AUTH same x")
	changed.run("AUTH changed x")
	write("user same on nopass +@all\nuser changed on nopass +@read\nuser new\n")
	dialogue{
		{"ACL LOAD", "OK"},
		{"ACL LIST", `["user changed on nopass resetchannels -@all +@read" "user default on nopass ~* &* +@all" ` +
			`"user new off resetchannels -@all" "user same on nopass resetchannels +@all"]`},
	}.run(t, admin)
	changed.closed()
	dialogue{{"ACL WHOAMI", `"same"`}}.run(t, same)
	write("user x +foo\nusr\n")
	dialogue{
		{"ACL LOAD", "-ERR " + path + ":1: Error in applying operation '+foo': Unknown command or category name in ACL. " +
			path + ":2 should start with user keyword followed by the username. " +
			"WARNING: ACL errors detected, no change to the previously active ACL rules was performed"},
		{"ACL USERS", `["changed" "default" "new" "same"]`},
		{"ACL SAVE", "OK"},
		{"ACL LOAD", "OK"},
		{"ACL USERS", `["changed" "default" "new" "same"]`},
	}.run(t, admin)
	config := DefaultConfig()
	config.ACLFile = filepath.Join(t.TempDir(), "missing")
	if _, err := New(config); err == nil || !strings.Contains(err.Error(), "Error loading ACLs, opening file '"+config.ACLFile) {
		t.Error(err)
	}
}

func TestACLCommands(t *testing.T) {
	dialogue{
		{"ACL CAT write", `["cl.throttle" *]`},
		{"ACL CAT READ", `["cl.probe" *]`},
		{"ACL CAT hash", "[]"},
		{"ACL HELP", "[ACL <subcommand> *]"},
		{"ACL GENPASS", `"*"`},
		{"ACL GENPASS 5", `"*"`},
		{"ACL SETUSER t on nopass ~t:* +cl.throttle", "OK"},
		{"ACL GETUSER t", `["flags" ["on" "nopass"] "passwords" [] "commands" "-@all +cl.throttle" "keys" "~t:*" "channels" "" "selectors" []]`},
		{"ACL DRYRUN t cl.throttle t:1 1 1 1", "OK"},
		{"ACL DRYRUN t cl.throttle u:1 1 1 1", `"This user has no permissions to access the 'u:1' key"`},
		{"ACL DRYRUN t cl.probe t:1 1 1 1", `"This user has no permissions to run the 'cl.probe' command"`},
		{"ACL SETUSER t -@all +@write", "OK"},
		{"ACL DRYRUN t cl.throttle t:1 1 1 1", "OK"},
		{"ACL SETUSER r on nopass %R~* +@all", "OK"},
		{"ACL DRYRUN r cl.probe k 1 1 1", "OK"},
		{"ACL DRYRUN r cl.throttle k 1 1 1", `"This user has no permissions to access the 'k' key"`},
	}.run(t, dial(t, startServer(t, nil)))
}
