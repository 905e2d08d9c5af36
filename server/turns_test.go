package server

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cellserver/cellserver/config"
	"github.com/cellserver/cellserver/netio"
)

// staged is a transport that has what the test gives it to read, and keeps what is written.
type staged struct {
	scripted
	given  string
	got    strings.Builder
	closed bool
	onRead func()
}

func (t *staged) Read(p []byte) (int, error) {
	if t.onRead != nil {
		t.onRead()
	}
	n := copy(p, t.given)
	t.given = t.given[n:]
	if n == 0 {
		return 0, netio.ErrWouldBlock
	}
	return n, nil
}

func (t *staged) Write(p []byte) (int, error) { return t.got.Write(p) }
func (t *staged) Close()                      { t.closed = true }

// A stage is a loop whose passes the test makes, one by one.
type stage struct {
	*loop
	t testing.TB
}

func newStage(t testing.TB) stage {
	l, _ := newScriptedLoop(t, 0, 0, 1)
	return stage{l, t}
}

func (s stage) join() (*conn, *staged) {
	transport := &staged{}
	c := s.server.newConn(transport)
	s.conns[c.id] = c
	return c, transport
}

// say gives a connection something to read.
func (s stage) say(c *conn, bytes string) {
	transport := c.transport.(*staged)
	transport.given += bytes
	s.rouse(c)
}

// turn is what the loop does between two waits, and what the poller tells it then.
func (s stage) turn() {
	s.now = s.server.clock.now()
	s.drain()
	s.flushPushed()
	s.pass()
	s.doChores()
	for _, c := range s.conns {
		if t := c.transport.(*staged); t.given != "" || c.stalled() {
			s.rouse(c)
		}
	}
}

// rest makes passes until there is nothing to do, and returns how many.
func (s stage) rest() (turns int) {
	for ; turns == 0 || s.hasTurns() || len(s.chores) > 0 || s.loop.pushed.len() > 0 || !s.inbox.empty(); turns++ {
		s.turn()
		if turns > 1e6 {
			s.t.Fatal("the loop does not come to rest")
		}
	}
	return turns
}

// ask has a connection say something, waits until all is done, and returns what it was answered.
func (s stage) ask(c *conn, words ...string) string {
	transport := c.transport.(*staged)
	transport.got.Reset()
	s.say(c, encode(words...))
	s.rest()
	return transport.got.String()
}

// fill stores keys that live for an hour, key:0 and on, in a database.
func (s stage) fill(db, count int) {
	s.engine.Advance(s.server.clock.now())
	for i := range count {
		s.engine.Store(s.server.key(db, fmt.Appendf(nil, "key:%d", i)), s.engine.Now()+3600e9)
	}
}

// wideCommand returns a command of so many keys, or channels.
func wideCommand(name string, count int) string {
	words := []string{name}
	for i := range count {
		words = append(words, fmt.Sprint("key:", i))
	}
	return encode(words...)
}

// TestTurnsAreFirstComeFirstServed: connections are read in the order in which they became ready, each once in a pass, though
// others come meanwhile.
func TestTurnsAreFirstComeFirstServed(t *testing.T) {
	s := newStage(t)
	var order, want []int64
	var conns []*conn
	for range 300 {
		c, transport := s.join()
		transport.onRead = func() {
			order = append(order, c.id)
			s.rouse(conns[0]) // who has had its turn, and now has another to wait for
		}
		conns, want = append(conns, c), append(want, c.id)
		transport.given = encode("CL.THROTTLE", "k", "1000", "1", "60")
		s.rouse(c)
		s.rouse(c)
	}
	s.pass()
	if !slices.Equal(order, want) {
		t.Errorf("read in the order %v", order)
	}
	if s.turns.len() != 1 {
		t.Errorf("%d connections wait for the next pass", s.turns.len())
	}
}

// TestHeavyConnectionsShareAPass: those that send commands of many words are served some at a time, and in every pass at least
// one, while the others are answered in each.
func TestHeavyConnectionsShareAPass(t *testing.T) {
	s := newStage(t)
	const clients = 40
	var heavy []*conn
	for range clients {
		c, _ := s.join()
		heavy = append(heavy, c)
		s.say(c, wideCommand("EXISTS", 20*wideWords))
	}
	bystander, answers := s.join()
	served, passes := 0, 0
	for served < clients {
		passes++
		s.say(bystander, encode("PING"))
		answers.got.Reset()
		s.turn()
		if got := answers.got.String(); got != "+PONG\r\n" {
			t.Fatalf("pass %d: the bystander gets %q", passes, got)
		}
		served = 0
		for _, c := range heavy {
			if c.transport.(*staged).got.String() == ":0\r\n" {
				served++
			}
		}
		if passes > 100*clients {
			t.Fatalf("%d clients are served in %d passes", served, passes)
		}
	}
	if passes < 3 {
		t.Errorf("all is done in %d passes", passes)
	}
}

