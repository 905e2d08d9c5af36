package acl

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.acl")
	s := newStore()
	for name, rules := range map[string]string{"": "off", "alice": "on >x ~* +@all", "bob": "on nopass ~k* +get (+set ~x)"} {
		if err := s.SetUser(name, strings.Fields(rules)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Save(path); err != nil {
		t.Fatal(err)
	}
	saved, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "user  off resetchannels -@all\n" +
		"user alice on #" + hashOfX + " ~* resetchannels +@all\n" +
		"user bob on nopass ~k* resetchannels -@all +get (~x resetchannels -@all +set)\n" +
		"user default on nopass ~* &* +@all\n"
	if string(saved) != want {
		t.Errorf("saved\n%s", saved)
	}
	again := newStore()
	if replaced, err := again.Load(path); err != nil || len(replaced) != 0 {
		t.Fatal(replaced, err)
	}
	if !slices.Equal(again.List(), s.List()) {
		t.Errorf("loaded %q", again.List())
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("files: %q", left)
	}
}

// TestLoadReplaces: unchanged users keep their connections, the others' end.
func TestLoadReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.acl")
	s := newStore()
	for _, name := range []string{"same", "changed", "gone"} {
		if err := s.SetUser(name, []string{"on", "nopass", "+@all"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetUser("default", []string{"-get"}); err != nil {
		t.Fatal(err)
	}
	before := map[string]*User{}
	for _, name := range s.Names() {
		before[name] = s.User(name)
	}
	write(t, path, "\n user same on nopass +@all \r\n\nuser changed on nopass +get")
	replaced, err := s.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, user := range replaced {
		names = append(names, user.Name())
		if user.Unrestricted() || s.Check(user, request(t, s, "ping")) == nil {
			t.Errorf("%s may do something", user.Name())
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"changed", "gone"}) {
		t.Errorf("replaced %v", names)
	}
	if s.User("same") != before["same"] || s.User("changed") == before["changed"] || s.Default() != before["default"] {
		t.Error("the wrong ones are new")
	}
	if !s.Default().Unrestricted() {
		t.Error("the default user is not as it was in the beginning")
	}
}

// The text is redis-server 7.0.15's, except where that crashes: on a line without a name, and on an open parenthesis.
func TestLoadFaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.acl")
	s := newStore()
	write(t, path, `user x on +foo bar
usr x
user y bar +foo
user y on
user z <x +foo
user w (+foo) baz

user v	on
user t ~* ~x
user s &* &y
user r #x
user q +config|get|x
user p (+get ~x
user
# no comments
`)
	want := strings.ReplaceAll("F:1: Error in applying operation '+foo': Unknown command or category name in ACL. "+
		"F:1: Syntax error. "+
		"F:2 should start with user keyword followed by the username. "+
		"F:3: Syntax error. "+
		"F:3: Error in applying operation '+foo': Unknown command or category name in ACL. "+
		"WARNING: Duplicate user 'y' found on line 4. "+
		"F:5: The password you are trying to remove from the user does not exist. "+
		"F:5: Error in applying operation '+foo': Unknown command or category name in ACL. "+
		"F:6: Error in applying operation '(+foo)': Unknown command or category name in ACL. "+
		"F:6: Syntax error. "+
		"'F:8: username 'v	on' contains invalid characters. "+
		"F:9: Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns. "+
		"F:10: Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels. "+
		"F:11: The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters. "+
		"F:12: Allowing first-arg of a subcommand is not supported. "+
		"F:13: Unmatched parenthesis in selector definition. "+
		"F:14 should start with user keyword followed by the username. "+
		"F:15 should start with user keyword followed by the username. "+
		"WARNING: ACL errors detected, no change to the previously active ACL rules was performed", "F:", path+":")
	if _, err := s.Load(path); err == nil || err.Error() != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
	if got := s.Names(); !slices.Equal(got, []string{"default"}) {
		t.Errorf("users %v", got)
	}
}

func TestFileErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing", "users.acl")
	s := newStore()
	if _, err := s.Load(missing); err == nil || !strings.HasPrefix(err.Error(), "Error loading ACLs, opening file '"+missing+"': ") {
		t.Error(err)
	}
	if err := s.Save(missing); err == nil {
		t.Error("saved to a folder that does not exist")
	}
}
