package server

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cellserver/cellserver/config"
)

// adminErrors are the replies of CLIENT's subcommands to what they do not take, recorded from redis-server 7.0.15.
var adminErrors = []struct{ send, want string }{
	{"CLIENT KILL", "-ERR wrong number of arguments for 'client|kill' command"},
	{"CLIENT KILL x", "-ERR No such client"},
	{"CLIENT KILL ID", "-ERR No such client"},
	{"CLIENT KILL 1.2.3.4:5", "-ERR No such client"},
	{"CLIENT KILL ID x", "-ERR client-id should be greater than 0"},
	{"CLIENT KILL ID 0", "-ERR client-id should be greater than 0"},
	{"CLIENT KILL ID 99999", "0"},
	{"CLIENT KILL TYPE foo", "-ERR Unknown client type 'foo'"},
	{"CLIENT KILL TYPE master", "0"},
	{"CLIENT KILL TYPE replica", "0"},
	{"CLIENT KILL TYPE slave", "0"},
	{"CLIENT KILL USER nobody", "-ERR No such user 'nobody'"},
	{"CLIENT KILL SKIPME maybe", "-ERR syntax error"},
	{"CLIENT KILL SKIPME yes ID", "-ERR syntax error"},
	{"CLIENT KILL FOO bar", "-ERR syntax error"},
	{"CLIENT KILL ADDR 1.1.1.1:1", "0"},
	{"CLIENT KILL LADDR 1.1.1.1:1", "0"},
	{"CLIENT UNBLOCK x", "-ERR value is not an integer or out of range"},
	{"CLIENT UNBLOCK 1", "0"},
	{"CLIENT UNBLOCK 1 foo", "-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"},
	{"CLIENT UNBLOCK 1 TIMEOUT", "0"},
	{"CLIENT UNBLOCK 1 ERROR", "0"},
	{"CLIENT UNBLOCK 1 ERROR x", "-ERR unknown subcommand or wrong number of arguments for 'UNBLOCK'. Try CLIENT HELP."},
	{"CLIENT PAUSE", "-ERR wrong number of arguments for 'client|pause' command"},
	{"CLIENT PAUSE x", "-ERR timeout is not an integer or out of range"},
	{"CLIENT PAUSE -1", "-ERR timeout is negative"},
	{"CLIENT PAUSE 0", "OK"},
	{"CLIENT PAUSE 1 foo", "-ERR CLIENT PAUSE mode must be WRITE or ALL"},
	{"CLIENT PAUSE 1 WRITE x", "-ERR unknown subcommand or wrong number of arguments for 'PAUSE'. Try CLIENT HELP."},
	{"CLIENT PAUSE 3153600000001", "-ERR timeout is out of range"}, // a century and a millisecond; a century is no error
	{"CLIENT PAUSE 3153600000000 WRITE", "OK"},
	{"CLIENT UNPAUSE", "OK"},
	{"CLIENT UNPAUSE x", "-ERR wrong number of arguments for 'client|unpause' command"},
	{"CLIENT LIST TYPE", "-ERR syntax error"},
	{"CLIENT LIST ID", "-ERR syntax error"},
	{"CLIENT LIST ID 0", `""`},
	{"SHUTDOWN ABORT", "-ERR No shutdown in progress."},
	{"SHUTDOWN foo", "-ERR syntax error"},
	{"SHUTDOWN NOSAVE SAVE", "-ERR syntax error"},
	{"SHUTDOWN ABORT NOW", "-ERR syntax error"},
	{"SHUTDOWN NOW NOW ABORT", "-ERR syntax error"},
}

func TestAdminErrors(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		c := dial(t, startServer(t, configure))
		for _, row := range adminErrors {
			c.expect(row.send, row.want)
		}
	})
}

