package server

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cellserver/cellserver/config"
)

const notWhileSubscribed = ": only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"

// TestSubscribe has a subscriber's replies in RESP2, recorded from redis-server 7.0.15 (except for the order in which
// names are unsubscribed where none is given, which is up to the server). Several replies are joined by blanks.
func TestSubscribe(t *testing.T) {
	rows := []struct{ send, want string }{
		{"SUBSCRIBE a b", `["subscribe" "a" 1] ["subscribe" "b" 2]`},
		{"SUBSCRIBE a", `["subscribe" "a" 2]`},
		{"PSUBSCRIBE p* q*", `["psubscribe" "p*" 3] ["psubscribe" "q*" 4]`},
		{"SSUBSCRIBE s1 s1 s2", `["ssubscribe" "s1" 1] ["ssubscribe" "s1" 1] ["ssubscribe" "s2" 2]`},
		{"GET x", "-ERR Can't execute 'get'" + notWhileSubscribed},
		{"CL.THROTTLE k 15 30 60", "-ERR Can't execute 'cl.throttle'" + notWhileSubscribed},
		{"CLIENT ID", "-ERR Can't execute 'client|id'" + notWhileSubscribed},
		{"PUBLISH a x", "-ERR Can't execute 'publish'" + notWhileSubscribed},
		{"NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: "},
		{"GET", "-ERR wrong number of arguments for 'get' command"},
		{"PING", `["pong" ""]`},
		{"PING hi", `["pong" "hi"]`},
		{"PING a b", "-ERR wrong number of arguments for 'ping' command"},
		{"UNSUBSCRIBE zz", `["unsubscribe" "zz" 4]`},
		{"UNSUBSCRIBE b a", `["unsubscribe" "b" 3] ["unsubscribe" "a" 2]`},
		{"UNSUBSCRIBE", `["unsubscribe" nil 2]`},
		{"PUNSUBSCRIBE", `["punsubscribe" "p*" 1] ["punsubscribe" "q*" 0]`},
		{"PUNSUBSCRIBE", `["punsubscribe" nil 0]`},
		{"GET x", "-ERR Can't execute 'get'" + notWhileSubscribed}, // there are shard channels left
		{"SUNSUBSCRIBE", `["sunsubscribe" "s1" 1] ["sunsubscribe" "s2" 0]`},
		{"SUNSUBSCRIBE", `["sunsubscribe" nil 0]`},
		{"SUNSUBSCRIBE x", `["sunsubscribe" "x" 0]`},
		{"GET x", "nil"},
		{"PING", "PONG"},
		{"SUBSCRIBE", "-ERR wrong number of arguments for 'subscribe' command"},
		{"CLIENT REPLY OFF", ""},
		{"SUBSCRIBE n", `["subscribe" "n" 1]`}, // confirmations are not silenced
		{"RESET", "RESET"},
		{"GET x", "nil"},
	}
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		two, three := dial(t, s), dial(t, s)
		if got := three.run("HELLO 3"); !strings.HasPrefix(got, "{") {
			t.Fatal(got)
		}
		for _, row := range rows {
			two.expect(row.send, row.want)
			switch {
			case strings.Contains(row.want, notWhileSubscribed), strings.HasPrefix(row.send, "PING"):
			default:
				// RESP3 tells pushes from replies, so that its connections may use all commands.
				three.expect(row.send, strings.ReplaceAll(row.want, "[", ">["))
			}
		}
	})
}

// expect sends a command and compares the replies to it, joined by blanks; there are as many as are wanted.
func (c *client) expect(line, want string) {
	c.t.Helper()
	c.send(encode(strings.Fields(line)...))
	c.expectReplies(line, want)
}

func (c *client) expectReplies(what, want string) {
	c.t.Helper()
	for got := ""; len(got) < len(want); {
		got = strings.TrimPrefix(got+" "+c.reply(), " ")
		if !strings.HasPrefix(want, got) {
			c.t.Fatalf("%s\n got %s\nwant %s", what, got, want)
		}
	}
}

