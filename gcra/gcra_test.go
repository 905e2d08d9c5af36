package gcra

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

// decide is Decide with results of its own.
func decide(stored, now int64, limit Limit, quantity int64) (decision Decision, err error) {
	err = Decide(stored, now, &limit, quantity, &decision)
	return decision, err
}

// start is the instant at which stories begin, in January 2027.
const start int64 = 1_800_000_000_000_000_000

// store is what a caller keeps: the TATs of the existing keys.
type store map[string]int64

// throttle makes a call as the command would, args being key max_burst count period [quantity], and does what the decision says.
func (s store) throttle(t *testing.T, now int64, args []string) (Decision, error) {
	t.Helper()
	numbers := [4]int64{3: 1} // quantity is 1 unless given
	for i, arg := range args[1:] {
		number, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		numbers[i] = number
	}
	limit := Limit{MaxBurst: numbers[0], Count: numbers[1], Period: numbers[2]}

	decision, err := decide(s[args[0]], now, limit, numbers[3])
	switch decision.Write {
	case Store:
		s[args[0]] = decision.TAT
	case Remove:
		delete(s, args[0])
	}
	return decision, err
}

// reply is the command's answer.
func reply(d Decision) [5]int64 {
	limited := int64(0)
	if d.Limited {
		limited = 1
	}
	return [5]int64{limited, d.Limit, d.Remaining, d.RetryAfter, d.ResetAfter}
}

// step is one call of a story and what must come of it.
type step struct {
	at   time.Duration // since start
	call string        // key max_burst count period [quantity]
	want string        // limited, limit, remaining, retry_after, reset_after; or the error
}

