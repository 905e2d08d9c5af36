package resp

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/redcon"
)

// These tests compare with a real Redis (7.0.15 is known to agree). Without one
// they are skipped, but not where CELLSERVER_REQUIRE_TOOLS=1.

const redisServer = "/usr/bin/redis-server"

// startRedis returns the address of a Redis that lives as long as the test.
func startRedis(t *testing.T, options ...string) string {
	t.Helper()
	if _, err := os.Stat(redisServer); err != nil {
		if os.Getenv("CELLSERVER_REQUIRE_TOOLS") == "1" {
			t.Fatal(err)
		}
		t.Skip("no Redis to compare with: ", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	_, port, _ := net.SplitHostPort(address)
	arguments := append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir()}, options...)
	command := exec.Command(redisServer, arguments...)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
	})
	for range 500 {
		if connection, err := net.Dial("tcp", address); err == nil {
			connection.Close()
			return address
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("Redis does not start")
	return ""
}

// redisReplies sends all of input, says that no more will come, and returns
// all that Redis answers before it closes.
func redisReplies(t *testing.T, address, input string) string {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := connection.Write([]byte(input)); err != nil {
		t.Fatal(err)
	}
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil && !errors.Is(err, net.ErrClosed) {
		return "" // closed by Redis already
	}
	replies, err := io.ReadAll(connection)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatal(err)
	}
	return string(replies)
}

// compare checks that Redis answers a stream as the Parser understands it: a
// reply for each command, then the same protocol error. It drops the replies
// it owes to one that speaks HTTP.
func compare(t *testing.T, address string, limits Limits, input string) {
	t.Helper()
	c := parse(t, limits, input)
	replies := redisReplies(t, address, input)
	var texts []string
	for rest := []byte(replies); len(rest) > 0; {
		n, reply := redcon.ReadNextRESP(rest)
		if n == 0 {
			t.Fatalf("%.200q: %q is no reply", input, rest)
		}
		texts = append(texts, string(reply.Data))
		rest = rest[n:]
	}
	if c.err == ErrCrossProtocol {
		if len(texts) > 0 {
			t.Errorf("%.200q: Redis answers %q", input, replies)
		}
		return
	}
	if c.err != nil {
		if len(texts) == 0 || texts[len(texts)-1] != c.err.Error() {
			t.Errorf("%.200q: Redis answers %q, not %v", input, replies, c.err)
			return
		}
		texts = texts[:len(texts)-1]
	}
	if len(texts) != len(c.commands) || strings.Contains(strings.Join(texts, ""), "Protocol error") {
		t.Errorf("%.200q: Redis answers %.400q, we found %d commands and %v", input, replies, len(c.commands), c.err)
	}
}

func TestRedisAgreesOnStreams(t *testing.T) {
	open, locked := startRedis(t), startRedis(t, "--requirepass", "secret")
	redisLimits := DefaultLimits()
	redisLimits.MaxArgs = 1<<31 - 1
	redisUnauthenticated := redisLimits
	redisUnauthenticated.Unauthenticated = true
	for _, list := range [][]stream{streams, longStreams} {
		for _, s := range list {
			switch {
			case strings.Contains(s.input, "\x00") && s.input[0] != '*':
				// a zero byte ends a line for Redis, and then there is no \n
			case s.limits == DefaultLimits():
				compare(t, open, redisLimits, s.input)
			case s.limits.Unauthenticated:
				compare(t, locked, redisUnauthenticated, s.input)
			}
		}
	}
}

func TestRedisAgreesOnRandomStreams(t *testing.T) {
	fragments := []string{"*1\r\n", "*2\r\n", "*11\r\n", "*0\r\n", "*-1\r\n", "*\r\n", "*1", "$4\r\n", "$4", "$0\r\n", "$-1\r\n",
		"$16385\r\n", "$536870913\r\n", "PING\r\n", "PING\n", "PING", "\r\n", "\n", "\r", " ", "x", "\"", "'", "+\r\n", "1", "\\"}
	random := rand.New(rand.NewPCG(11, 0))
	open, locked := startRedis(t), startRedis(t, "--requirepass", "secret")
	for range 1000 {
		var input strings.Builder
		for range 1 + random.IntN(8) {
			if random.IntN(3) == 0 {
				input.WriteString("*1\r\n$4\r\nPING\r\n")
				continue
			}
			input.WriteString(fragments[random.IntN(len(fragments))])
		}
		compare(t, open, DefaultLimits(), input.String())
		compare(t, locked, UnauthenticatedLimits(), input.String())
	}
}

// Redis returns the words of a line as the arguments of a script.
func TestRedisAgreesOnWords(t *testing.T) {
	address := startRedis(t)
	random := rand.New(rand.NewPCG(13, 0))
	const alphabet = "  \t\r\v\fab1x\"\"''\\\\n"
	for range 2000 {
		line := make([]byte, random.IntN(16))
		for i := range line {
			line[i] = alphabet[random.IntN(len(alphabet))]
		}
		text := string(line)
		got := redisReplies(t, address, `EVAL "return ARGV" 0 `+text+"\n")
		var w Writer
		words, err := SplitArgs(line, nil)
		if err != nil {
			w.Error(errUnbalancedQuotes.Error())
		} else {
			w.Array(len(words))
			for _, word := range words {
				w.Bulk(word)
			}
		}
		if got != string(w.Buf) {
			t.Errorf("%q: Redis has %q, we have %q", text, got, w.Buf)
		}
	}
}

func TestRedisErrorTexts(t *testing.T) {
	address := startRedis(t, "--enable-debug-command", "yes")
	check := func(text string, args ...string) {
		t.Helper()
		var command, reply Writer
		command.Array(len(args))
		for _, arg := range args {
			command.BulkString(arg)
		}
		reply.Error(text)
		if got := redisReplies(t, address, string(command.Buf)); got != string(reply.Buf) {
			t.Errorf("%q: Redis answers %q, we %q", args, got, reply.Buf)
		}
	}
	for _, test := range unknownCommands {
		check(UnknownCommand(bytesOf(test.args...)), test.args...)
	}
	for _, sub := range []string{"FOO", "", "a\r\nb", "a\x00b", repeated(128), repeated(129)} {
		check(UnknownSubcommand("client", []byte(sub)), "Client", sub)
		check(UnknownSubcommandOrArity("debug", []byte(sub)), "debug", sub)
	}
	check(WrongArity("get"), "GET")
	check(WrongArity("client|getname"), "CLIENT", "getname", "x")
	check(ErrTextSyntax, "set", "a", "b", "c")
	check(ErrTextNotAnInteger, "expire", "a", "1.0")
	for _, text := range []string{"0", "12", "-12", "+5", "007", "-0", " 1", "1 ", "", "-", "9223372036854775808"} {
		if _, ok := ParseRedisInt([]byte(text)); !ok {
			check(ErrTextNotAnInteger, "expire", "missing", text)
		} else if got := redisReplies(t, address, "EXPIRE missing "+text+"\r\n"); got != ":0\r\n" {
			t.Errorf("Redis takes %q for no integer: %q", text, got)
		}
	}
}
