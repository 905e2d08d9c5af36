package acl

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// redisCatalogue has Redis's own commands.
var redisCatalogue = sync.OnceValue(func() *Catalogue {
	var always []Command
	for _, name := range []string{"auth", "hello", "quit", "reset"} {
		always = append(always, Command{Name: name, Categories: []string{"fast", "connection"}, NoAuth: true})
	}
	return NewCatalogue(always)
})

func newStore() *Store { return NewStore(redisCatalogue()) }

const (
	hashOfX     = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	hashOfEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// A rule's words are separated by commas here, since spaces may stand in them. The lines are redis-server 7.0.15's,
// with single commands in the order of their names.
func TestRules(t *testing.T) {
	for _, row := range []struct{ rules, line string }{
		{"", "off resetchannels -@all"},
		{"reset", "off sanitize-payload resetchannels -@all"},
		{"on,nopass", "on nopass resetchannels -@all"},
		{"ON,ALLKEYS,RESETKEYS,+@READ,+GET", "on resetchannels -@all +@read"},
		{"on,~*,&*,+@all", "on ~* &* +@all"},
		{"allkeys,allchannels,allcommands", "off ~* &* +@all"},
		{"allkeys,allchannels,allcommands,resetkeys,resetchannels,nocommands", "off resetchannels -@all"},
		{">,>x,>x,#" + hashOfX, "off #" + hashOfEmpty + " #" + hashOfX + " resetchannels -@all"},
		{">x,>y,<y", "off #" + hashOfX + " resetchannels -@all"},
		{">,>x,!" + hashOfX, "off #" + hashOfEmpty + " resetchannels -@all"},
		{">x,nopass", "off nopass resetchannels -@all"},
		{"nopass,>x", "off #" + hashOfX + " resetchannels -@all"},
		{">x,resetpass", "off resetchannels -@all"},
		{"skip-sanitize-payload", "off skip-sanitize-payload resetchannels -@all"},
		{"nopass,skip-sanitize-payload,sanitize-payload", "off nopass sanitize-payload resetchannels -@all"},
		{"%R~a,%W~b,%RW~c,~d,%wr~e", "off %R~a %W~b ~c ~d ~e resetchannels -@all"},
		{"%r~x,%w~x,%R", "off ~x %R~ resetchannels -@all"},
		{"~,&", "off ~ resetchannels & -@all"},
		{"%R~*,~x", "off %R~* ~x resetchannels -@all"},
		{"%RW~*,~x", "off %RW~* ~x resetchannels -@all"},
		{"&a,&b,&a", "off resetchannels &a &b -@all"},
		{"+@read,-get", "off resetchannels -@all +@read -get"},
		{"+get,-get,+@read,-set", "off resetchannels -@all +@read"},
		{"+@all,-@dangerous,+info,-@all,+get,+@read,-get", "off resetchannels -@all +@read -get"},
		{"+@read,-get,+@dangerous,-config|get,+config", "off resetchannels -@all +@dangerous +@read +config -get"},
		{"+config|get,+acl|whoami,+config|set", "off resetchannels -@all +acl|whoami +config|get +config|set"},
		{"+config,-config|get", "off resetchannels -@all +config -config|get"},
		{"+@all,-config,+config|get", "off resetchannels +@all -config +config|get"},
		{"+get|x,+GET|Y,+get|X", "off resetchannels -@all +get|x +get|Y"},
		{"+get|x,+get,-get", "off resetchannels -@all"},
		{"+@all,+get|x", "off resetchannels +@all"},
		{"+@all,-get,+get|x", "off resetchannels +@all -get +get|x"},
		{"+get|x,+@read,-get", "off resetchannels -@all +@read -get"},
		{"+get,+set,+mget", "off resetchannels -@all +get +mget +set"},
		{"+@string", "off resetchannels -@all +@string"},
		{"+@fast,+@slow", "off resetchannels -@all +@slow +@fast"},
		{"+@connection,+@admin,-config|set", "off resetchannels -@all +@connection +@admin -config|set"},
		{"+@all,-@dangerous,+info", "off resetchannels +@all -@admin -flushall -flushdb -keys -migrate -restore -restore-asking -sort -sort_ro -swapdb"},
		{"(+get,~x)", "off resetchannels -@all (~x resetchannels -@all +get)"},
		{"(,+get,)", "off resetchannels -@all (resetchannels -@all +get)"},
		{"(+set , ~y )", "off resetchannels -@all (~y resetchannels -@all +set)"},
		{"()", "off resetchannels -@all (resetchannels -@all)"},
		{"(+@all ~z &c -get)", "off resetchannels -@all (~z resetchannels &c +@all -get)"},
		{"(+get),(+set),clearselectors,(~x)", "off resetchannels -@all (~x resetchannels -@all)"},
		{"on,>x,~k,+get,(~x),reset", "off sanitize-payload resetchannels -@all"},
		{",on,", "on resetchannels -@all"},
	} {
		s := newStore()
		if err := s.SetUser("u", strings.Split(row.rules, ",")); err != nil {
			t.Errorf("%s: %v", row.rules, err)
			continue
		}
		if got := strings.TrimPrefix(s.List()[1], "user u "); got != row.line {
			t.Errorf("%s\n got %s\nwant %s", row.rules, got, row.line)
		}
	}
}

func TestRuleErrors(t *testing.T) {
	const (
		afterKeys     = "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns"
		afterChannels = "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels"
		unknown       = "Unknown command or category name in ACL"
		badHash       = "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
		noHash        = "The password you are trying to remove from the user does not exist"
	)
	for _, row := range []struct{ rules, rule, reason string }{
		{"foo", "foo", "Syntax error"},
		{"+foo", "+foo", unknown},
		{"-foo", "-foo", unknown},
		{"+@foo", "+@foo", unknown},
		{"+", "+", unknown},
		{"-@", "-@", unknown},
		{"+config|", "+config|", "Syntax error"},
		{"+config|foo", "+config|foo", unknown},
		{"-config|foo", "-config|foo", unknown},
		{"-get|x", "-get|x", unknown},
		{"+foo|", "+foo|", unknown},
		{"+get|x|y", "+get|x|y", unknown},
		{"+config|get|x", "+config|get|x", "Allowing first-arg of a subcommand is not supported"},
		{"+get|a b", "+get|a b", "Syntax error"},
		{"~a b", "~a b", "Syntax error"},
		{"~a\x00b", "~a", "Syntax error"},
		{"&a b", "&a b", "Syntax error"},
		{"%", "%", "Syntax error"},
		{"%~x", "%~x", "Syntax error"},
		{"%RR~x", "%RR~x", "Syntax error"},
		{"%X~x", "%X~x", "Syntax error"},
		{"~*,~x", "~x", afterKeys},
		{"&*,&x", "&x", afterChannels},
		{"#zz", "#zz", badHash},
		{"!zz", "!zz", badHash},
		{"#" + strings.ToUpper(hashOfX), "#" + strings.ToUpper(hashOfX), badHash},
		{"#" + hashOfX + "0", "#" + hashOfX + "0", badHash},
		{"<zz", "<zz", noHash},
		{"!" + hashOfX, "!" + hashOfX, noHash},
		{")", ")", "Syntax error"},
		{"(+set,(~y)", "(+set (~y)", "Syntax error"},
		{"(+foo)", "(+foo)", unknown},
		{"(on)", "(on)", "Syntax error"},
		{"(~x) +get)", "(~x) +get)", "Syntax error"},
		{"(+get)x,y)", "(+get)x y)", unknown},
	} {
		s := newStore()
		err := s.SetUser("u", strings.Split("on,"+row.rules, ","))
		if want := "Error in ACL SETUSER modifier '" + row.rule + "': " + row.reason; err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", row.rules, err, want)
		}
		if s.User("u") != nil {
			t.Errorf("%s: there is a user all the same", row.rules)
		}
	}
	s := newStore()
	if err := s.SetUser("u", []string{"on", "(+get"}); err == nil || err.Error() != "Unmatched parenthesis in acl selector starting at '(+get'." {
		t.Error(err)
	}
	for _, name := range []string{"a b", "a\x00b", "a\nb"} {
		if err := s.SetUser(name, nil); err != ErrUserName {
			t.Errorf("%q: %v", name, err)
		}
	}
	var ruleError *RuleError
	if err := s.SetUser("u", []string{"+foo"}); !errors.As(err, &ruleError) || ruleError.Rule != "+foo" {
		t.Error(err)
	}
}

