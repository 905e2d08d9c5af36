package gcra

import (
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"
)

// call is one set of arguments of Decide.
type call struct {
	stored, now int64
	limit       Limit
	quantity    int64
}

func (c call) decide() (Decision, error) {
	return decide(c.stored, c.now, c.limit, c.quantity)
}

// twin is Decide as section 3 of the design writes it, in integers that have no size.
func (c call) twin() (Decision, error) {
	switch {
	case c.limit.MaxBurst < -1 || c.limit.MaxBurst == math.MaxInt64:
		return Decision{}, ErrMaxBurst
	case c.limit.Count < 0:
		return Decision{}, ErrCount
	case c.limit.Period < 0:
		return Decision{}, ErrPeriod
	case c.limit.Count == 0:
		return Decision{}, ErrZeroRate
	}
	T := c.emissionInterval()
	if T.Sign() == 0 {
		return Decision{}, ErrZeroRate
	}
	now, capacity, one := big.NewInt(c.now), big.NewInt(c.limit.MaxBurst+1), big.NewInt(1)
	tau := mul(T, capacity)
	inc := mul(T, big.NewInt(c.quantity))

	tat := big.NewInt(max(c.stored, c.now))
	newTAT := add(tat, inc)
	over := sub(sub(newTAT, now), tau)

	d := Decision{Limited: over.Sign() > 0, Limit: c.limit.MaxBurst + 1, RetryAfter: -1}
	if d.Limited {
		newTAT = tat
		if inc.Cmp(tau) <= 0 {
			d.RetryAfter = ceilSeconds(over).Int64()
		}
	} else if newTAT.Cmp(now) < 0 {
		newTAT = now
	}
	if !newTAT.IsInt64() {
		if !add(now, T).IsInt64() {
			return Decision{}, ErrLongPeriod
		}
		return Decision{}, ErrQuantity
	}
	d.TAT = newTAT.Int64()
	if !d.Limited && newTAT.Cmp(tat) != 0 {
		d.Write = Store
		if newTAT.Cmp(now) == 0 {
			d.Write = Remove
		}
	}

	ttl := sub(newTAT, now)
	d.ResetAfter = ceilSeconds(ttl).Int64()
	// big.Int's Div rounds down for a positive divisor. The clamp comes first: unclamped it may be far below any int64.
	if remaining := new(big.Int).Div(sub(tau, ttl), T); remaining.Cmp(one) >= 0 {
		d.Remaining = remaining.Int64()
	}
	return d, nil
}

// emissionInterval is T, for a positive count.
func (c call) emissionInterval() *big.Int {
	nanos := mul(big.NewInt(c.limit.Period), big.NewInt(1_000_000_000))
	return nanos.Quo(nanos, big.NewInt(c.limit.Count))
}

func add(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) }
func sub(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }
func mul(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }

func ceilSeconds(nanos *big.Int) *big.Int {
	second := big.NewInt(1_000_000_000)
	seconds, rest := new(big.Int).QuoRem(nanos, second, new(big.Int))
	if rest.Sign() > 0 {
		seconds.Add(seconds, big.NewInt(1))
	}
	return seconds
}

// check compares a call with its twin, then holds the answer to its promises.
func (c call) check(t *testing.T) (Decision, error) {
	t.Helper()
	got, err := c.decide()
	want, wantErr := c.twin()
	if got != want || err != wantErr {
		t.Fatalf("%+v\n got %+v, %v\nwant %+v, %v", c, got, err, want, wantErr)
	}
	if err == nil {
		c.checkRetryAfter(t, got)
		c.checkRemaining(t, got)
		c.checkResetAfter(t, got)
	}
	return got, err
}

// checkRetryAfter: waiting that long lets the same call pass, a second less does not.
func (c call) checkRetryAfter(t *testing.T, d Decision) {
	t.Helper()
	if !d.Limited || c.quantity > d.Limit {
		if d.RetryAfter != -1 {
			t.Fatalf("%+v: retry_after where there is nothing to wait for: %+v", c, d)
		}
		return
	}
	if d.RetryAfter < 1 {
		t.Fatalf("%+v: limited with retry_after below 1: %+v", c, d)
	}
	if later, ok := c.after(d.RetryAfter); ok {
		// Near the year 2262 the call may pass its limit and yet have no TAT to store.
		if again, err := later.decide(); again.Limited || err != nil && err != ErrQuantity && err != ErrLongPeriod {
			t.Fatalf("%+v: still limited after retry_after: %+v, then %+v", c, d, again)
		}
	}
	if later, ok := c.after(d.RetryAfter - 1); ok {
		if again, err := later.decide(); !again.Limited {
			t.Fatalf("%+v: passes before retry_after: %+v, then %+v, %v", c, d, again, err)
		}
	}
}

