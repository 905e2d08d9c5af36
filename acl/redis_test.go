package acl

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cellserver/cellserver/internal/realredis"
)

// redis is a connection to a redis-server that lives as long as the test.
type redis struct {
	t testing.TB
	net.Conn
	in *bufio.Reader
}

func startRedis(t testing.TB) *redis {
	t.Helper()
	nc, err := net.Dial("tcp", realredis.Start(t).Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return &redis{t, nc, bufio.NewReader(nc)}
}

// do sends a command and returns the reply's strings, one per line.
func (r *redis) do(words ...string) string {
	r.t.Helper()
	fmt.Fprintf(r, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(r, "$%d\r\n%s\r\n", len(word), word)
	}
	var texts []string
	for left := 1; left > 0; left-- {
		line, err := r.in.ReadString('\n')
		if err != nil {
			r.t.Fatal(err)
		}
		text := strings.TrimSuffix(line[1:], "\r\n")
		n, _ := strconv.Atoi(text) // a length, where it is to be one
		switch {
		case line[0] == '*':
			left += n
			continue
		case line[0] == '$' && n >= 0:
			bulk := make([]byte, n+2)
			if _, err := io.ReadFull(r.in, bulk); err != nil {
				r.t.Fatal(err)
			}
			text = string(bulk[:n])
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n")
}

// inOrder sorts the words of a line, since Redis lists single commands in random order.
func inOrder(line string) string {
	words := strings.Split(strings.ReplaceAll(strings.ReplaceAll(line, "(", "( "), ")", " )"), " ")
	slices.Sort(words)
	return strings.Join(words, " ")
}

// opensTwice says whether a selector is opened within another. Redis 7.0 forgets what the outer one had before that, and says OK;
// later versions, and ours, take the second parenthesis for a rule, and refuse it.
func opensTwice(words []string) bool {
	open := false
	for _, word := range words {
		opens, closes := strings.HasPrefix(word, "("), strings.HasSuffix(word, ")")
		if open && opens && !closes {
			return true
		}
		open = !closes && (open || opens)
	}
	return false
}

// TestRedisAgreesOnRandomRules: the same rules make the same users, described alike, and get the same errors.
func TestRedisAgreesOnRandomRules(t *testing.T) {
	theirs := startRedis(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	ours := newStore()
	rounds := 500
	if os.Getenv("CELLSERVER_HEAVY") == "1" {
		rounds = 5000
	}
	for range rounds {
		name := fmt.Sprint("u", random.IntN(4))
		words := []string{randomRule(random)}
		for random.IntN(3) == 0 {
			words = append(words, randomRule(random))
		}
		if opensTwice(words) {
			continue
		}
		got := "OK"
		if err := ours.SetUser(name, words); err != nil {
			got = "ERR " + err.Error()
		}
		if want := theirs.do(append([]string{"ACL", "SETUSER", name}, words...)...); got != want {
			t.Fatalf("seed %d: %q\n got %s\nwant %s", seed, words, got, want)
		}
		told := strings.Split(theirs.do("ACL", "LIST"), "\n")
		for i, line := range ours.List() {
			line = strings.ReplaceAll(line, "%RW~*", "~*") // see keyPattern.String
			if i >= len(told) || inOrder(line) != inOrder(told[i]) {
				t.Fatalf("seed %d, after %q\n got %s\nwant %s", seed, words, line, told)
			}
		}
	}
}

// TestRedisAgreesOnChecks: users made by random rules may do the same.
func TestRedisAgreesOnChecks(t *testing.T) {
	theirs := startRedis(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	ours := newStore()
	if err := ours.SetUser("u", nil); err != nil || theirs.do("ACL", "SETUSER", "u") != "OK" {
		t.Fatal(err)
	}
	requests := []struct{ request, command string }{
		{"get r:a", "get a"}, {"get=x r:x", "get x"}, {"set w:a", "set a 1"}, {"set rw:b1", "set b1 1 get"}, {"mget r:a r:b2", "mget a b2"},
		{"mset w:a w:c", "mset a 1 c 1"}, {"exists :b", "exists b"}, {"del w:b", "del b"}, {"config|get", "config get x"},
		{"config|set", "config set x y"}, {"select=0", "select 0"}, {"select=1", "select 1"}, {"ping", "ping"}, {"auth=x", "auth x"},
		{"acl|list", "acl list"}, {"flushall", "flushall"}, {"lpush=b w:b", "lpush b 1"}, {"publish &a", "publish a 1"},
		{"publish &b7", "publish b7 1"}, {"subscribe &a &b", "subscribe a b"}, {"psubscribe &&b*", "psubscribe b*"},
		{"psubscribe &&a*", "psubscribe a*"}, {"client|kill", "client kill x"}, {"script|load", "script load x"},
	}
	for range 200 {
		for range 5 {
			rule := randomRule(random)
			err := ours.SetUser("u", []string{rule})
			if answer := theirs.do("ACL", "SETUSER", "u", rule); (err == nil) != (answer == "OK") {
				t.Fatalf("seed %d: %s: %v, %s", seed, rule, err, answer)
			}
		}
		for _, each := range requests {
			got := "OK"
			if denial := ours.Check(ours.User("u"), request(t, ours, each.request)); denial != nil {
				got = denial.Explanation()
			}
			if want := theirs.do(append([]string{"ACL", "DRYRUN", "u"}, strings.Fields(each.command)...)...); got != want {
				t.Fatalf("seed %d: %s\n%s\n got %s\nwant %s", seed, ours.List(), each.command, got, want)
			}
		}
	}
}