var stories = []struct {
	name  string
	steps []step
}{
	{"redis-cell's own unit test", []step{
		{0, "k 4 1 1 6", "1 5 5 -1 0"},
		{0, "k 4 1 1 1", "0 5 4 -1 1"},
		{0, "k 4 1 1 1", "0 5 3 -1 2"},
		{0, "k 4 1 1 1", "0 5 2 -1 3"},
		{0, "k 4 1 1 1", "0 5 1 -1 4"},
		{0, "k 4 1 1 1", "0 5 0 -1 5"},
		{0, "k 4 1 1 1", "1 5 0 1 5"},
		{3000 * time.Millisecond, "k 4 1 1 1", "0 5 2 -1 3"},
		{3100 * time.Millisecond, "k 4 1 1 1", "0 5 1 -1 4"},
		{4000 * time.Millisecond, "k 4 1 1 1", "0 5 1 -1 4"},
		{8000 * time.Millisecond, "k 4 1 1 1", "0 5 4 -1 1"},
		{9500 * time.Millisecond, "k 4 1 1 1", "0 5 4 -1 1"},
		{9500 * time.Millisecond, "k 4 1 1 0", "0 5 4 -1 1"},
		{9500 * time.Millisecond, "k 4 1 1 2", "0 5 2 -1 3"},
		{9500 * time.Millisecond, "k 4 1 1 5", "1 5 2 3 3"},
	}},
	{"Dragonfly's unit test, with whole seconds as redis-cell has them", []step{
		{0, "foo 4 1 10 6", "1 5 5 -1 0"},
		{0, "foo 4 1 10", "0 5 4 -1 10"},
		{0, "foo 4 1 10", "0 5 3 -1 20"},
		{0, "foo 4 1 10", "0 5 2 -1 30"},
		{0, "foo 4 1 10", "0 5 1 -1 40"},
		{0, "foo 4 1 10", "0 5 0 -1 50"},
		{0, "foo 4 1 10", "1 5 0 10 50"},
		{30 * time.Second, "foo 4 1 10 1", "0 5 2 -1 30"},
		{31 * time.Second, "foo 4 1 10 1", "0 5 1 -1 39"},
		{40 * time.Second, "foo 4 1 10 1", "0 5 1 -1 40"},
		{80 * time.Second, "foo 4 1 10 1", "0 5 4 -1 10"},
		{95 * time.Second, "foo 4 1 10 1", "0 5 4 -1 10"},
		{95 * time.Second, "foo 4 1 10 0", "0 5 4 -1 10"},
		{95 * time.Second, "foo 4 1 10 2", "0 5 2 -1 30"},
		{95 * time.Second, "foo 4 1 10 5", "1 5 2 30 30"},
		{95 * time.Second, "bar 10 1 0", ErrZeroRate.Error()},
		{95 * time.Second, "bar 10 0 1", ErrZeroRate.Error()},
		{95 * time.Second, "bar 4 500000 1 2", "0 5 3 -1 1"}, // 4 µs are a wait too
	}},
	{"whole seconds stay, parts of a second count up", []step{
		{0, "k 0 1 2", "0 1 0 -1 2"},
		{1, "k 0 1 2", "1 1 0 2 2"},
		{time.Second, "k 0 1 2", "1 1 0 1 1"},
		{2*time.Second - 1, "k 0 1 2", "1 1 0 1 1"},
		{2 * time.Second, "k 0 1 2", "0 1 0 -1 2"},
	}},
	{"a clock that stands still never refills", []step{
		{0, "k 2 1000000000 1", "0 3 2 -1 1"},
		{0, "k 2 1000000000 1", "0 3 1 -1 1"},
		{0, "k 2 1000000000 1", "0 3 0 -1 1"},
		{0, "k 2 1000000000 1", "1 3 0 1 1"},
		{0, "k 2 1000000000 1", "1 3 0 1 1"},
		{1, "k 2 1000000000 1", "0 3 0 -1 1"},
	}},
	{"a clock that steps back an hour makes the debt longer, and forward again as before", []step{
		{time.Hour, "k 4 1 10", "0 5 4 -1 10"},
		{0, "k 4 1 10", "1 5 0 3570 3610"},
		{time.Hour, "k 4 1 10", "0 5 3 -1 20"},
	}},
	{"refund (N4)", []step{
		{0, "fresh 4 1 10 -1", "0 5 5 -1 0"},
		{0, "k 4 1 10 2", "0 5 3 -1 20"},
		{0, "k 4 1 10 -1", "0 5 4 -1 10"},
		{0, "k 4 1 10 -5", "0 5 5 -1 0"},
		{0, "k 4 1 10 5", "0 5 0 -1 50"},
		{0, "k 4 1 10 -1", "0 5 1 -1 40"}, // works on an empty bucket
		{0, "k 4 1 10 -9223372036854775808", "0 5 5 -1 0"},
		{0, "k 4 1 10 1", "0 5 4 -1 10"},
	}},
	{"a refund that leaves less than nothing to take is refused like any other call", []step{
		{0, "k 9 1 10 10", "0 10 0 -1 100"},
		{0, "k 4 1 10 -4", "1 5 0 10 100"},
		{0, "k 4 1 10 -5", "0 5 0 -1 50"},
	}},
	{"more than the bucket holds can never pass (N5, N11)", []step{
		{0, "k 9 1 86400 200000000", "1 10 10 -1 0"},
		{0, "k 9 1 86400 9223372036854775807", "1 10 10 -1 0"},
		{0, "k 9 1 86400 11", "1 10 10 -1 0"},
		{0, "k 9 1 86400 10", "0 10 0 -1 864000"},
		{0, "k 9 1 86400 11", "1 10 0 -1 864000"},
	}},
	{"a burst tolerance of more than 292 years (N6)", []step{
		{0, "a 106750 1 86400", "0 106751 106750 -1 86400"},
		{0, "b 106751 1 86400", "0 106752 106751 -1 86400"},
		{0, "c 3559 1 2592000", "0 3560 3559 -1 2592000"},
		{0, "d 153722867 1 60", "0 153722868 153722867 -1 60"},
		{0, "e 9223372036854775806 1 60", "0 9223372036854775807 9223372036854775806 -1 60"},
		{0, "e 9223372036854775806 1 60", "0 9223372036854775807 9223372036854775805 -1 120"},
	}},
	{"a limited call is never told to wait 0 seconds (N7)", []step{
		{0, "k 0 2000 1", "0 1 0 -1 1"},
		{0, "k 0 2000 1", "1 1 0 1 1"},
		{499_999, "k 0 2000 1", "1 1 0 1 1"},
		{500_000, "k 0 2000 1", "0 1 0 -1 1"},
	}},
	{"remaining is below the limit, also at uneven intervals and below a microsecond (N9)", []step{
		{0, "a 6000 6000 1", "0 6001 6000 -1 1"},
		{0, "b 3 700000 1", "0 4 3 -1 1"},
		{0, "c 10 2000000 1", "0 11 10 -1 1"},
		{0, "c 10 2000000 1 0", "0 11 10 -1 1"},
		{0, "d 9223372035 1 1", "0 9223372036 9223372035 -1 1"},
		{0, "e 99 1 9223372", "0 100 99 -1 9223372"},
	}},
	{"quantity 0 on an exhausted bucket (N10)", []step{
		{0, "k 4 1 10 5", "0 5 0 -1 50"},
		{0, "k 4 1 10 0", "0 5 0 -1 50"},
		{0, "missing 4 1 10 0", "0 5 5 -1 0"},
	}},
	{"max_burst -1 refuses every positive quantity (N12)", []step{
		{0, "k -1 1 10", "1 0 0 -1 0"},
		{0, "k -1 1 10 9223372036854775807", "1 0 0 -1 0"},
		{0, "k -1 1 10 0", "0 0 0 -1 0"},
		{0, "k -1 1 10 -1", "0 0 0 -1 0"},
		{0, "k 0 1 10", "0 1 0 -1 10"},
		{0, "k -1 1 10 0", "1 0 0 10 10"}, // over its tolerance, which is none
		{0, "k -1 1 10 1", "1 0 0 -1 10"},
	}},
	{"an emission interval past 2262 fails only the call that would store it (N14)", []step{
		{0, "k 4 1 9223372037", ErrLongPeriod.Error()},
		{0, "k 4 1 9223372036854775807", ErrLongPeriod.Error()},
		{0, "k 4 1 9223372036854775807 0", "0 5 5 -1 0"},
		{0, "k 4 1 9223372036854775807 -1", "0 5 5 -1 0"},
		{0, "k 4 1 9223372036854775807 6", "1 5 5 -1 0"},
		{0, "k 4 9223372036854775807 9223372036854775807", "0 5 4 -1 1"},
		{0, "k 4 1 9223372036854775807 0", "0 5 4 -1 1"},
		{0, "k 4 1 9223372036854775807 5", "1 5 4 1 1"},
	}},
	{"limits lowered: debt is time, not tokens (N19)", []step{
		{0, "rl 9 1 10 10", "0 10 0 -1 100"},
		{0, "rl 4 1 10 1", "1 5 0 60 100"},
		{0, "rl 4 1 10 0", "1 5 0 50 100"},
		{60 * time.Second, "rl 4 1 10 1", "0 5 0 -1 50"},
	}},
}

