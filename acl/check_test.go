package acl

import (
	"strings"
	"testing"
)

// request reads "get r:a rw:b &c &&d*": a command, its keys with the access to each, channels and, with &&, patterns.
func request(t *testing.T, s *Store, text string) *Request {
	t.Helper()
	words := strings.Fields(text)
	name, argument, hasArgument := strings.Cut(words[0], "=")
	id, known := s.Catalogue().ID(name)
	if !known {
		t.Fatalf("no command %s", name)
	}
	r := &Request{Command: id}
	if hasArgument {
		r.FirstArgument = []byte(argument)
	}
	for _, word := range words[1:] {
		if channel, isChannel := strings.CutPrefix(word, "&"); isChannel {
			pattern, isPattern := strings.CutPrefix(channel, "&")
			r.Channels = append(r.Channels, Channel{Name: []byte(pattern), IsPattern: isPattern})
			continue
		}
		access, key, _ := strings.Cut(word, ":")
		r.Keys = append(r.Keys, Key{Name: []byte(key), Access: map[string]Access{"": 0, "r": Read, "w": Write, "rw": Read | Write}[access]})
	}
	return r
}

// The answers are redis-server 7.0.15's to ACL DRYRUN.
func TestCheck(t *testing.T) {
	const (
		all      = "+@all -set ~k* &c*"
		several  = "+@read %R~r* %W~w* (+set ~s*) (+set +get %W~w*)"
		selected = "+select|0 +config|get +publish (+@all ~q &q)"
	)
	for _, row := range []struct{ rules, request, denied string }{
		{all, "get r:k1", ""},
		{all, "get r:x", "access the 'x' key"},
		{all, "set w:k1", "run the 'set' command"},
		{all, "publish &c1", ""},
		{all, "publish &d1", "access the 'd1' channel"},
		{all, "psubscribe &&c*", ""},
		{all, "psubscribe &&c1", "access the 'c1' channel"},
		{all, "subscribe &c1 &c2 &x", "access the 'x' channel"},
		{several, "get r:r1", ""},
		{several, "get r:w1", "access the 'w1' key"},
		{several, "exists :w1", ""},
		{several, "mget r:r1 r:r2 r:x1", "access the 'x1' key"},
		{several, "set w:s1", ""},
		{several, "set w:w1", ""},
		{several, "set rw:w1", "access the 'w1' key"},
		{several, "set w:x1", "access the 'x1' key"},
		{several, "del w:x1", "run the 'del' command"},
		{selected, "config|get", ""},
		{selected, "mset w:q w:q w:z", "access the 'z' key"},
		{selected, "publish &a", "access the 'a' channel"},
		{selected, "publish &q", ""},
		{"+select|0", "select=0", ""},
		{"+select|0", "select=1", "run the 'select' command"},
		{"+select|0", "select", "run the 'select' command"},
		{"+client|KILL", "client|kill", ""},
		{"+client|KILL", "client|list", "run the 'client|list' command"},
		{"+ping|AbC", "ping=aBc", ""},
		{"", "ping", "run the 'ping' command"},
		{"", "auth", ""},
		{"-@all", "hello", ""},
		{"+@all", "get r:x", "access the 'x' key"},
		{"+@all ~*", "get r:x", ""},
		{"+@all ~* &*", "set rw:x &y", ""},
	} {
		s := newStore()
		if err := s.SetUser("u", strings.Fields(row.rules)); err != nil {
			t.Errorf("%s: %v", row.rules, err)
			continue
		}
		explanation := ""
		if denial := s.Check(s.User("u"), request(t, s, row.request)); denial != nil {
			explanation = strings.TrimPrefix(denial.Explanation(), "This user has no permissions to ")
		}
		if explanation != row.denied {
			t.Errorf("%s: %s\n got %q\nwant %q", row.rules, row.request, explanation, row.denied)
		}
	}
}

func TestDenials(t *testing.T) {
	for _, row := range []struct {
		reason                        Reason
		name, reply, atExec, inScript string
	}{
		{DeniedCommand, "command", "NOPERM this user has no permissions to run the 'x' command",
			"no permission to execute the command or subcommand", "can't run this command or subcommand"},
		{DeniedKey, "key", "NOPERM this user has no permissions to access one of the keys used as arguments",
			"no permission to touch the specified keys", "can't access at least one of the keys mentioned in the command arguments"},
		{DeniedChannel, "channel", "NOPERM this user has no permissions to access one of the channels used as arguments",
			"no permission to access one of the channels used as arguments", "can't publish to the channel mentioned in the command"},
	} {
		d := &Denial{row.reason, "x"}
		if d.Error() != row.reply || d.Reason.String() != row.name || d.ReasonAtExec() != row.atExec || d.ReasonInScript() != row.inScript {
			t.Errorf("%+v: %v, %s, %s", d, d, d.ReasonAtExec(), d.ReasonInScript())
		}
	}
}

func TestUnrestricted(t *testing.T) {
	for _, row := range []struct {
		rules string
		want  bool
	}{
		{"+@all ~* &*", true},
		{"off +@all ~* &*", true},
		{"+@all -get +get ~* &*", true},
		{"+@all -get ~* &*", false},
		{"+@all -config|get ~* &*", false},
		{"+@all ~*", false},
		{"+@all &*", false},
		{"(+@all ~* &*)", false},
		{"", false},
	} {
		s := newStore()
		if err := s.SetUser("u", strings.Fields(row.rules)); err != nil {
			t.Fatal(err)
		}
		if got := s.User("u").Unrestricted(); got != row.want {
			t.Errorf("%s: %v", row.rules, got)
		}
	}
	if !newStore().Default().Unrestricted() {
		t.Error("the default user is not")
	}
}

func TestMayReceive(t *testing.T) {
	s := newStore()
	if err := s.SetUser("u", []string{"&a*", "(&b)"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a1": true, "b": true, "b1": false} {
		if s.User("u").MayReceive(Channel{Name: []byte(name)}) != want {
			t.Error(name)
		}
	}
}