// checkRemaining: so many tokens can be taken right after the call, and not one more.
func (c call) checkRemaining(t *testing.T, d Decision) {
	t.Helper()
	if d.Remaining < 0 || d.Remaining > d.Limit {
		t.Fatalf("%+v: remaining outside 0 to limit: %+v", c, d)
	}
	next := call{stored: d.TAT, now: c.now, limit: c.limit, quantity: d.Remaining}
	if again, _ := next.decide(); d.Remaining > 0 && again.Limited {
		t.Fatalf("%+v: remaining cannot be taken: %+v, then %+v", c, d, again)
	}
	if d.Remaining == math.MaxInt64 {
		return
	}
	next.quantity++
	if again, _ := next.decide(); !again.Limited {
		t.Fatalf("%+v: more than remaining can be taken: %+v, then %+v", c, d, again)
	}
}

// checkResetAfter: the bucket is full after that long, and not a second before.
func (c call) checkResetAfter(t *testing.T, d Decision) {
	t.Helper()
	read := call{stored: d.TAT, now: c.now, limit: c.limit}
	if later, ok := read.after(d.ResetAfter); ok {
		if full, _ := later.decide(); full.ResetAfter != 0 || full.Remaining != full.Limit {
			t.Fatalf("%+v: not full after reset_after: %+v, then %+v", c, d, full)
		}
	}
	if later, ok := read.after(d.ResetAfter - 1); ok && d.ResetAfter > 0 {
		if full, _ := later.decide(); full.ResetAfter == 0 {
			t.Fatalf("%+v: full before reset_after: %+v, then %+v", c, d, full)
		}
	}
}

// after is the same call so many seconds later, if int64 has that time.
func (c call) after(seconds int64) (call, bool) {
	later := add(big.NewInt(c.now), mul(big.NewInt(seconds), big.NewInt(1_000_000_000)))
	c.now = later.Int64()
	return c, later.IsInt64()
}

// edges are the integers near which arithmetic breaks.
var edges = func() []int64 {
	values := []int64{0, math.MinInt64, math.MinInt64 + 1, math.MaxInt64, math.MaxInt64 - 1, start, 1e9, 1e9 + 1, 60, 3600, 86400}
	for shift := range 63 {
		power := int64(1) << shift
		values = append(values, power-1, power, power+1, -power-1, -power, 1-power)
	}
	return values
}()

// generator draws calls: extreme ones, everyday ones, and those a nanosecond to either side of a decision.
type generator struct{ *rand.Rand }

func (g generator) integer() int64 {
	switch g.IntN(4) {
	case 0:
		return edges[g.IntN(len(edges))]
	case 1:
		return g.Int64N(100) - 1
	default: // any length of number is as likely as any other
		number := int64(g.Uint64() >> g.IntN(64))
		if g.IntN(8) == 0 {
			return -number
		}
		return number
	}
}

func (g generator) call() call {
	c := call{
		stored:   g.integer(),
		now:      g.integer(),
		limit:    Limit{MaxBurst: g.integer(), Count: g.integer(), Period: g.integer()},
		quantity: g.integer(),
	}
	if g.IntN(4) > 0 { // mostly valid
		c.limit.MaxBurst = max(c.limit.MaxBurst, -1)
		c.limit.Count = max(c.limit.Count, 1)
		c.limit.Period = max(c.limit.Period, 1)
	}
	if g.IntN(2) == 0 {
		c.now = start
	}
	if g.IntN(2) == 0 {
		c.quantity = min(c.quantity, c.limit.MaxBurst)
	}
	if c.limit.Count > 0 {
		g.moveToEdge(&c)
	}
	return c
}