func TestStories(t *testing.T) {
	for _, story := range stories {
		t.Run(story.name, func(t *testing.T) {
			keys := store{}
			for i, step := range story.steps {
				decision, err := keys.throttle(t, start+int64(step.at), strings.Fields(step.call))
				got := strings.Trim(fmt.Sprint(reply(decision)), "[]")
				if err != nil {
					got = err.Error()
				}
				if got != step.want {
					t.Fatalf("step %d, at %v: %s: got %q, want %q", i, step.at, step.call, got, step.want)
				}
			}
		})
	}
}

// TestWrite: an effect is logged and shipped for each Store and Remove, so there must be none where nothing changes.
func TestWrite(t *testing.T) {
	limit := Limit{MaxBurst: 4, Count: 1, Period: 10}
	const interval = 10 * nanosPerSecond
	tests := []struct {
		name      string
		stored    int64
		quantity  int64
		wantWrite Write
		wantTAT   int64
	}{
		{"taken from a full bucket", 0, 1, Store, start + interval},
		{"taken from a bucket full just now", start, 1, Store, start + interval},
		{"taken from a part-filled bucket", start + 1, 1, Store, start + 1 + interval},
		{"all taken", start, 5, Store, start + 5*interval},
		{"refused", start + 1, 5, Keep, start + 1},
		{"oversize on a full bucket", 0, 6, Keep, start},
		{"read of a full bucket", math.MinInt64, 0, Keep, start},
		{"read of a bucket full just now", start, 0, Keep, start},
		{"read", start + 1, 0, Keep, start + 1},
		{"part of the debt given back", start + interval + 1, -1, Store, start + 1},
		{"all the debt given back", start + interval, -1, Remove, start},
		{"more than the debt given back", start + 1, -1, Remove, start},
		{"given back to a full bucket", 0, -1, Keep, start},
		{"given back to a bucket full just now", start, -1, Keep, start},
	}
	for _, test := range tests {
		decision, err := decide(test.stored, start, limit, test.quantity)
		if err != nil || decision.Write != test.wantWrite || decision.TAT != test.wantTAT {
			t.Errorf("%s: Write %d, TAT %d, error %v, want %d, %d",
				test.name, decision.Write, decision.TAT, err, test.wantWrite, test.wantTAT)
		}
	}
}