// TestClientKill kills by each filter, from connections on the same loop and on others.
func TestClientKill(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		killer := dial(t, s)
		for range 5 { // over all loops
			for _, row := range []struct {
				name, want string
				command    func(victim *client) string
			}{
				{"id", "1", func(v *client) string { return "CLIENT KILL ID " + v.run("CLIENT ID") }},
				{"address", "1", func(v *client) string { return "CLIENT KILL ADDR " + v.LocalAddr().String() }},
				{"address, old form", "OK", func(v *client) string { return "CLIENT KILL " + v.LocalAddr().String() }},
				{"own address and type", "1", func(v *client) string { return "CLIENT KILL TYPE normal LADDR " + v.RemoteAddr().String() }},
				{"user", "1", func(*client) string { return "CLIENT KILL USER default SKIPME yes" }},
				{"subscriber", "1", func(v *client) string { v.run("SUBSCRIBE a"); return "CLIENT KILL TYPE pubsub" }},
				{"monitor", "1", func(v *client) string { v.run("MONITOR"); return "CLIENT KILL TYPE normal" }},
			} {
				victim := dial(t, s)
				victim.run("PING")
				killer.expect(row.command(victim), row.want)
				if got := killer.run("CLIENT LIST"); strings.Count(got, `\n`) != 1 {
					t.Errorf("%s: left are %s", row.name, got)
				}
				killer.expect("PUBSUB NUMSUB a", `["a" 0]`)
				victim.closed()
			}
		}
		id := killer.run("CLIENT ID")
		killer.expect("CLIENT KILL ID "+id, "0")
		killer.send(encode("CLIENT", "KILL", "ID", id, "SKIPME", "no") + encode("PING"))
		killer.expectReplies("of itself", "1")
		killer.closed()
	})
}

// TestClientPause: commands wait for the end of a pause, those that only read during a pause of writing do not, and
// replies come in order. Loops are not blocked.
func TestClientPause(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		admin, reader, writer, killed := dial(t, s), dial(t, s), dial(t, s), dial(t, s)
		began := time.Now()
		admin.expect("CLIENT PAUSE 60000 WRITE", "OK")
		writer.send(encode("GET", "k") + encode("CL.THROTTLE", "k", "15", "30", "60") + encode("PING") + encode("PUBLISH", "ch", "m") + encode("ECHO", "end"))
		writer.expectReplies("GET", "nil")
		killed.send(encode("CL.THROTTLE", "k", "15", "30", "60"))
		eventually(t, "two wait", func() bool {
			return strings.Contains(reader.run("INFO clients"), `blocked_clients:2\r`)
		})
		reader.expect("CL.PROBE k 15 30 60 0", "[0 16 16 -1 0]") // nothing has happened
		if got := reader.run("CLIENT LIST"); strings.Count(got, "flags=b") != 2 {
			t.Error(got)
		}
		reader.expect("CLIENT KILL ADDR "+killed.LocalAddr().String(), "1")
		killed.closed()
		reader.expect("CLIENT UNPAUSE", "OK")
		writer.expectReplies("afterwards", `[0 16 15 -1 2] PONG 0 "end"`)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("UNPAUSE took %v", took)
		}

		// A pause of all commands ends by itself. The later end and the stricter kind of two count.
		began = time.Now()
		admin.send(encode("CLIENT", "PAUSE", "300", "WRITE") + encode("CLIENT", "PAUSE", "1", "ALL") + encode("PING"))
		admin.expectReplies("PAUSE", "OK OK")
		reader.send(encode("NOSUCH") + encode("GET", "x") + encode("PING"))
		reader.expectReplies("errors do not wait", "-ERR unknown command 'NOSUCH', with args beginning with: ")
		writer.send(encode("CLIENT", "UNPAUSE") + encode("PING"))
		reader.expectReplies("afterwards", "nil PONG")
		writer.expectReplies("afterwards", "OK PONG")
		admin.expectReplies("afterwards", "PONG")
		if took := time.Since(began); took < 300*time.Millisecond {
			t.Errorf("a pause of 300 ms was over after %v", took)
		}
	})
}