// moveToEdge moves the stored TAT or the clock to where the outcome changes, give or take a nanosecond, if that is an int64.
func (g generator) moveToEdge(c *call) {
	now, cost := big.NewInt(c.now), mul(c.emissionInterval(), big.NewInt(c.quantity))
	nudge := big.NewInt(g.Int64N(3) - 1)
	switch g.IntN(4) {
	case 0: // just limited, or not: stored = now + tau - inc
		tau := mul(c.emissionInterval(), add(big.NewInt(c.limit.MaxBurst), big.NewInt(1)))
		if edge := add(sub(add(now, tau), cost), nudge); edge.IsInt64() {
			c.stored = edge.Int64()
		}
	case 1: // just full, or not: stored = now - inc
		if edge := add(sub(now, cost), nudge); edge.IsInt64() {
			c.stored = edge.Int64()
		}
	case 2: // just storable, or not: now = MaxInt64 - inc, for a key that is missing
		if edge := add(sub(big.NewInt(math.MaxInt64), cost), nudge); edge.IsInt64() {
			c.now, c.stored = edge.Int64(), math.MinInt64
		}
	}
}

// TestTwin compares Decide with its twin over random calls, and makes sure that the calls reach every outcome.
func TestTwin(t *testing.T) {
	calls := 300_000
	if os.Getenv("CELLSERVER_HEAVY") == "1" {
		calls = 5_000_000
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := generator{rand.New(rand.NewPCG(seed, 0))}

	outcomes := map[string]int{}
	for range calls {
		c := g.call()
		outcomes[outcome(c.check(t))]++
	}
	for _, want := range []string{
		"limited", "oversize", "kept", "stored", "removed",
		ErrMaxBurst.Error(), ErrCount.Error(), ErrPeriod.Error(), ErrZeroRate.Error(), ErrQuantity.Error(), ErrLongPeriod.Error(),
	} {
		if outcomes[want] < calls/1000 {
			t.Errorf("outcome %q in only %d of %d calls", want, outcomes[want], calls)
		}
	}
	t.Logf("outcomes: %v", outcomes)
}

func outcome(d Decision, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case d.Limited && d.RetryAfter < 0:
		return "oversize"
	case d.Limited:
		return "limited"
	}
	return map[Write]string{Keep: "kept", Store: "stored", Remove: "removed"}[d.Write]
}

// TestTwinAtEdges takes all combinations of a few extremes, which random calls may miss.
func TestTwinAtEdges(t *testing.T) {
	instants := []int64{math.MinInt64, -1, 0, start, math.MaxInt64 - 1, math.MaxInt64}
	counts := []int64{math.MinInt64, -2, -1, 0, 1, 2, 1e9, 1 << 32, math.MaxInt64 - 1, math.MaxInt64}
	for _, stored := range instants {
		for _, now := range instants {
			for _, maxBurst := range counts {
				for _, count := range counts {
					for _, period := range counts {
						for _, quantity := range counts {
							call{stored, now, Limit{maxBurst, count, period}, quantity}.check(t)
						}
					}
				}
			}
		}
	}
}

// TestTwinAtSpanOf64Bits: emission intervals of 2⁶⁴-1 and 2⁶⁴ ns, which fit between two instants, and do not.
func TestTwinAtSpanOf64Bits(t *testing.T) {
	const count = 400_000_000 // so that T is 2.5 ns for each second of the period
	for _, test := range []struct {
		period int64
		want   error
	}{
		{7_378_697_629_483_820_646, nil},           // T = 2⁶⁴-1
		{7_378_697_629_483_820_647, ErrLongPeriod}, // T = 2⁶⁴+1
	} {
		c := call{math.MinInt64, math.MinInt64, Limit{0, count, test.period}, 1}
		if _, err := c.check(t); err != test.want {
			t.Errorf("period %d: error %v, want %v", test.period, err, test.want)
		}
		for _, quantity := range []int64{math.MinInt64, -1, 0, 1, 2} {
			c.quantity = quantity
			c.check(t)
			c.stored = math.MaxInt64
			c.check(t)
			c.stored = math.MinInt64
		}
	}
}

func FuzzDecide(f *testing.F) {
	f.Add(int64(0), start, int64(15), int64(30), int64(60), int64(1))
	f.Add(start+1e9, start, int64(15), int64(30), int64(60), int64(-1))
	f.Add(int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt64-1), int64(1), int64(math.MaxInt64), int64(math.MinInt64))
	g := generator{rand.New(rand.NewPCG(1, 2))}
	for range 100 {
		c := g.call()
		f.Add(c.stored, c.now, c.limit.MaxBurst, c.limit.Count, c.limit.Period, c.quantity)
	}
	f.Fuzz(func(t *testing.T, stored, now, maxBurst, count, period, quantity int64) {
		call{stored, now, Limit{maxBurst, count, period}, quantity}.check(t)
	})
}
