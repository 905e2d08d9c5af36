package acl

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAuthenticate(t *testing.T) {
	s := newStore()
	for name, rules := range map[string]string{
		"one": "on >x", "two": "on >x >y", "off": "off >x", "any": "on nopass", "anyoff": "off nopass", "none": "on", "gone": "on >x <x",
	} {
		if err := s.SetUser(name, strings.Fields(rules)); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name, password string
		want           bool
	}{
		{"one", "x", true}, {"one", "y", false}, {"one", "", false}, {"one", hashOfX, false},
		{"two", "x", true}, {"two", "y", true}, {"two", "xy", false},
		{"off", "x", false}, {"any", "", true}, {"any", "what", true}, {"anyoff", "what", false},
		{"none", "", false}, {"gone", "x", false}, {"nobody", "x", false}, {"default", "x", true},
	} {
		user, err := s.Authenticate(row.name, []byte(row.password))
		if (err == nil) != row.want || (user != nil) != row.want || err != nil && err != ErrWrongPassword {
			t.Errorf("%s %q: %v", row.name, row.password, err)
		}
	}
}

func TestDefaultPassword(t *testing.T) {
	s := newStore()
	if !s.Default().NeedsNoPassword() {
		t.Error("a new server asks for a password")
	}
	s.SetDefaultPassword("old")
	s.SetDefaultPassword("x")
	if got := s.List()[0]; got != "user default on #"+hashOfX+" ~* &* +@all" {
		t.Error(got)
	}
	if s.Default().NeedsNoPassword() || s.Default().HasNoPassword() {
		t.Error("no password is asked for")
	}
	s.SetDefaultPassword("")
	if got := s.List()[0]; got != "user default on nopass ~* &* +@all" {
		t.Error(got)
	}
	if err := s.SetUser("default", []string{"off"}); err != nil || s.Default().NeedsNoPassword() || !s.Default().HasNoPassword() {
		t.Error("a user who is off is let in")
	}
}

// TestChangesReachConnections: a connection holds its user, and each change is there at once.
func TestChangesReachConnections(t *testing.T) {
	s := newStore()
	set := func(rules ...string) {
		if err := s.SetUser("u", rules); err != nil {
			t.Fatal(err)
		}
	}
	may := func(u *User) bool { return s.Check(u, request(t, s, "get r:x")) == nil }
	set("on", "nopass", "+@all", "~*")
	held := s.User("u")
	if !may(held) {
		t.Error("denied")
	}
	set("-get")
	if may(held) {
		t.Error("allowed after -get")
	}
	set("+get")
	deleted, err := s.Delete([]string{"nobody", "u", "u"})
	if err != nil || len(deleted) != 1 || deleted[0] != held {
		t.Fatal(deleted, err)
	}
	if may(held) {
		t.Error("a deleted user may do something")
	}
	set("on", "nopass", "+@all", "~*")
	if may(held) {
		t.Error("a deleted user lives again in one of the same name")
	}
	if _, err := s.Delete([]string{"u", "default"}); err != ErrDefaultUser || s.User("u") == nil {
		t.Error(err)
	}
	if got := s.Names(); !slices.Equal(got, []string{"default", "u"}) {
		t.Error(got)
	}
}

func TestDefine(t *testing.T) {
	s := newStore()
	for _, row := range []struct{ name, rules, fault string }{
		{"x", "on", ""},
		{"x", "on >p", "Duplicate user found. A user can only be defined once in config files"},
		{"y", "on +foo", "Error in ACL SETUSER modifier '+foo': Unknown command or category name in ACL"},
		{"y", "(+get", "Unmatched parenthesis in acl selector starting at '(+get'."},
		{"y", "on", ""},
		{"default", "on nopass +@all ~*", ""},
		{"a b", "on", ErrUserName.Error()},
	} {
		fault := ""
		if err := s.Define(row.name, strings.Fields(row.rules)); err != nil {
			fault = err.Error()
		}
		if fault != row.fault {
			t.Errorf("%s %s: %s", row.name, row.rules, fault)
		}
	}
	if got := s.List()[0]; got != "user default on nopass sanitize-payload ~* resetchannels +@all" {
		t.Error(got)
	}
}

func TestChannelsByDefault(t *testing.T) {
	s := newStore()
	s.SetChannelsByDefault(true)
	for _, row := range []struct{ rules, line string }{
		{"", "off &* -@all"},
		{"reset", "off sanitize-payload &* -@all"},
		{"resetchannels (+get)", "off resetchannels -@all (&* -@all +get)"},
	} {
		if _, err := s.Delete([]string{"u"}); err != nil {
			t.Fatal(err)
		}
		if err := s.SetUser("u", strings.Fields(row.rules)); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimPrefix(s.List()[1], "user u "); got != row.line {
			t.Errorf("%s: %s", row.rules, got)
		}
	}
}

