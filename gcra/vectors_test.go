package gcra

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"
)

// vectorStep is one recorded call. Reply is the right answer, which is redis-cell's own unless the file says otherwise.
type vectorStep struct {
	Now   int64     `json:"now"`
	Args  []string  `json:"args"` // key max_burst count period [quantity]
	Reply *[5]int64 `json:"reply"`
	Error string    `json:"error"` // "out of range" where the TAT would pass 2262
	TAT   *int64    `json:"tat"`   // stored afterwards, null where the key is absent; no field after an error
}

// TestRedisCellVectors replays 900 traces recorded from redis-cell 0.5.0 under a controlled clock.
func TestRedisCellVectors(t *testing.T) {
	const wantTraces, wantSteps = 900, 21392

	file, err := os.Open("testdata/redis-cell.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}

	traces, steps := 0, 0
	decoder := json.NewDecoder(bufio.NewReader(unzipped))
	for decoder.More() {
		var trace struct {
			Trace string       `json:"trace"`
			Steps []vectorStep `json:"steps"`
		}
		if err := decoder.Decode(&trace); err != nil {
			t.Fatalf("trace %d: %v", traces, err)
		}
		traces++
		steps += len(trace.Steps)

		keys := store{}
		for i, step := range trace.Steps {
			if !replayVector(t, keys, step) {
				t.Fatalf("%s, step %d: %+v", trace.Trace, i, step)
			}
		}
	}
	if traces != wantTraces || steps != wantSteps {
		t.Errorf("%d traces, %d steps, want %d, %d", traces, steps, wantTraces, wantSteps)
	}
}

// replayVector reports whether one step went as recorded.
func replayVector(t *testing.T, keys store, step vectorStep) bool {
	key := step.Args[0]
	before, existed := keys[key]
	decision, err := keys.throttle(t, step.Now, step.Args)
	after, exists := keys[key]

	if step.Error != "" {
		if step.Error != "out of range" || err != ErrQuantity || before != after || existed != exists {
			t.Errorf("error %v, TAT %d then %d, want ErrQuantity and an untouched key", err, before, after)
			return false
		}
		return true
	}
	if err != nil || reply(decision) != *step.Reply {
		t.Errorf("reply %v, error %v, want %v", reply(decision), err, *step.Reply)
		return false
	}
	live := exists && after > step.Now
	if live != (step.TAT != nil) || live && after != *step.TAT {
		t.Errorf("key live %v with TAT %d", live, after)
		return false
	}
	return true
}
