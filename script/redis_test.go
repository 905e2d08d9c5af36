package script

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cellserver/cellserver/internal/realredis"
	"github.com/cellserver/cellserver/resp"
)

// connect opens a connection to a Redis.
func connect(t testing.TB, server *realredis.Server, version int) *redisConn {
	t.Helper()
	nc, err := net.Dial("tcp", server.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	c := &redisConn{t: t, nc: nc, in: bufio.NewReader(nc)}
	if version == 3 {
		c.do("HELLO", "3")
	}
	return c
}

type redisConn struct {
	t  testing.TB
	nc net.Conn
	in *bufio.Reader
}

// do sends a command and returns the bytes of its reply.
func (c *redisConn) do(words ...string) []byte {
	c.t.Helper()
	w := resp.Writer{}
	w.Array(len(words))
	for _, word := range words {
		w.BulkString(word)
	}
	if _, err := c.nc.Write(w.Buf); err != nil {
		c.t.Fatal(err)
	}
	reply, err := c.read(nil)
	if err != nil {
		c.t.Fatalf("%v after %q", err, words)
	}
	return reply
}

// fill makes the keys that the scripts read.
func (c *redisConn) fill() {
	c.do("FLUSHALL")
	c.do("HSET", "h", "a", "1")
	c.do("ZADD", "z", "1.5", "m")
	c.do("SADD", "s", "m")
	c.do("SET", "n", "1")
}

// read appends one reply to b.
func (c *redisConn) read(b []byte) ([]byte, error) {
	line, err := c.in.ReadBytes('\n')
	b = append(b, line...)
	if err != nil {
		return b, err
	}
	n, _ := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	switch line[0] {
	case '$', '=':
		if n < 0 {
			return b, nil
		}
		text := make([]byte, n+2)
		_, err = io.ReadFull(c.in, text)
		return append(b, text...), err
	case '%':
		n *= 2
		fallthrough
	case '*', '~', '>':
		for range n {
			if b, err = c.read(b); err != nil {
				return b, err
			}
		}
	}
	return b, nil
}

// proxyHost lets Redis run the commands, as commands of a script.
type proxyHost struct {
	resp2, resp3 *redisConn
}

func (h proxyHost) Call(words [][]byte, version int) []byte {
	c, prologue := h.resp2, ""
	if version == 3 {
		c, prologue = h.resp3, "redis.setresp(3) "
	}
	command := []string{"EVAL", prologue + "return redis.pcall(unpack(ARGV))", "0"}
	for _, word := range words {
		command = append(command, string(word))
	}
	return c.do(command...)
}

func (h proxyHost) CheckACL(words [][]byte) (allowed, known bool) {
	known = string(words[0]) != "nosuch"
	return known, known
}

func (h proxyHost) Log(int, string) {}

// differences are the beginnings of scripts whose replies differ, each with the reason.
var differences = map[string]string{
	"local t={} for k,v in pairs(_G) do":            "Redis shows its __redis__err__handler",
	"return string.dump(function() end)":            "the machine's code is not Lua's",
	"return tostring(5%0)":                          "the sign of what is no number",
	"return {next({},1)}":                           "next does not know whether a key was once there",
	"return next({},'x')":                           "next does not know whether a key was once there",
	"return {cjson.encode_sparse_array()}":          "in Redis, cjson's options outlive the script",
	"return cjson.encode({a=1,[2]=3})":              "the order of fields",
	"return tostring(select(2,load(":                "Redis's Lua shows what the reader returned instead of an error",
	`loadstring("`:                                  "the source of a loaded chunk",
	"return loadstring(\"error('x')\")()":           "the source of a loaded chunk",
	"return select(2,loadstring(":                   "the text of a syntax error",
	";":                                             "an empty statement is no syntax error here",
	"#!lua flags=no-writes\nreturn redis.call('set": "the server refuses writes, and the test's host knows no flags",
	"local t={1} local u=t for i=1,7990":            "how deep a reply may nest",
}

// namedOperand is how Lua names what was wrong: we give its type alone. compiling is the text of a syntax error, of which the
// line must be the same.
var (
	namedOperand = regexp.MustCompile(`(local|global|field|method|upvalue) '[^']*' \((a \w+ value)\)`)
	compiling    = regexp.MustCompile(`(Error compiling script \(new function\): user_script:\d+:).*`)
	lengthOfBulk = regexp.MustCompile(`(?m)^\$\d+\r$`)
)

func normalized(reply []byte) string {
	reply = compiling.ReplaceAll(reply, []byte("$1"))
	if named := namedOperand.ReplaceAll(reply, []byte("$2")); !bytes.Equal(named, reply) {
		reply = lengthOfBulk.ReplaceAll(named, []byte("$$"))
	} else if bytes.Contains(reply, []byte("attempt to ")) {
		reply = lengthOfBulk.ReplaceAll(reply, []byte("$$"))
	}
	return string(reply)
}

func differs(body string) bool {
	for beginning := range differences {
		if strings.HasPrefix(body, beginning) {
			return true
		}
	}
	return false
}

// TestRedisAgreesOnScripts runs each script of testdata/scripts.txt on Redis and here. \N stands for a new line.
func TestRedisAgreesOnScripts(t *testing.T) {
	server := realredis.Start(t)
	host := proxyHost{connect(t, server, 2), connect(t, server, 3)}
	content, err := os.ReadFile("testdata/scripts.txt")
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{})
	for line := range strings.Lines(string(content)) {
		body := strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\N`, "\n")
		for version, c := range map[int]*redisConn{2: host.resp2, 3: host.resp3} {
			c.fill()
			want := c.do("EVAL", body, "2", "k1", "k2", "a1", "a2")
			c.fill()
			got := eval(r, body, version, host)
			if normalized(got) != normalized(want) && !differs(body) {
				t.Errorf("RESP%d %s\n got %.300q\nwant %.300q", version, body, got, want)
			}
		}
	}
}

// eval does what the server's EVAL does.
func eval(r *Runtime, body string, version int, host Host) []byte {
	w := resp.Writer{Version: version}
	p, err := r.Load([]byte(body))
	if err != nil {
		w.Error(err.Error())
		return w.Buf
	}
	r.Run(p, [][]byte{[]byte("k1"), []byte("k2")}, [][]byte{[]byte("a1"), []byte("a2")}, host, &w)
	return w.Buf
}

// TestRedisAgreesOnSorting sorts random tables by random orders, most of which contradict themselves. The trace of the comparisons is
// compared as well as the outcome.
func TestRedisAgreesOnSorting(t *testing.T) {
	const body = `
local seed, n, kinds, kind = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local function draw(m) seed = (seed*16807) % 2147483647 return seed % m end
local t, trace = {}, {}
for i = 1, n do t[i] = {draw(kinds), i} end
local calls = 0
local function order(a, b)
	calls = calls + 1
	if calls > 3000 then error('endless') end
	trace[#trace+1] = (a and a[2] or 'nil') .. '<' .. (b and b[2] or 'nil')
	if kind == 'random' then return draw(2) == 0 end
	if not a or not b then return kind == 'wide' end
	if kind == 'wide' then return a[1] <= b[1] end
	if kind == 'cyclic' then return (a[1] - b[1]) % 3 == 1 end
	return a[1] < b[1]
end
local ok, e = pcall(table.sort, t, order)
local ends = {}
for i = 0, n+1 do ends[#ends+1] = t[i] and t[i][2] or 'nil' end
return {tostring(ok), e or '', table.concat(ends, ' '), table.concat(trace, ' ')}`
	server := realredis.Start(t)
	c := connect(t, server, 2)
	r := New(Options{})
	p, err := r.Load([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 1))
	for range 1000 {
		arguments := []string{strconv.Itoa(1 + rng.IntN(1<<30)), strconv.Itoa(rng.IntN(60)), strconv.Itoa(1 + rng.IntN(40)),
			[]string{"strict", "wide", "cyclic", "random"}[rng.IntN(4)]}
		want := c.do(append([]string{"EVAL", body, "0"}, arguments...)...)
		var argv [][]byte
		for _, a := range arguments {
			argv = append(argv, []byte(a))
		}
		var w resp.Writer
		r.Run(p, nil, argv, nil, &w)
		if !bytes.Equal(w.Buf, want) {
			t.Fatalf("%q\n got %q\nwant %q", arguments, w.Buf, want)
		}
	}
}