// randomRule draws a rule, which may be a wrong one.
func randomRule(random *rand.Rand) string {
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	command := func() string {
		return pick("get", "set", "config", "config|get", "config|set", "acl|list", "cl.throttle", "select", "ping", "lpush",
			"object|freq", "client", "client|kill", "script|load", "flushall", "get|x", "get|Y", "select|0", "ping|(")
	}
	permission := func() string {
		return pick("allkeys", "resetkeys", "~*", "allchannels", "&*", "resetchannels", "+@all", "-@all",
			"~"+pick("", "a", "b*", "(x", "%"), "%R~"+pick("a", "*"), "%W~"+pick("a", "*"), "%RW~"+pick("a", "*"),
			"&"+pick("a", "b*", ""), "+"+command(), "-"+command(), "+"+command(), "-"+command(),
			pick("+@", "-@")+Categories[random.IntN(len(Categories))], pick("+@", "-@")+Categories[random.IntN(len(Categories))])
	}
	if random.IntN(10) == 0 {
		var inner []string
		for range random.IntN(5) {
			inner = append(inner, permission())
		}
		return "(" + strings.Join(inner, " ") + ")"
	}
	if random.IntN(3) == 0 {
		return pick("on", "off", "nopass", ">x", ">y", "<x", "resetpass", "sanitize-payload", "skip-sanitize-payload",
			"#"+hashOfX, "!"+hashOfX, "foo", "clearselectors", "reset", "", "(", ")")
	}
	return permission()
}