// TestPausedInputIsBounded: a client that goes on sending during a pause is not read.
func TestPausedInputIsBounded(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		admin, c := dial(t, s), dial(t, s)
		admin.expect("CLIENT PAUSE 60000 WRITE", "OK")
		const calls = 2000
		pipeline := strings.Repeat(encode("DEL", strings.Repeat("x", 10<<10)), calls)
		before := heapBytes()
		go io.WriteString(c, pipeline)
		eventually(t, "one waits", func() bool { return strings.Contains(admin.run("INFO clients"), `blocked_clients:1\r`) })
		time.Sleep(50 * time.Millisecond)
		if grown := heapBytes() - before; grown > 4<<20 {
			t.Errorf("the heap grew by %d bytes", grown)
		}
		admin.expect("CLIENT UNPAUSE", "OK")
		for range calls {
			if got := c.reply(); got != "0" {
				t.Fatal(got)
			}
		}
	})
}

// TestTimeout closes idle connections, but none of those that may be silent.
func TestTimeout(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.TimeoutSeconds = 1
		})
		idle, subscriber, monitor, busy := dial(t, s), dial(t, s), dial(t, s), dial(t, s)
		idle.run("PING")
		subscriber.run("SUBSCRIBE a")
		monitor.run("MONITOR")
		for asked := time.Now(); time.Since(asked) < 2500*time.Millisecond && s.clients() == 4; time.Sleep(10 * time.Millisecond) {
			busy.run("PING")
		}
		idle.closed()
		subscriber.expect("PING", `["pong" ""]`)
		busy.expect("PUBLISH a m", "1")
		subscriber.expectReplies("message", `["message" "a" "m"]`)
		if s.clients() != 3 {
			t.Errorf("%d connections are left", s.clients())
		}
	})
}

// TestNormalOutputLimit closes a normal client that does not read, where the class has a limit.
func TestNormalOutputLimit(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, func(c *Config) {
			configure(c)
			c.OutputLimits.Normal = config.OutputLimit{HardBytes: 4 << 20}
		})
		deaf, c := dial(t, s), dial(t, s)
		payload := strings.Repeat("x", 32<<20)
		go io.WriteString(deaf, encode("ECHO", payload))
		eventually(t, "the deaf client is closed", func() bool {
			return strings.Contains(c.run("INFO stats"), `client_output_buffer_limit_disconnections:1\r`)
		})
		if got := c.run("CONFIG GET client-output-buffer-limit"); got != fmt.Sprintf(`["client-output-buffer-limit" "normal %d 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"]`, 4<<20) {
			t.Error(got)
		}
	})
}

// TestShutdownCommand: SHUTDOWN asks for the server's end and is not answered; nothing that the connection sent behind it
// is carried out.
func TestShutdownCommand(t *testing.T) {
	for _, line := range []string{"SHUTDOWN", "SHUTDOWN NOSAVE NOW", "SHUTDOWN SAVE FORCE"} {
		t.Run(line, func(t *testing.T) {
			everySetting(t, func(t *testing.T, configure func(*Config)) {
				s := startServer(t, configure)
				c, other := dial(t, s), dial(t, s)
				c.send(encode("CL.THROTTLE", "k", "15", "30", "60") + encode(strings.Fields(line)...) + encode("CL.THROTTLE", "k", "15", "30", "60"))
				c.expectReplies("before", "[0 16 15 -1 2]")
				select {
				case <-s.EndRequested():
				case <-time.After(patience):
					t.Fatal("the end was not asked for")
				}
				other.expect("EXISTS k", "1")
				other.expect("CL.PROBE k 15 30 60 0", "[0 16 15 -1 2]")
				stopped := make(chan error, 1)
				go func() { stopped <- s.Shutdown(t.Context()) }()
				c.closed()
				if err := <-stopped; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
