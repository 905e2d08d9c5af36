package compat_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cellserver/cellserver/internal/realredis"
)

// The differential tests send the same commands to a Redis 7 and to cellserver and compare the replies byte for byte. What
// may differ is in differential_allowed_test.go; the sequences are in testdata/differential, a file for each feature, and
// differential_random_test.go makes up more.

// replyPatience is how long one reply may take. A server that misses one would otherwise cost the test its whole time.
const replyPatience = 5 * time.Second

// A rival is one of the two servers.
type rival struct {
	name    string
	address string
}

// A duel is a Redis and a cellserver that were started alike.
type duel struct{ redis, cell rival }

// startDuel starts both servers, each with its own options and those that they share.
func startDuel(t testing.TB, cellOptions, shared []string) *duel {
	t.Helper()
	return &duel{
		redis: rival{"redis", realredis.Start(t, append([]string{"--save", ""}, shared...)...).Address},
		cell:  rival{"cellserver", start(t, append(slices.Clone(cellOptions), shared...)...).address},
	}
}

// A session carries out one sequence on one server, over as many connections as the sequence names.
type session struct {
	rival
	conns map[string]*sessionConn
}

type sessionConn struct {
	net.Conn
	in *bufio.Reader
	id string // CLIENT ID, where the sequence needs it
}

// An outcome is what came of one step.
type outcome struct {
	replies []reply
	err     error
}

// fight runs a sequence on both servers at the same time and returns what differs, a line each, and what Redis did not say
// though the sequence expects it.
func (d *duel) fight(s sequence) (differences, surprises []string) {
	var redis, cell []outcome
	var both sync.WaitGroup
	both.Go(func() { redis = perform(d.redis, s) })
	both.Go(func() { cell = perform(d.cell, s) })
	both.Wait()
	return compareOutcomes(s.steps, redis, cell), s.surprises(redis)
}

// rehearse runs a sequence on Redis alone.
func (d *duel) rehearse(s sequence) (surprises []string) { return s.surprises(perform(d.redis, s)) }

// perform runs a sequence on one server. The last outcomes are what each connection still got after the last step, in the
// order of their names: nothing but what came unasked.
func perform(server rival, s sequence) []outcome {
	p := &session{rival: server, conns: map[string]*sessionConn{}}
	outcomes := make([]outcome, 0, len(s.steps)+1)
	for i := 0; i < len(s.steps); {
		// Consecutive steps of one connection make a pipeline where the sequence wants it.
		end := i + 1
		for s.pipelined && end < len(s.steps) && s.steps[end].conn == s.steps[i].conn {
			end++
		}
		outcomes = append(outcomes, p.take(s, s.steps[i:end])...)
		i = end
	}
	for _, name := range slices.Sorted(maps.Keys(p.conns)) {
		outcomes = append(outcomes, p.conns[name].finish())
	}
	return outcomes
}

// take sends the steps, all of one connection, and reads their replies.
func (p *session) take(s sequence, steps []step) []outcome {
	outcomes := make([]outcome, len(steps))
	fail := func(err error) []outcome {
		for i := range outcomes {
			if outcomes[i].replies == nil && outcomes[i].err == nil {
				outcomes[i].err = err
			}
		}
		return outcomes
	}
	if steps[0].pause > 0 {
		time.Sleep(steps[0].pause)
		return outcomes
	}
	c, err := p.conn(s, steps[0].conn)
	if err != nil {
		return fail(err)
	}
	var sent strings.Builder
	for _, step := range steps {
		sent.WriteString(step.bytes(p))
	}
	_ = c.SetDeadline(time.Now().Add(replyPatience))
	if _, err := io.WriteString(c, sent.String()); err != nil && steps[0].replies != untilClosed {
		return fail(err)
	}
	for i, step := range steps {
		for n := 0; step.replies == untilClosed || n < step.replies; n++ {
			r, err := readWhole(c.in)
			if step.replies == untilClosed && errors.Is(connError(err), io.EOF) {
				break
			}
			if err != nil {
				outcomes[i].err = connError(err)
				return fail(outcomes[i].err)
			}
			outcomes[i].replies = append(outcomes[i].replies, r)
		}
	}
	return outcomes
}

// connError makes one error of the ways in which a connection that the server closed can end.
func connError(err error) error {
	if err != nil && (strings.Contains(err.Error(), "reset by peer") || strings.Contains(err.Error(), "broken pipe")) {
		return io.EOF
	}
	return err
}

// conn returns the connection of that name, opened when it is first used.
func (p *session) conn(s sequence, name string) (*sessionConn, error) {
	if c := p.conns[name]; c != nil {
		return c, nil
	}
	nc, err := net.Dial("tcp", p.address)
	if err != nil {
		return nil, err
	}
	c := &sessionConn{Conn: nc, in: bufio.NewReader(nc)}
	p.conns[name] = c
	_ = nc.SetDeadline(time.Now().Add(replyPatience))
	ask := func(words ...string) (r reply) {
		if err == nil {
			_, _ = io.WriteString(nc, encode(words...)) // an error shows in the reply
			r, err = readWhole(c.in)
		}
		return r
	}
	if s.resp3 {
		ask("HELLO", "3")
	}
	if s.needsID(name) {
		c.id = ask("CLIENT", "ID").text
	}
	return c, err
}

// finish says that no more will come and returns what the server still had to say.
func (c *sessionConn) finish() outcome {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(replyPatience))
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		return outcome{} // closed by the server before
	}
	rest, err := io.ReadAll(c.in)
	if err = connError(err); errors.Is(err, io.EOF) {
		err = nil
	}
	return outcome{replies: []reply{{raw: string(rest)}}, err: err}
}