// TestDescriptionMakesTheSameUser: whatever the rules were, the line that describes a user makes the same one.
func TestDescriptionMakesTheSameUser(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	s := newStore()
	for range 2000 {
		name := fmt.Sprint("u", random.IntN(5))
		rule := randomRule(random)
		_ = s.SetUser(name, []string{rule}) // wrong ones are part of it
		if user := s.User(name); user != nil {
			verifyRoundTrip(t, s, user)
		}
		if t.Failed() {
			t.Fatalf("seed %d, after %s", seed, rule)
		}
	}
}

func verifyRoundTrip(t *testing.T, s *Store, user *User) {
	t.Helper()
	line := s.line(user)
	again := newStore()
	words := strings.Split(line, " ")
	if err := again.SetUser("copy", words[2:]); err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	if !again.User("copy").current.Load().equal(user.current.Load()) {
		t.Errorf("%s\nmakes another user: %s", line, again.line(again.User("copy")))
	}
}

// FuzzRules: no rules make a user that can't be described and made again.
func FuzzRules(f *testing.F) {
	f.Add("on >x ~a %R~* +@read -get (+set ~x)", "&* +get|x")
	f.Add("(~x) +get)", "~(a +config|get")
	f.Fuzz(func(t *testing.T, first, second string) {
		s := newStore()
		for _, rules := range []string{first, second} {
			_ = s.SetUser("u", strings.Split(rules, " "))
			_ = s.SetUser("u", []string{rules})
		}
		if user := s.User("u"); user != nil {
			verifyRoundTrip(t, s, user)
		}
	})
}
