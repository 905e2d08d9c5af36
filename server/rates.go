package server

import "time"

// rates are what INFO's instantaneous_* fields are made of: a loop's counters as they were during the last seconds.
type rates struct {
	samples [rateSamples]rateSample
	next    int
	taken   int
}

type rateSample struct {
	atNanos                 int64 // the store's clock
	commands, input, output uint64
}

const (
	// rateSamples and rateEvery are Redis's: a mean over the last second and a half.
	rateSamples = 16
	rateEvery   = tick
)

// due says whether it is time for a sample.
func (r *rates) due(now int64) bool { return r.taken == 0 || now-r.last().atNanos >= int64(rateEvery) }

func (r *rates) sample(now int64, s *loopStats) {
	r.samples[r.next] = rateSample{now, s.commands, s.inputBytes, s.outputBytes}
	r.next = (r.next + 1) % rateSamples
	r.taken = min(r.taken+1, rateSamples)
}

func (r *rates) last() *rateSample { return &r.samples[(r.next+rateSamples-1)%rateSamples] }

// perSecond returns the rates over the time from the oldest sample kept to the last.
func (r *rates) perSecond() (commands, inputBytes, outputBytes float64) {
	if r.taken < 2 {
		return 0, 0, 0
	}
	oldest, last := &r.samples[(r.next+rateSamples-r.taken)%rateSamples], r.last()
	seconds := (time.Duration(last.atNanos - oldest.atNanos)).Seconds()
	return float64(last.commands-oldest.commands) / seconds, float64(last.input-oldest.input) / seconds,
		float64(last.output-oldest.output) / seconds
}
