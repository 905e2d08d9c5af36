package server

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A dialogue is a list of commands, each with the reply that it must get. In a reply, * stands for anything.
type dialogue []struct{ command, reply string }

func (d dialogue) run(t *testing.T, c *client) {
	t.Helper()
	for _, line := range d {
		if got := c.run(line.command); !fits(line.reply, got) {
			t.Errorf("%s\n got %s\nwant %s", line.command, got, line.reply)
		}
	}
}

func fits(want, got string) bool {
	parts := strings.Split(want, "*")
	if len(parts) == 1 {
		return want == got
	}
	first, middle, last := parts[0], parts[1:len(parts)-1], parts[len(parts)-1]
	if !strings.HasPrefix(got, first) || !strings.HasSuffix(got[len(first):], last) {
		return false
	}
	got = got[len(first) : len(got)-len(last)]
	for _, part := range middle {
		_, after, found := strings.Cut(got, part)
		if !found {
			return false
		}
		got = after
	}
	return true
}

// far is a TAT that does not pass while tests run: in the year 2100.
const far = "4102444800000000000"

// dialogues are by subject. Those on values and on expiries stand with their commands' other tests.
var dialogues = map[string]dialogue{
	"strings":        stringsDialogue,
	"values":         valuesDialogue,
	"several values": msetDialogue,
	"expire":         expireDialogue,
	"getex":          getEXDialogue,
	"throttle": {
		{"CL.THROTTLE user123 15 30 60", "[0 16 15 -1 2]"},
		{"CL.THROTTLE user123 15 30 60 1", "[0 16 14 -1 4]"},
		{"cl.throttle user123 15 30 60 17", "[1 16 14 -1 4]"},
		{"CL.THROTTLE user123 15 30 60 0", "[0 16 14 -1 4]"},
		{"CL.THROTTLE user123 15 30 60 -2", "[0 16 16 -1 0]"},
		{"EXISTS user123", "0"},
		{"CL.THROTTLE k +4 0001 +60", "[0 5 4 -1 60]"},
	},
	"throttle errors": {
		{"CL.THROTTLE", "-Cell error: Store error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]"},
		{"CL.THROTTLE k 1 1", "-Cell error: Store error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]"},
		{"CL.THROTTLE k 1 1 1 1 1", "-Cell error: Store error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]"},
		{"CL.THROTTLE k 1.5 1 1", "-Cell error: Store error: Couldn't parse as integer: 1.5"},
		{"CL.THROTTLE k 1 x 1", "-Cell error: Store error: Couldn't parse as integer: x"},
		{"CL.THROTTLE k 1 1 9223372036854775808", "-Cell error: Store error: Couldn't parse as integer: 9223372036854775808"},
		{"CL.THROTTLE k 1 1 1 +", "-Cell error: Store error: Couldn't parse as integer: +"},
		{"CL.THROTTLE k 1 0 1", "-Cell error: Store error: Zero rates are not supported"},
		{"CL.THROTTLE k 1 1 0", "-Cell error: Store error: Zero rates are not supported"},
		{"CL.THROTTLE k 1 1000000001 1", "-Cell error: Store error: Zero rates are not supported"},
		{"CL.THROTTLE k -2 1 1", "-ERR max_burst *"},
		{"CL.THROTTLE k 1 -1 1", "-ERR count *"},
		{"CL.THROTTLE k 1 1 -1", "-ERR period *"},
		{"CL.THROTTLE k 1 1 9223372036", "-ERR period *reaches past the year 2262"},
		{"CL.THROTTLE k 9223372036 1 1 9223372036", "-ERR quantity *"},
		{"CL.THROTTLE k 5 60 9223372036854775806", "-ERR period *"},
		{"EXISTS k", "0"},
	},
	"probe": {
		{"CL.PROBE p 0 1 60", "[0 1 0 -1 60]"},
		{"EXISTS p", "0"},
		{"CL.THROTTLE p 0 1 60", "[0 1 0 -1 60]"},
		{"CL.PROBE p 0 1 60", "[1 1 0 60 60]"},
		{"CL.PROBE p 0 1", "-Cell error: Store error: Usage: cl.probe <key> *"},
	},
	"keys": {
		{"SET a " + far, "OK"},
		{"SET b " + far, "OK"},
		{"EXISTS a b a c", "3"},
		{"TOUCH a b c", "2"},
		{"TYPE a", "string"},
		{"TYPE c", "none"},
		{"TTL c", "-2"},
		{"PTTL c", "-2"},
		{"EXPIRETIME a", "4102444800"},
		{"PEXPIRETIME a", "4102444800000"},
		{"EXPIRETIME c", "-2"},
		{"PEXPIRETIME c", "-2"},
		{"RENAME c d", "-ERR no such key"},
		{"RENAME a c", "OK"},
		{"EXISTS a", "0"},
		{"RENAME c c", "OK"},
		{"RENAMENX c b", "0"},
		{"RENAMENX c a", "1"},
		{"RENAMENX c a", "-ERR no such key"},
		{"COPY a b", "0"},
		{"COPY a b REPLACE", "1"},
		{"COPY a c", "1"},
		{"COPY x y", "0"},
		{"COPY a a", "-ERR source and destination objects are the same"},
		{"COPY a a DB 1", "1"},
		{"COPY a b DB 16", "-ERR DB index is out of range"},
		{"COPY a b DB x", "-ERR value is not an integer or out of range"},
		{"COPY a b FOO", "-ERR syntax error"},
		{"DBSIZE", "3"},
		{"DEL a b nope", "2"},
		{"UNLINK c a", "1"},
		{"DBSIZE", "0"},
		{"SELECT 1", "OK"},
		{"GET a", `"` + far + `"`},
		{"FLUSHDB", "OK"},
		{"DBSIZE", "0"},
	},
	"scan": {
		{"SCAN 0", `["0" []]`},
		{"SET a " + far, "OK"},
		{"SCAN 0 COUNT 1000 TYPE hash", `["0" []]`},
		{"SCAN x", "-ERR invalid cursor"},
		{"SCAN 99999999999999999999", "-ERR invalid cursor"},
		{"SCAN -1", `["0" []]`},
		{"SCAN 0 COUNT 0", "-ERR syntax error"},
		{"SCAN 0 COUNT x", "-ERR value is not an integer or out of range"},
		{"SCAN 0 MATCH", "-ERR syntax error"},
		{"SCAN 0 FOO 1", "-ERR syntax error"},
		{"SCAN 9007199254740991", `["0" []]`},
		{"SCAN 18446744073709551615", `["0" []]`},
		{"RANDOMKEY", `"a"`},
		{"KEYS *", `["a"]`},
		{"KEYS b*", "[]"},
		{"FLUSHALL ASYNC", "OK"},
		{"RANDOMKEY", "nil"},
		{"FLUSHALL FOO", "-ERR syntax error"},
		{"SWAPDB a 1", "-ERR invalid first DB index"},
		{"SWAPDB 0 b", "-ERR invalid second DB index"},
		{"SWAPDB 99 b", "-ERR invalid second DB index"},
		{"SWAPDB 0 16", "-ERR DB index is out of range"},
		{"SWAPDB -1 0", "-ERR DB index is out of range"},
		{"CL.THROTTLE swapped 15 30 60", "[0 16 15 -1 2]"},
		{"SWAPDB 0 7", "OK"},
		{"EXISTS swapped", "0"},
		{"SWAPDB 7 7", "OK"},
		{"SELECT 7", "OK"},
		{"CL.THROTTLE swapped 15 30 60", "[0 16 14 -1 4]"},
		{"SWAPDB 7 0", "OK"},
		{"DBSIZE", "0"},
		{"SELECT 0", "OK"},
		{"DEL swapped", "1"},
		{"FLUSHDB SYNC", "OK"},
	},
	"object": {
		{"SET o " + far, "OK"},
		{"OBJECT ENCODING o", `"embstr"`},
		{"OBJECT REFCOUNT o", "1"},
		{"OBJECT IDLETIME o", "-ERR idle times are not kept*"},
		{"OBJECT FREQ o", "-ERR access frequencies are not kept*"},
		{"OBJECT ENCODING none", "nil"},
		{"OBJECT FREQ none", "nil"},
		{"OBJECT FOO o", "-ERR unknown subcommand 'FOO'. Try OBJECT HELP."},
		{"OBJECT", "-ERR wrong number of arguments for 'object' command"},
		{"OBJECT ENCODING", "-ERR wrong number of arguments for 'object|encoding' command"},
		{"OBJECT HELP", "[OBJECT <subcommand>*"},
		{"MEMORY USAGE o", "*"},
		{"MEMORY USAGE none", "nil"},
		{"MEMORY USAGE o SAMPLES 5", "*"},
		{"MEMORY USAGE o SAMPLES -1", "-ERR syntax error"},
		{"MEMORY USAGE o SAMPLES x", "-ERR value is not an integer or out of range"},
		{"MEMORY USAGE o FOO 5", "-ERR syntax error"},
	},
	"connection": {
		{"PING", "PONG"},
		{"PING hello", `"hello"`},
		{"PING a b", "-ERR wrong number of arguments for 'ping' command"},
		{"ECHO x", `"x"`},
		{"ECHO", "-ERR wrong number of arguments for 'echo' command"},
		{"SELECT 15", "OK"},
		{"SELECT 16", "-ERR DB index is out of range"},
		{"SELECT -1", "-ERR DB index is out of range"},
		{"SELECT x", "-ERR value is not an integer or out of range"},
		{"AUTH x", "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"},
		{"AUTH default x", "OK"},
		{"AUTH nobody x", "-WRONGPASS invalid username-password pair or user is disabled."},
		{"AUTH a b c", "-ERR syntax error"},
		{"HELLO", `["server" "redis" "version" "7.0.15" "proto" 2 "id" * "mode" "standalone" "role" "master" "modules" [["name" "redis-cell" *]]]`},
		{"HELLO 4", "-NOPROTO unsupported protocol version"},
		{"HELLO x", "-ERR Protocol version is not an integer or out of range"},
		{"HELLO 3 FOO", "-ERR Syntax error in HELLO option 'FOO'"},
		{"HELLO 3 SETNAME", "-ERR Syntax error in HELLO option 'SETNAME'"},
		{"HELLO 3 AUTH nobody x", "-WRONGPASS *"},
		{"GET none", "nil"},
		{"HELLO 3 AUTH default x SETNAME me", `{"server" "redis" * "proto" 3 *}`},
		{"CLIENT GETNAME", `"me"`},
		{"RESET", "RESET"},
		{"CLIENT GETNAME", "nil"},
		{"TIME", `["1*" "*"]`},
		{"MODULE LIST", `[["name" "redis-cell" "ver" 1 "path" "" "args" []]]`},
	},
	"client": {
		{"CLIENT ID", "*"},
		{"CLIENT SETNAME me", "OK"},
		{"CLIENT GETNAME", `"me"`},
		{"CLIENT SETINFO LIB-NAME lib", "OK"},
		{"CLIENT SETINFO lib-ver 1.0", "OK"},
		{"CLIENT SETINFO FOO 1", "-ERR Unrecognized option 'FOO'"},
		{"CLIENT INFO", `"id=* addr=127.0.0.1:* name=me * db=0 * cmd=client|info user=default redir=-1 resp=2 lib-name=lib lib-ver=1.0\n"`},
		{"CLIENT LIST", `"id=* cmd=client|list *"`},
		{"CLIENT LIST TYPE pubsub", `""`},
		{"CLIENT LIST TYPE foo", "-ERR Unknown client type 'foo'"},
		{"CLIENT LIST ID x", "-ERR Invalid client ID"},
		{"CLIENT LIST ID 99999999", `""`},
		{"CLIENT LIST FOO", "-ERR syntax error"},
		{"CLIENT NO-EVICT on", "OK"},
		{"CLIENT NO-TOUCH OFF", "OK"},
		{"CLIENT NO-EVICT foo", "-ERR syntax error"},
		{"CLIENT GETREDIR", "-1"},
		{"CLIENT TRACKINGINFO", `["flags" ["off"] "redirect" -1 "prefixes" []]`},
		{"CLIENT TRACKING ON OPTIN", "OK"},
		{"CLIENT TRACKINGINFO", `["flags" ["on" "optin"] "redirect" 0 "prefixes" []]`},
		{"CLIENT CACHING no", "-ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."},
		{"CLIENT CACHING yes", "OK"},
		{"CLIENT TRACKINGINFO", `["flags" ["on" "optin" "caching-yes"] "redirect" 0 "prefixes" []]`},
		{"PING", "PONG"},
		{"CLIENT TRACKINGINFO", `["flags" ["on" "optin"] "redirect" 0 "prefixes" []]`},
		{"CLIENT TRACKING ON BCAST", "-ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode."},
		{"CLIENT TRACKING ON OPTOUT", "-ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode."},
		{"CLIENT TRACKING off", "OK"},
		{"CLIENT CACHING yes", "-ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"},
		{"CLIENT TRACKING ON BCAST OPTIN", "-ERR OPTIN and OPTOUT are not compatible with BCAST"},
		{"CLIENT TRACKING ON OPTOUT OPTIN", "-ERR You can't specify both OPTIN mode and OPTOUT mode"},
		{"CLIENT TRACKING ON PREFIX x", "-ERR PREFIX option requires BCAST mode to be enabled"},
		{"CLIENT TRACKING ON REDIRECT 99999999", "-ERR The client ID you want redirect to does not exist"},
		{"CLIENT TRACKING ON BCAST PREFIX x", "OK"},
		{"CLIENT TRACKING ON BCAST PREFIX xy", "-ERR Prefix 'xy' overlaps with an existing prefix 'x'. Prefixes for a single client must not overlap."},
		{"CLIENT TRACKING ON BCAST PREFIX y PREFIX yz", "-ERR Prefix 'y' overlaps with another provided prefix 'yz'. Prefixes for a single client must not overlap."},
		{"CLIENT TRACKINGINFO", `["flags" ["on" "bcast"] "redirect" 0 "prefixes" ["x"]]`},
		{"CLIENT TRACKING off", "OK"},
		{"CLIENT TRACKING foo", "-ERR syntax error"},
		{"CLIENT REPLY foo", "-ERR syntax error"},
		{"CLIENT REPLY ON", "OK"},
		{"CLIENT FOO", "-ERR unknown subcommand 'FOO'. Try CLIENT HELP."},
		{"CLIENT ID x", "-ERR wrong number of arguments for 'client|id' command"},
		{"CLIENT HELP", "[CLIENT <subcommand>*"},
	},
	"command": {
		{"COMMAND COUNT", strconv.Itoa(len(commandRows(&Config{})))},
		{"COMMAND COUNT x", "-ERR wrong number of arguments for 'command|count' command"},
		{"COMMAND INFO cl.throttle foo", `[["cl.throttle" -5 [write denyoom fast module] 1 1 1 [@write @fast] [] [["flags" [RW access update] "begin_search" ["type" "index" "spec" ["index" 1]] "find_keys" ["type" "range" "spec" ["lastkey" 0 "keystep" 1 "limit" 0]]]] []] nil]`},
		{"COMMAND INFO client|id", `[["client|id" 2 *]]`},
		{"COMMAND DOCS cl.probe", `["cl.probe" ["summary" "*" "since" "0.1.0" "group" "module" "arguments" *]]`},
		{"COMMAND DOCS foo", "[]"},
		{"COMMAND LIST FILTERBY MODULE redis-cell", `["cl.throttle" "cl.probe"]`},
		{"COMMAND LIST FILTERBY PATTERN expire*", `["expiretime" "expire" "expireat"]`},
		{"COMMAND LIST FILTERBY ACLCAT dangerous", `["restore" "keys" "flushdb" "flushall" *]`},
		{"COMMAND LIST FILTERBY FOO x", "-ERR syntax error"},
		{"COMMAND GETKEYS CL.THROTTLE k 1 1 1", `["k"]`},
		{"COMMAND GETKEYSANDFLAGS CL.THROTTLE k 1 1 1", `[["k" [RW access update]]]`},
		{"COMMAND GETKEYSANDFLAGS CL.PROBE k 1 1 1", `[["k" [RO access]]]`},
		{"COMMAND GETKEYSANDFLAGS CL.THROTTLE k 1 1", "-ERR Invalid number of arguments specified for command"},
		{"COMMAND GETKEYS DEL a b", `["a" "b"]`},
		{"COMMAND GETKEYS COPY a b DB 1", `["a" "b"]`},
		{"COMMAND GETKEYS OBJECT ENCODING a", `["a"]`},
		{"COMMAND GETKEYS PING x", "-ERR The command has no key arguments"},
		{"COMMAND GETKEYS FOO x", "-ERR Invalid command specified"},
		{"COMMAND GETKEYS SET a", "-ERR Invalid number of arguments specified for command"},
		{"COMMAND FOO", "-ERR unknown subcommand 'FOO'. Try COMMAND HELP."},
	},
	"config": {
		{"CONFIG GET maxclients", `["maxclients" "10000"]`},
		{"CONFIG GET save appendonly", `["save" "3600 1 300 100 60 10000" "appendonly" "no"]`},
		{"CONFIG GET nosuch", "[]"},
		{"CONFIG GET BIND", `["BIND" "127.0.0.1"]`},
		{"CONFIG GET", "-ERR wrong number of arguments for 'config|get' command"},
		{"CONFIG FOO", "-ERR unknown subcommand 'FOO'. Try CONFIG HELP."},
	},
	"slowlog": {
		{"SLOWLOG RESET", "OK"},
		{"SLOWLOG LEN", "0"},
		{"SLOWLOG GET", "[]"},
		{"SLOWLOG GET 3", "[]"},
		{"SLOWLOG GET -1", "[]"},
		{"SLOWLOG GET -2", "-ERR count should be greater than or equal to -1"},
		{"SLOWLOG GET x", "-ERR count should be greater than or equal to -1"},
		{"SLOWLOG GET 1 2", "-ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP."},
		{"SLOWLOG FOO", "-ERR unknown subcommand 'FOO'. Try SLOWLOG HELP."},
		{"SLOWLOG HELP", "[SLOWLOG <subcommand>*"},
	},
	"latency": {
		{"LATENCY RESET", "*"},
		{"LATENCY LATEST", "[]"},
		{"LATENCY HISTORY command", "[]"},
		{"LATENCY GRAPH command", "-ERR No samples available for event 'command'"},
		{"LATENCY RESET command foo", "0"},
		{"LATENCY DOCTOR", `"Latency is not monitored. *"`},
		{"LATENCY HISTOGRAM foo", "[]"},
		{"ECHO x", `"x"`},
		{"LATENCY HISTOGRAM echo", `["echo" ["calls" * "histogram_usec" [*]]]`},
		{"LATENCY HISTORY", "-ERR wrong number of arguments for 'latency|history' command"},
		{"LATENCY FOO", "-ERR unknown subcommand 'FOO'. Try LATENCY HELP."},
		{"LATENCY HELP", "[LATENCY <subcommand>*"},
	},
	"memory": {
		{"MEMORY STATS", `["peak.allocated" * "keys.count" 0 *]`},
		{"MEMORY PURGE", "OK"},
		{"MEMORY DOCTOR", `"*"`},
		{"MEMORY MALLOC-STATS", `"*/memory/classes/total:bytes*"`},
		{"MEMORY MALLOC-STATS x", "-ERR wrong number of arguments for 'memory|malloc-stats' command"},
		{"MEMORY HELP", "[MEMORY <subcommand>*"},
	},
	"debug": {
		{"DEBUG SLEEP 0", "-ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server."},
		{"DEBUG", "-ERR wrong number of arguments for 'debug' command"},
		{"MULTI", "OK"},
		{"DEBUG SLEEP 0", "-ERR DEBUG command not allowed. *"},
		{"EXEC", "-EXECABORT *"},
	},
	"wait": {
		{"WAIT 0 10", "0"},
		{"WAIT 1 10", "0"},
		{"WAIT x 1", "-ERR value is not an integer or out of range"},
		{"WAIT 1 x", "-ERR timeout is not an integer or out of range"},
		{"WAIT 1 -1", "-ERR timeout is negative"},
		{"WAIT 1", "-ERR wrong number of arguments for 'wait' command"},
	},
	"lolwut": {
		{"LOLWUT", `"*ver. *\n"`},
		{"LOLWUT VERSION 5 1 2", `"*ver. *\n"`},
		{"LOLWUT VERSION x", "-ERR value is not an integer or out of range"},
	},
	"info": {
		{"INFO foo", `""`},
		{"INFO CPU foo", `"# CPU\r\n*"`},
		{"INFO keyspace cluster", `"# Cluster\r\ncluster_enabled:0\r\n\r\n# Keyspace\r\n"`},
		{"CONFIG RESETSTAT", "OK"},
		{"INFO errorstats", `"# Errorstats\r\n"`},
	},
	"unknown": {
		{"FOO", "-ERR unknown command 'FOO', with args beginning with: "},
		{"FOO a b", "-ERR unknown command 'FOO', with args beginning with: 'a' 'b' "},
		{"GET", "-ERR wrong number of arguments for 'get' command"},
		{"aCommandWhoseNameIsLongerThanAnyThatThereIs", "-ERR unknown command *"},
	},
}