func TestPublish(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		two, three, publisher := dial(t, s), dial(t, s), dial(t, s)
		three.run("HELLO 3")
		for _, c := range []*client{two, three} {
			for _, line := range []string{"SUBSCRIBE a", "SUBSCRIBE b", "PSUBSCRIBE a*", "SSUBSCRIBE a"} {
				c.run(line)
			}
		}
		for _, row := range []struct{ send, want, got string }{
			{"PUBLISH a m1", "4", `["message" "a" "m1"] ["pmessage" "a*" "a" "m1"]`},
			{"PUBLISH ab m2", "2", `["pmessage" "a*" "ab" "m2"]`},
			{"PUBLISH c m3", "0", ""},
			{"SPUBLISH a m4", "2", `["smessage" "a" "m4"]`},
			{"SPUBLISH b m5", "0", ""},
			{"PUBLISH b m6", "2", `["message" "b" "m6"]`},
			{"PUBLISH a", "-ERR wrong number of arguments for 'publish' command", ""},
			{"PUBSUB CHANNELS", `["a" "b"]`, ""},
			{"PUBSUB CHANNELS b*", `["b"]`, ""},
			{"PUBSUB CHANNELS a b", "-ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP.", ""},
			{"PUBSUB NUMSUB", "[]", ""},
			{"PUBSUB NUMSUB a b c a", `["a" 2 "b" 2 "c" 0 "a" 2]`, ""},
			{"PUBSUB NUMPAT", "1", ""},
			{"PUBSUB NUMPAT x", "-ERR wrong number of arguments for 'pubsub|numpat' command", ""},
			{"PUBSUB SHARDCHANNELS", `["a"]`, ""},
			{"PUBSUB SHARDNUMSUB a b", `["a" 2 "b" 0]`, ""},
			{"PUBSUB FOO", "-ERR unknown subcommand 'FOO'. Try PUBSUB HELP.", ""},
		} {
			publisher.expect(row.send, row.want)
			two.expectReplies(row.send, row.got)
			three.expectReplies(row.send, strings.ReplaceAll(row.got, "[", ">["))
		}
		// A publisher that has subscribed gets the number first, then the message.
		three.expect("PUBLISH b self", `2 >["message" "b" "self"]`)
		two.expectReplies("self", `["message" "b" "self"]`)
		// Who leaves is counted no longer.
		two.expect("RESET", "RESET")
		publisher.expect("PUBSUB NUMSUB a b", `["a" 1 "b" 1]`)
		three.expect("QUIT", "OK")
		three.closed()
		publisher.expect("PUBSUB NUMSUB a b", `["a" 0 "b" 0]`)
		publisher.expect("PUBSUB NUMPAT", "0")
	})
}

// TestMessagesKeepOrder has publishers and subscribers on all loops: each subscriber hears each publisher's messages in
// their order, all subscribers hear all messages in one order, and replies to their own commands keep theirs.
func TestMessagesKeepOrder(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		const publishers, messages, subscribers, pings = 4, 500, 8, 200
		heard := make([][]string, subscribers)
		var hearing, publishing sync.WaitGroup
		for i := range heard {
			c := dial(t, s)
			c.run("HELLO 3")
			c.expect("SUBSCRIBE ch", `>["subscribe" "ch" 1]`)
			go func() {
				for n := range pings {
					io.WriteString(c, encode("CL.THROTTLE", fmt.Sprint("k", n), "15", "30", "60")+encode("ECHO", fmt.Sprint(n)))
				}
			}()
			hearing.Go(func() {
				for replies := 0; replies < 2*pings || len(heard[i]) < publishers*messages; {
					got, err := readReply(c.in)
					switch {
					case err != nil:
						t.Error(err)
						return
					case strings.HasPrefix(got, ">"):
						heard[i] = append(heard[i], got)
						continue
					case replies%2 == 1 && got != fmt.Sprintf("%q", fmt.Sprint(replies/2)):
						t.Errorf("reply %d is %s", replies, got)
						return
					}
					replies++
				}
			})
		}
		for p := range publishers {
			c := dial(t, s)
			publishing.Go(func() {
				var b strings.Builder
				for n := range messages {
					b.WriteString(encode("PUBLISH", "ch", fmt.Sprintf("%d-%06d", p, n)))
				}
				c.send(b.String())
				for range messages {
					if got := c.reply(); got != fmt.Sprint(subscribers) {
						t.Error("received by", got)
						return
					}
				}
			})
		}
		publishing.Wait()
		hearing.Wait()
		last := make(map[byte]string)
		for _, message := range heard[0] {
			content := message[len(`>["message" "ch" "`):]
			if content <= last[content[0]] {
				t.Errorf("%s after %s", content, last[content[0]])
			}
			last[content[0]] = content
		}
		for i := range heard {
			if !slices.Equal(heard[i], heard[0]) {
				t.Errorf("subscriber %d heard another order", i)
			}
		}
	})
}

