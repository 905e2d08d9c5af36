package compat_test

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// soakLimits are the limits of the hot keys: slow, fast, without burst, and below a microsecond apart.
var soakLimits = []struct{ burst, count, period int64 }{{4, 10, 1}, {0, 200, 1}, {99, 1000, 1}, {9, 5_000_000, 1}, {1, 60, 60}}

// An admission is one call that was let pass: the server decided it at some time between asked and answered.
type admission struct{ asked, answered time.Time }

// A soak is a server under mixed load, and what its clients have seen.
type soak struct {
	t        *testing.T
	process  *process
	mu       sync.Mutex
	admitted map[string][]admission // by hot key
}

// TestSoak puts mixed load on two shards from many connections. No key may let more pass in any window of time than
// its burst and what has drained since; no reply may be missing, out of order or torn. In CI the server is built with
// the race detector and the load lasts half a minute.
func TestSoak(t *testing.T) {
	lasting := 2 * time.Second
	if heavy {
		lasting = 30 * time.Second
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, frontEnd := range frontEnds {
		t.Run(strings.Join(frontEnd, ""), func(t *testing.T) {
			s := &soak{t: t, admitted: map[string][]admission{}}
			s.process = startAs(t, heavy, freePort(t), append(frontEnd, "--shards", "2")...)
			until := time.Now().Add(lasting)
			var clients sync.WaitGroup
			for number := range 24 {
				random := rand.New(rand.NewPCG(seed, uint64(number)))
				clients.Go(func() {
					for time.Now().Before(until) && !t.Failed() {
						if number%8 == 7 {
							s.disturb(random)
						} else {
							s.converse(random, number)
						}
					}
				})
			}
			clients.Wait()
			for key, admissions := range s.admitted {
				s.checkWindows(key, admissions)
			}
			s.checkYield(lasting)
			s.process.stop(syscall.SIGTERM) // a data race would show on stderr and in the exit code
		})
	}
}

func (s *soak) dial() net.Conn {
	nc, err := net.Dial("tcp", s.process.address)
	if err != nil {
		s.t.Error(err)
		return nil
	}
	_ = nc.SetDeadline(time.Now().Add(patience))
	return nc
}

// An exchange is a command and what its reply has to be.
type exchange struct {
	command string
	check   func(reply string) bool
	key     string // of a call on a hot key
}

// converse opens a connection, sends some pipelines of random depth, and checks every reply.
func (s *soak) converse(random *rand.Rand, number int) {
	nc := s.dial()
	if nc == nil {
		return
	}
	defer nc.Close()
	in := bufio.NewReader(nc)
	for range 20 {
		exchanges := make([]exchange, 1+random.IntN(1<<random.IntN(9)))
		var sent strings.Builder
		for i := range exchanges {
			exchanges[i] = s.choose(random, number)
			sent.WriteString(exchanges[i].command)
		}
		asked := time.Now()
		go io.WriteString(nc, sent.String()) // replies may fill the sockets before all is sent
		for _, e := range exchanges {
			reply, err := readReply(in)
			if err != nil || !e.check(reply) {
				s.t.Errorf("%q got %q, %v", e.command, reply, err)
				return
			}
			if e.key != "" && strings.HasPrefix(reply, "[0 ") {
				answered := time.Now()
				s.mu.Lock()
				s.admitted[e.key] = append(s.admitted[e.key], admission{asked, answered})
				s.mu.Unlock()
			}
		}
	}
	_, _ = io.WriteString(nc, encode("QUIT"))
	if rest, err := io.ReadAll(in); string(rest) != "+OK\r\n" || err != nil {
		s.t.Errorf("after QUIT: %q, %v", rest, err)
	}
}

func (s *soak) choose(random *rand.Rand, number int) exchange {
	cold := fmt.Sprintf("cold:%d:%d", number, random.IntN(10_000))
	isInteger := func(reply string) bool { _, err := strconv.Atoi(reply); return err == nil }
	isFive := func(reply string) bool { return strings.HasPrefix(reply, "[") && strings.Count(reply, " ") == 4 }
	payload := strconv.FormatUint(random.Uint64(), 36)
	is := func(want string) func(string) bool { return func(reply string) bool { return reply == want } }
	switch random.IntN(14) {
	case 0:
		return exchange{encode("ECHO", payload), is(payload), ""}
	case 1:
		return exchange{encode("GET", cold), func(reply string) bool { return reply == "nil" || isInteger(reply) }, ""}
	case 2:
		return exchange{encode("DEL", cold, cold+"x", cold+"y"), isInteger, ""}
	case 3:
		return exchange{encode("CL.PROBE", "hot:0", "4", "10", "1"), isFive, ""}
	case 4:
		return exchange{encode("SCAN", "0", "COUNT", "5"), func(reply string) bool { return strings.HasPrefix(reply, "[") }, ""}
	case 5:
		return exchange{encode("PING"), is("PONG"), ""}
	case 6:
		return exchange{encode("NOSUCH", payload), func(reply string) bool { return strings.Contains(reply, payload) }, ""}
	case 7:
		return exchange{encode("EXISTS", cold, cold+"x", "hot:0", "hot:1"), isInteger, ""}
	case 8:
		return exchange{encode("INFO", "stats"), func(reply string) bool { return strings.HasPrefix(reply, "# Stats") }, ""}
	case 9, 10:
		return exchange{encode("CL.THROTTLE", cold, "5", "100", "1"), isFive, ""}
	}
	i := random.IntN(len(soakLimits))
	limit, key := soakLimits[i], fmt.Sprint("hot:", i)
	command := encode("CL.THROTTLE", key, fmt.Sprint(limit.burst), fmt.Sprint(limit.count), fmt.Sprint(limit.period))
	return exchange{command, isFive, key}
}

// disturb does what a broken client does: breaks off, sends rubbish, or does not read.
func (s *soak) disturb(random *rand.Rand) {
	nc := s.dial()
	if nc == nil {
		return
	}
	defer nc.Close()
	command := encode("CL.THROTTLE", "disturbed", "5", "100", "1")
	switch random.IntN(4) {
	case 0:
		_, _ = io.WriteString(nc, strings.Repeat(command, 50)+command[:random.IntN(len(command))])
	case 1:
		rubbish := make([]byte, 1+random.IntN(2000))
		for i := range rubbish {
			rubbish[i] = byte(random.Uint32())
		}
		_, _ = nc.Write(rubbish)
	case 2:
		_, _ = io.WriteString(nc, "*3\r\n$3\r\nSET\r\n$500000000\r\nx")
	case 3:
		_, _ = io.WriteString(nc, strings.Repeat(encode("KEYS", "*"), 20))
	}
	time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
}

// checkWindows verifies that in no window of time more calls of a key were let pass than its limit and what drains in
// the window.
//
// Admissions are put in the order of their questions. Those from the i-th to the j-th were all decided between the i-th
// question and the latest answer up to the j-th, so with times counted in tokens
//
//	j - i + 1 <= limit + latest(j) - asked(i)
//
// and it is enough to keep the largest asked(i) - i on the way.
func (s *soak) checkWindows(key string, admissions []admission) {
	var number int
	if _, err := fmt.Sscanf(key, "hot:%d", &number); err != nil {
		s.t.Fatal(err)
	}
	limit := soakLimits[number]
	slices.SortFunc(admissions, func(a, b admission) int { return a.asked.Compare(b.asked) })
	inTokens := func(at time.Time) float64 {
		return at.Sub(admissions[0].asked).Seconds() * float64(limit.count) / float64(limit.period)
	}
	earliest, latest, worst := math.Inf(-1), 0.0, 0.0
	for j, a := range admissions {
		earliest = max(earliest, inTokens(a.asked)-float64(j))
		latest = max(latest, inTokens(a.answered))
		worst = max(worst, float64(j+1)-float64(limit.burst+1)-latest+earliest)
	}
	if worst > 0.001 {
		s.t.Errorf("%s let %.3f calls too many pass in some window", key, worst)
	}
}

// checkYield verifies that the hot keys let pass what they should: at least the burst and, where the limit is so low that it
// is asked for much more, half of what drained. The other half is for slow machines.
func (s *soak) checkYield(lasting time.Duration) {
	for i, limit := range soakLimits {
		least := float64(limit.burst + 1)
		if perSecond := float64(limit.count) / float64(limit.period); perSecond <= 10 {
			least += perSecond * lasting.Seconds() / 2
		}
		if passed := len(s.admitted[fmt.Sprint("hot:", i)]); float64(passed) < least {
			s.t.Errorf("hot:%d let only %d calls pass", i, passed)
		}
	}
}