// TestCommands runs every dialogue on every front end.
func TestCommands(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		for name, d := range dialogues {
			t.Run(name, func(t *testing.T) {
				c := dial(t, s)
				c.run("FLUSHALL")
				d.run(t, c)
			})
		}
	})
}

// TestCommandsPipelined sends each dialogue in one write: the replies must be the same, in the same order.
func TestCommandsPipelined(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		for name, d := range dialogues {
			t.Run(name, func(t *testing.T) {
				c := dial(t, s)
				c.run("FLUSHALL")
				var all strings.Builder
				for _, line := range d {
					all.WriteString(encode(strings.Fields(line.command)...))
				}
				c.send(all.String())
				for _, line := range d {
					if got := c.reply(); !fits(line.reply, got) {
						t.Errorf("%s\n got %s\nwant %s", line.command, got, line.reply)
					}
				}
			})
		}
	})
}

func TestResp3(t *testing.T) {
	s := startServer(t, nil)
	c := dial(t, s)
	dialogue{
		{"HELLO 3", `{"server" "redis" "version" "7.0.15" "proto" 3 "id" * "mode" "standalone" "role" "master" "modules" [{"name" "redis-cell" "ver" 1 "path" "" "args" []}]}`},
		{"CL.THROTTLE user123 15 30 60", "[0 16 15 -1 2]"},
		{"GET none", "nil"},
		{"CONFIG GET maxclients", `{"maxclients" "10000"}`},
		{"CLIENT TRACKINGINFO", `{"flags" ~["off"] "redirect" -1 "prefixes" []}`},
		{"COMMAND INFO get", `[["get" 2 ~[readonly fast] 1 1 1 ~[@read @string @fast] ~[] ~[{"flags" ~[RO access] *}] ~[]]]`},
		{"INFO server", `"txt:# Server*`},
		{"RESET", "RESET"},
		{"GET none", "nil"},
	}.run(t, c)
	c.send(encode("GET", "none"))
	if raw, _ := c.in.ReadString('\n'); raw != "$-1\r\n" {
		t.Errorf("null in RESP2 is %q", raw)
	}
	c.send(encode("HELLO", "3") + encode("GET", "none"))
	c.reply()
	if raw, _ := c.in.ReadString('\n'); raw != "_\r\n" {
		t.Errorf("null in RESP3 is %q", raw)
	}
}