// TestUnsubscribeIsFinal: after the confirmation nothing more is heard, whatever is on its way.
func TestUnsubscribeIsFinal(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		stop := make(chan struct{})
		var publishing sync.WaitGroup
		for range 3 {
			c := dial(t, s)
			publishing.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						c.run("PUBLISH ch x")
					}
				}
			})
		}
		c := dial(t, s)
		for round := range 200 {
			c.send(encode("SUBSCRIBE", "ch"))
			for c.reply() != `["message" "ch" "x"]` {
			}
			c.send(encode("UNSUBSCRIBE", "ch"))
			for c.reply() != `["unsubscribe" "ch" 0]` {
			}
			if got := c.run("PING"); got != "PONG" {
				t.Fatalf("round %d: %s", round, got)
			}
		}
		close(stop)
		publishing.Wait()
	})
}

// TestSlowSubscriber: one that does not read is closed at the hard limit, and after a time past the soft one. Others hear
// everything, and memory stays bounded.
func TestSlowSubscriber(t *testing.T) {
	const size = 64 << 10
	for _, row := range []struct {
		name     string
		limit    config.OutputLimit
		messages int
	}{
		{"hard", config.OutputLimit{HardBytes: 1 << 20}, 600},
		{"soft", config.OutputLimit{HardBytes: 64 << 20, SoftBytes: 1 << 20, SoftSeconds: 1}, 400},
	} {
		t.Run(row.name, func(t *testing.T) {
			everySetting(t, func(t *testing.T, configure func(*Config)) {
				s := startServer(t, func(c *Config) {
					configure(c)
					c.OutputLimits.PubSub = row.limit
				})
				deaf, quick, publisher := dial(t, s), dial(t, s), dial(t, s)
				deaf.run("SUBSCRIBE ch")
				quick.run("SUBSCRIBE ch")
				before := heapBytes()
				payload := strings.Repeat("x", size)
				want := encode("message", "ch", payload)
				got := make([]byte, len(want))
				for range row.messages {
					publisher.do("PUBLISH", "ch", payload)
					if _, err := io.ReadFull(quick.in, got); err != nil || string(got) != want {
						t.Fatal("a message is wrong", err)
					}
				}
				eventually(t, "the slow subscriber is closed", func() bool {
					return publisher.run("PUBSUB NUMSUB ch") == `["ch" 1]`
				})
				if grown := heapBytes() - before; grown > 16<<20 {
					t.Errorf("the heap grew by %d bytes", grown)
				}
				if got := publisher.run("INFO stats"); !strings.Contains(got, `client_output_buffer_limit_disconnections:1\r`) {
					t.Error("not counted:", got)
				}
			})
		})
	}
}

// TestCongestion: while more than maxUndelivered bytes of messages are on their way to a loop, publishers wait in their
// order, and nobody else does.
func TestCongestion(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		subscriber, publisher, other := dial(t, s), dial(t, s), dial(t, s)
		subscriber.run("SUBSCRIBE ch")
		busy := s.loops[len(s.loops)-1]
		busy.undelivered.Add(maxUndelivered)
		publisher.expect("PUBLISH ch within", "1")
		subscriber.expectReplies("at the limit", `["message" "ch" "within"]`)
		eventually(t, "the message is delivered", func() bool { return busy.undelivered.Load() == maxUndelivered })

		busy.undelivered.Add(1)
		publisher.send(encode("CL.THROTTLE", "k", "15", "30", "60") + encode("PUBLISH", "ch", "beyond") + encode("ECHO", "after"))
		publisher.expectReplies("before", "[0 16 15 -1 2]")
		for range 20 {
			other.expect("PUBSUB NUMSUB ch", `["ch" 1]`)
		}
		_ = publisher.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if got, err := publisher.in.Peek(1); err == nil {
			t.Errorf("a message was published past the limit: %q", got)
		}
		_ = publisher.SetDeadline(time.Now().Add(patience))
		busy.undelivered.Add(-1)
		publisher.expectReplies("afterwards", `1 "after"`)
		subscriber.expectReplies("afterwards", `["message" "ch" "beyond"]`)
		busy.undelivered.Add(-maxUndelivered)
	})
}