// TestPipelinesAreHeavy: a connection that sends more than a batch at a time waits behind those that do not.
func TestPipelinesAreHeavy(t *testing.T) {
	s := newStage(t)
	c, _ := s.join()
	call := encode("CL.THROTTLE", "k", "1000", "1", "60")
	for _, row := range []struct {
		calls int
		heavy bool
	}{{batchCalls, false}, {batchCalls + 1, true}, {1, false}} {
		s.say(c, strings.Repeat(call, row.calls))
		s.turn()
		if c.heavy != row.heavy {
			t.Errorf("after the first turn of %d calls it is heavy: %v", row.calls, c.heavy)
		}
		s.rest()
	}
}

// TestTurnsEndByWork: a connection that sends very many small commands has many turns, whatever they are.
func TestTurnsEndByWork(t *testing.T) {
	for _, commands := range []string{
		strings.Repeat("PING\r\n", 9000),
		strings.Repeat(encode("NOSUCH"), 3000),
		"MULTI\r\n" + strings.Repeat("GET k\r\n", 9000) + "DISCARD\r\n",
		strings.Repeat(encode("INFO"), 50),
	} {
		s := newStage(t)
		c, transport := s.join()
		s.say(c, commands)
		least := strings.Count(commands, "\n") / 9000 * 3
		if turns := s.rest(); turns < max(least, 3) {
			t.Errorf("%.20q...: all is done in %d turns", commands, turns)
		}
		if transport.got.Len() == 0 {
			t.Errorf("%.20q...: no answer", commands)
		}
	}
}

// TestFloodedInbox: a loop that always has messages looks at its connections all the same.
func TestFloodedInbox(t *testing.T) {
	everySetting(t, func(t *testing.T, configure func(*Config)) {
		s := startServer(t, configure)
		for _, l := range s.loops {
			flood := &envelope{}
			flood.deliver = func(l *loop) {
				if !l.stopping {
					l.post(flood)
				}
			}
			l.post(flood)
		}
		c := dial(t, s)
		for range 10 {
			if got := c.run("PING"); got != "PONG" {
				t.Fatal(got)
			}
		}
	})
}

// TestBystandersAreServed: while ten clients watch 20,000 keys each over and over, and go, a call takes milliseconds. The bound
// is far above, for machines that are busy; how long it takes in truth is what bench/compare bystander measures.
func TestBystandersAreServed(t *testing.T) {
	for _, frontEnd := range netio.FrontEnds() {
		t.Run(frontEnd, func(t *testing.T) {
			s := startServer(t, func(c *Config) { c.IO, c.Shards = frontEnd, 1 })
			watch := wideCommand("WATCH", 20_000)
			done := make(chan struct{})
			for range 10 {
				go func() {
					for {
						select {
						case <-done:
							return
						default:
						}
						nc := dialTo(t, "tcp", s.listeners[0].Addr().String())
						_, _ = io.WriteString(nc, watch+encode("UNWATCH")+watch) // may fail at the end of the test
						for range 3 {
							_, _ = nc.in.ReadString('\n')
						}
						nc.Close()
					}
				}()
			}
			c := dial(t, s)
			var took []time.Duration
			for range 100 {
				time.Sleep(5 * time.Millisecond)
				began := time.Now()
				c.run("CL.THROTTLE k 15 30 60")
				took = append(took, time.Since(began))
			}
			close(done)
			slices.Sort(took)
			if median := took[len(took)/2]; median > 200*time.Millisecond {
				t.Errorf("half of the calls take %v or longer", median)
			}
		})
	}
}

// TestKillingMany: CLIENT KILL counts all, none is served any more, and a message reaches none of them.
func TestKillingMany(t *testing.T) {
	s := newStage(t)
	admin, _ := s.join()
	const victims = 500
	var conns []*conn
	for range victims {
		c, _ := s.join()
		s.ask(c, "SUBSCRIBE", "news")
		conns = append(conns, c)
	}
	for _, c := range conns {
		s.say(c, encode("PING"))
	}
	transport := admin.transport.(*staged)
	s.say(admin, encode("CLIENT", "KILL", "TYPE", "pubsub")+encode("PUBLISH", "news", "x")+encode("PUBSUB", "NUMSUB", "news"))
	s.rest()
	if got := transport.got.String(); got != ":500\r\n:0\r\n*2\r\n$4\r\nnews\r\n:0\r\n" {
		t.Errorf("the administrator gets %q", got)
	}
	for _, c := range conns {
		if !c.transport.(*staged).closed {
			t.Fatal("a killed connection is open")
		}
	}
	if len(s.server.pubsub.subscribers[plainChannel]) > 0 {
		t.Error("somebody is still subscribed")
	}
}

// TestLimitEndsGatheredOutput: a client may have no more gathered for it than unsent.
func TestLimitEndsGatheredOutput(t *testing.T) {
	s := newStage(t)
	limited := *s.server.config()
	limited.OutputLimits.Normal = config.OutputLimit{HardBytes: 1 << 20}
	s.server.settings.Store(&limited)
	s.fill(0, 100_000)
	c, transport := s.join()
	s.say(c, encode("KEYS", "*"))
	s.rest()
	if !transport.closed || transport.got.Len() > 0 || s.stats.outputLimitCloses != 1 {
		t.Errorf("closed: %v, after %d bytes", transport.closed, transport.got.Len())
	}
	if held := s.server.unsentMemory.Load(); held != 0 || c.task != nil {
		t.Errorf("%d bytes are still held", held)
	}
}