// TestStoredFarAway: whatever another program or a broken clock left in a key, the key answers, and we do not brick it.
func TestStoredFarAway(t *testing.T) {
	limit := Limit{MaxBurst: 4, Count: 1, Period: 10}
	tests := []struct {
		name        string
		stored, now int64
		quantity    int64
		want        [5]int64
	}{
		{"long past", 1, start, 1, [5]int64{0, 5, 4, -1, 10}},
		{"long past, oversize (N17)", 1, start, 6, [5]int64{1, 5, 5, -1, 0}},
		{"the whole range of int64 past", math.MinInt64, start, 1, [5]int64{0, 5, 4, -1, 10}},
		{"the end of time ahead", math.MaxInt64, start, 1, [5]int64{1, 5, 0, 7423371997, 7423372037}},
		{"2⁶⁴-1 ns ahead", math.MaxInt64, math.MinInt64, 1, [5]int64{1, 5, 0, 18446744034, 18446744074}},
		{"2⁶⁴-1 ns ahead, given back", math.MaxInt64, math.MinInt64, math.MinInt64, [5]int64{0, 5, 5, -1, 0}},
	}
	for _, test := range tests {
		decision, err := decide(test.stored, test.now, limit, test.quantity)
		if err != nil || reply(decision) != test.want {
			t.Errorf("%s: %v, error %v, want %v", test.name, reply(decision), err, test.want)
		}
	}
}

// TestFastRates (N7, N8): burst 0 in a hot loop passes exactly rate+1 calls in the first second, both its ends included.
// The loops step by a whole fraction of the emission interval, so that no time is lost between the TAT and the next call.
func TestFastRates(t *testing.T) {
	for _, test := range []struct{ rate, stepNanos int64 }{
		{1100, 909_090 / 30},
		{1250, 800_000 / 32},
		{2000, 500_000 / 20},
		{3500, 285_714 / 18},
		{100_000, 10_000 / 2},
	} {
		limit := Limit{MaxBurst: 0, Count: test.rate, Period: 1}
		tat, passed := int64(0), int64(0)
		for now := start; now <= start+nanosPerSecond; now += test.stepNanos {
			decision, err := decide(tat, now, limit, 1)
			if err != nil {
				t.Fatal(err)
			}
			if decision.Limited {
				if decision.RetryAfter != 1 {
					t.Fatalf("%d/s: refused with retry_after %d, want 1", test.rate, decision.RetryAfter)
				}
				continue
			}
			tat = decision.TAT
			passed++
		}
		if passed != test.rate+1 {
			t.Errorf("%d/s: %d calls passed, want %d", test.rate, passed, test.rate+1)
		}
	}
}

// TestWholeNanoseconds: the interval is cut to whole nanoseconds, so rates near one token a nanosecond are coarse: 600 million a
// second take 1 ns for each token and not 1.67, and above 10⁹ a second nothing is left of the interval.
func TestWholeNanoseconds(t *testing.T) {
	const now = 1_700_000_000_000_000_000
	for _, row := range []struct{ count, tat int64 }{
		{100_000_000, now + 10_000_000},
		{600_000_000, now + 1_000_000},
		{1_000_000_000, now + 1_000_000},
	} {
		var decision Decision
		limit := Limit{MaxBurst: row.count - 1, Count: row.count, Period: 1}
		if err := Decide(now, now, &limit, 1_000_000, &decision); err != nil || decision.TAT != row.tat {
			t.Errorf("a million of %d a second: TAT %d, %v, want %d", row.count, decision.TAT, err, row.tat)
		}
	}
	limit := Limit{MaxBurst: 5, Count: 1_000_000_001, Period: 1}
	if err := Decide(now, now, &limit, 1, &Decision{}); err != ErrZeroRate {
		t.Errorf("more than one token a nanosecond: %v", err)
	}
}