// compareOutcomes returns a line for each step whose outcomes differ by more than is allowed.
func compareOutcomes(steps []step, redis, cell []outcome) (differences []string) {
	queues := map[string]*queue{}
	for i := range redis {
		line := "in the end"
		same := sameBytes
		if i < len(steps) {
			q := queues[steps[i].conn]
			if q == nil {
				q = &queue{}
				queues[steps[i].conn] = q
			}
			line, same = steps[i].line, q.rule(steps[i].words, redis[i])
		}
		ours, theirs := cell[i], redis[i]
		if i < len(steps) && steps[i].hasMessages() {
			ours, theirs = ours.sorted(), theirs.sorted()
		}
		if d := theirs.difference(ours, same); d != "" {
			differences = append(differences, fmt.Sprintf("%s\n%s", line, d))
		}
	}
	return differences
}

func (o outcome) difference(other outcome, same func(redis, cell reply) bool) string {
	equal := fmt.Sprint(o.err) == fmt.Sprint(other.err) && len(o.replies) == len(other.replies)
	for i := 0; equal && i < len(o.replies); i++ {
		equal = same(o.replies[i], other.replies[i])
	}
	if equal {
		return ""
	}
	redis, cell := o.String(), other.String()
	from := 0 // what is shown begins a little before the first difference
	for from < min(len(redis), len(cell)) && redis[from] == cell[from] {
		from++
	}
	from = max(0, from-shownBytes/3)
	return fmt.Sprintf("\tredis      %.*s\n\tcellserver %.*s", shownBytes, redis[from:], shownBytes, cell[from:])
}

// shownBytes is how much of a reply that differs is printed.
const shownBytes = 300

// hasMessages says whether the step's replies are messages, one for each subscription of the connection that matches: these
// have no order. A connection that publishes to itself in version 3 gets its own among them, before the reply or after it.
func (s step) hasMessages() bool {
	return s.replies > 1 && (s.words == nil && s.raw == "" || commandName(s.words) == "publish")
}

// sorted is the outcome with its replies in an order of their own.
func (o outcome) sorted() outcome {
	o.replies = slices.Clone(o.replies)
	slices.SortFunc(o.replies, func(a, b reply) int { return strings.Compare(a.raw, b.raw) })
	return o
}

func (o outcome) String() string {
	var words []string
	for _, r := range o.replies {
		words = append(words, r.String())
	}
	if o.err != nil {
		words = append(words, fmt.Sprintf("(%v)", o.err))
	}
	return strings.Join(words, " ")
}

// A queue remembers the commands that a connection has put into a transaction, for the reply of EXEC is all of theirs.
type queue struct{ names []string }

// rule returns how the replies of a step are to be compared, given what Redis said.
func (q *queue) rule(words []string, redis outcome) func(redis, cell reply) bool {
	name := commandName(words)
	if len(redis.replies) != 1 {
		return func(r, c reply) bool { return sameReply(name, r, c) }
	}
	r := redis.replies[0]
	switch {
	case r.raw == "+QUEUED\r\n":
		q.names = append(q.names, name)
	case name == "exec" && r.isArray() && len(r.elements) == len(q.names):
		names := q.names
		q.names = nil
		return func(r, c reply) bool {
			if r.kind != c.kind || len(r.elements) != len(c.elements) {
				return false
			}
			for i, name := range names {
				if !sameReply(name, r.elements[i], c.elements[i]) {
					return false
				}
			}
			return true
		}
	case name == "multi", name == "exec", name == "discard", name == "reset":
		if !strings.HasPrefix(r.raw, "-ERR MULTI calls") {
			q.names = nil
		}
	}
	return func(r, c reply) bool { return sameReply(name, r, c) }
}

// TestDifferential runs the sequences of testdata/differential in both versions of the protocol, on both front ends.
func TestDifferential(t *testing.T) {
	files, err := filepath.Glob("testdata/differential/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no sequences: ", err)
	}
	for _, frontEnd := range frontEnds {
		cellOptions := append(slices.Clone(frontEnd), "--shards", "3")
		plain := startDuel(t, cellOptions, nil)
		for _, file := range files {
			feature := strings.TrimSuffix(filepath.Base(file), ".txt")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			group, err := parseGroup(string(text))
			if err != nil {
				t.Fatal(file, err)
			}
			for _, s := range group.sequences {
				for _, version := range []int{2, 3} {
					s.resp3 = version == 3
					t.Run(fmt.Sprintf("%s%s/%s/resp%d", feature, strings.Join(frontEnd, ""), s.name, version), func(t *testing.T) {
						d := plain
						if group.options != nil {
							d = startDuel(t, cellOptions, group.options)
						}
						runSequence(t, d, s)
					})
				}
			}
		}
	}
}

func runSequence(t *testing.T, d *duel, s sequence) {
	var differences, surprises []string
	if d.cell.address == "" {
		surprises = d.rehearse(s)
	} else {
		differences, surprises = d.fight(s)
	}
	for _, difference := range differences {
		t.Error(difference)
	}
	for _, surprise := range surprises {
		t.Error(surprise)
	}
	d.clean(t)
}

// clean makes both servers as new for the next sequence.
func (d *duel) clean(t testing.TB) {
	t.Helper()
	cleaning := sequence{steps: mustParseSteps("z: FLUSHALL", "z: SCRIPT FLUSH", "z: CONFIG RESETSTAT", "z: SLOWLOG RESET")}
	for _, server := range []rival{d.redis, d.cell} {
		if server.address == "" {
			continue
		}
		if first := perform(server, cleaning)[0]; first.err != nil && !errors.Is(first.err, io.EOF) {
			t.Log(server.name, "cannot be cleaned:", first.err)
		}
	}
}