func TestClientReply(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, configure))
		c.send(encode("CLIENT", "REPLY", "SKIP") + encode("ECHO", "skipped") + encode("ECHO", "one") +
			encode("CLIENT", "REPLY", "SKIP") + encode("CL.THROTTLE", "k", "15", "30", "60") + encode("ECHO", "two") +
			encode("CLIENT", "REPLY", "OFF") + encode("CL.THROTTLE", "k", "15", "30", "60") + encode("ECHO", "off") + encode("GET", "k") +
			encode("CLIENT", "REPLY", "ON") + encode("CL.THROTTLE", "k", "15", "30", "60"))
		for _, want := range []string{`"one"`, `"two"`, "OK", "[0 16 13 -1 6]"} {
			if got := c.reply(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		c.send(encode("CLIENT", "REPLY", "OFF") + "*x\r\n")
		if got := c.reply(); !strings.HasPrefix(got, "-ERR Protocol error") {
			t.Errorf("an error of the protocol: got %s", got)
		}
		if _, err := c.in.ReadByte(); err != io.EOF {
			t.Errorf("after an error of the protocol: %v", err)
		}
	})
}

// TestTTL follows a key by TTL and PTTL to its end.
func TestTTL(t *testing.T) {
	c := dial(t, startServer(t, nil))
	tat := time.Now().Add(1900 * time.Millisecond).UnixNano()
	c.do("SET", "k", fmt.Sprint(tat))
	if got := c.run("TTL k"); got != "2" {
		t.Errorf("TTL %s", got)
	}
	if got := c.run("PEXPIRETIME k"); got != fmt.Sprint((tat+999_999)/1_000_000) {
		t.Errorf("PEXPIRETIME %s of TAT %d", got, tat)
	}
	for last := int64(1901); ; time.Sleep(10 * time.Millisecond) {
		sent := time.Now()
		left, err := strconv.ParseInt(c.run("PTTL k"), 10, 64)
		if err != nil || left == 0 || left > last {
			t.Fatal("PTTL", left, "after", last, err)
		}
		if left == -2 {
			if time.Now().UnixNano() < tat {
				t.Error("gone before its TAT")
			}
			break
		}
		if sent.UnixNano() > tat+int64(time.Second) {
			t.Fatal("not gone after its TAT")
		}
		last = left
	}
	eventually(t, "swept", func() bool { return c.run("DBSIZE") == "0" })
}