// TestErrors holds each limit at its last good value and one past it, and the texts clients see.
func TestErrors(t *testing.T) {
	const (
		maxBurstText = "ERR max_burst is out of range, must be between -1 and 9223372036854775806"
		countText    = "ERR count is out of range, must not be negative"
		periodText   = "ERR period is out of range, must not be negative"
		zeroRateText = "Cell error: Store error: Zero rates are not supported"
		quantityText = "ERR quantity is out of range, at this count and period it reaches past the year 2262"
		longText     = "ERR period is out of range, at this count a single token reaches past the year 2262"

		secondsLeft = 7_423_372_036 // from start to the last whole second an int64 of nanoseconds holds
	)
	tests := []struct {
		limit    Limit
		quantity int64
		want     string // "" where the call passes
	}{
		{Limit{-1, 1, 10}, 0, ""},
		{Limit{-2, 1, 10}, 0, maxBurstText},
		{Limit{math.MinInt64, 1, 10}, 0, maxBurstText},
		{Limit{math.MaxInt64 - 1, 1, 10}, 1, ""},
		{Limit{math.MaxInt64, 1, 10}, 1, maxBurstText},
		{Limit{4, 1, 10}, 1, ""},
		{Limit{4, 0, 10}, 1, zeroRateText},
		{Limit{4, -1, 10}, 1, countText},
		{Limit{4, math.MinInt64, 10}, 1, countText},
		{Limit{4, 1, 0}, 1, zeroRateText},
		{Limit{4, 1, -1}, 1, periodText},
		{Limit{4, 1, math.MinInt64}, 1, periodText},
		{Limit{4, 1_000_000_000, 1}, 1, ""},
		{Limit{4, 1_000_000_001, 1}, 1, zeroRateText},
		{Limit{4, math.MaxInt64, 9_223_372_037}, 1, ""},
		{Limit{4, math.MaxInt64, 9_223_372_036}, 1, zeroRateText},
		{Limit{4, 1, secondsLeft}, 1, ""},
		{Limit{4, 1, secondsLeft + 1}, 1, longText},
		{Limit{4, 1, secondsLeft}, 2, quantityText},
		{Limit{5, 60, math.MaxInt64 - 1}, 1, longText},
		{Limit{5, 60, math.MaxInt64 - 1}, 2, longText},
		{Limit{secondsLeft, 1, 1}, secondsLeft, ""},
		{Limit{secondsLeft, 1, 1}, secondsLeft + 1, quantityText},

		// A read shows the checks' order, and the limit is looked at whatever the quantity.
		{Limit{-2, -1, -1}, 0, maxBurstText},
		{Limit{-2, 0, 0}, 0, maxBurstText},
		{Limit{4, -1, -1}, 0, countText},
		{Limit{4, -1, 0}, 0, countText},
		{Limit{4, 0, -1}, 0, periodText},
		{Limit{4, 0, 0}, 0, zeroRateText},
		{Limit{4, 0, 10}, 6, zeroRateText},
	}
	for _, test := range tests {
		decision, err := decide(0, start, test.limit, test.quantity)
		got := ""
		if err != nil {
			got = err.Error()
			if decision != (Decision{}) {
				t.Errorf("%+v quantity %d: an error with a decision: %+v", test.limit, test.quantity, decision)
			}
		}
		if got != test.want {
			t.Errorf("%+v quantity %d: error %q, want %q", test.limit, test.quantity, got, test.want)
		}
	}
}

// TestEndOfTime: the last TAT that can be stored is the largest int64, and a refusal needs none.
func TestEndOfTime(t *testing.T) {
	limit := Limit{MaxBurst: 1, Count: 1, Period: 1}
	const last = math.MaxInt64 - nanosPerSecond

	decision, err := decide(0, last, limit, 1)
	if err != nil || decision.TAT != math.MaxInt64 || decision.Write != Store {
		t.Errorf("to the last instant: %+v, error %v", decision, err)
	}
	if _, err := decide(0, last+1, limit, 1); !errors.Is(err, ErrLongPeriod) {
		t.Errorf("one past the last instant: error %v, want ErrLongPeriod", err)
	}
	decision, err = decide(math.MaxInt64, last+1, limit, 2)
	if err != nil || reply(decision) != [5]int64{1, 2, 1, 1, 1} {
		t.Errorf("refused at the end of time: %v, error %v", reply(decision), err)
	}
}