func TestDescribe(t *testing.T) {
	s := newStore()
	if err := s.SetUser("u", strings.Fields("on >x ~a %R~b &c +get (+set ~d)")); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%+v", s.Describe(s.User("u")))
	want := "{Flags:[on] Passwords:[" + hashOfX + "] Permissions:{Commands:-@all +get Keys:~a %R~b Channels:&c}" +
		" Selectors:[{Commands:-@all +set Keys:~d Channels:}]}"
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestGeneratePassword(t *testing.T) {
	for bits, digits := range map[int]int{1: 1, 4: 1, 5: 2, 256: 64, 4095: 1024, 4096: 1024} {
		if got := GeneratePassword(bits); len(got) != digits || strings.Trim(got, "0123456789abcdef") != "" {
			t.Errorf("%d bits: %s", bits, got)
		}
	}
	if first, second := GeneratePassword(256), GeneratePassword(256); first == second {
		t.Error("the same twice")
	}
}

func TestCatalogue(t *testing.T) {
	c := NewCatalogue([]Command{
		{Name: "cl.throttle", Categories: []string{"write", "fast"}},
		{Name: "config", Categories: []string{"slow"}},
		{Name: "config|get", Categories: []string{"admin", "slow"}},
		{Name: "config|own", Categories: []string{"slow"}},
	})
	for category, want := range map[string]string{"slow": "config config|get config|own", "WRITE": "cl.throttle", "geo": ""} {
		if names, known := c.In(category); !known || strings.Join(names, " ") != want {
			t.Errorf("%s: %v", category, names)
		}
	}
	if _, known := c.In("foo"); known {
		t.Error("there is a category foo")
	}
	for _, name := range []string{"GET", "Config|Get", "config|own", "lpush", "config|set"} {
		if id, known := c.ID(name); !known || c.Name(id) != strings.ToLower(name) {
			t.Error(name)
		}
	}
	if _, known := c.ID("foo"); known {
		t.Error("there is a command foo")
	}
}

// TestLog: equal denials within a minute are one entry, if it is among the latest ten.
func TestLog(t *testing.T) {
	log := &newStore().Log
	log.SetLength(20)
	add := func(object string, at time.Duration) {
		log.Add(LogEntry{Reason: DeniedKey, Object: object, Username: "u", ClientInfo: fmt.Sprint(at), LastNanos: int64(at)})
	}
	show := func(n int) string {
		var shown []string
		for _, each := range log.Latest(n) {
			shown = append(shown, fmt.Sprintf("%s*%d@%s", each.Object, each.Count, each.ClientInfo))
		}
		return strings.Join(shown, " ")
	}
	verify := func(n int, want string) {
		t.Helper()
		if got := show(n); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
	add("a", 0)
	add("b", 1)
	add("a", 2)
	verify(9, "a*2@2ns b*1@1ns")
	verify(1, "a*2@2ns")
	verify(0, "")
	add("a", 2+time.Minute)
	add("a", 3+2*time.Minute)
	verify(9, "a*1@2m0.000000003s a*3@1m0.000000002s b*1@1ns")
	log.Reset()
	verify(9, "")
	for i := range 11 {
		add(fmt.Sprint(i), 0)
	}
	add("1", 1) // the tenth
	add("0", 1) // the eleventh
	verify(2, "0*1@1ns 1*2@1ns")
	log.SetLength(2)
	verify(20, "0*1@1ns 1*2@1ns 10*1@0s 9*1@0s 8*1@0s 7*1@0s 6*1@0s 5*1@0s 4*1@0s 3*1@0s 2*1@0s 0*1@0s")
	add("x", 2)
	verify(20, "x*1@2ns 0*1@1ns")
	log.SetLength(0)
	add("y", 3)
	verify(20, "")

	for _, different := range []LogEntry{
		{Reason: DeniedKey}, {Reason: DeniedCommand}, {Context: InTransaction}, {Context: InScript}, {Object: "o"}, {Username: "u"},
	} {
		log.SetLength(20)
		log.Add(different)
	}
	if got := len(log.Latest(20)); got != 6 {
		t.Errorf("%d entries", got)
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	s := newStore()
	get := request(t, s, "get r:x")
	var working sync.WaitGroup
	for i := range 4 {
		working.Go(func() {
			name := fmt.Sprint("u", i%2)
			for range 200 {
				if err := s.SetUser(name, []string{"on", ">x", "+@all", "~*", "-get"}); err != nil {
					t.Error(err)
				}
				if user, err := s.Authenticate(name, []byte("x")); err == nil {
					_ = s.Check(user, get) // may be deleted meanwhile
				}
				s.Log.Add(LogEntry{Object: name})
				_ = s.List()
				if _, err := s.Delete([]string{name}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	working.Wait()
}
