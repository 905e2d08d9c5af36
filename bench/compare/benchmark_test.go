package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What redis-benchmark 7.0.15 prints.
const benchmarkCSV = `"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"
"cl.throttle key:__rand_int__ 100 1000 60 1","657894.75","1.083","0.296","1.039","1.727","2.255","2.975"
`

func TestParseBenchmark(t *testing.T) {
	got, err := parseBenchmark([]byte(benchmarkCSV))
	if err != nil {
		t.Fatal(err)
	}
	if want := (sample{requestsPerSecond: 657894.75, p50Micros: 1039, p99Micros: 2255}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParseBenchmarkRefuses(t *testing.T) {
	for name, output := range map[string]string{
		"nothing":         "",
		"no values":       "\"test\",\"rps\",\"p50_latency_ms\",\"p99_latency_ms\"\n",
		"missing column":  "\"test\",\"rps\",\"p50_latency_ms\"\n\"x\",\"1\",\"2\"\n",
		"not a number":    "\"test\",\"rps\",\"p50_latency_ms\",\"p99_latency_ms\"\n\"x\",\"fast\",\"1\",\"2\"\n",
		"NaN":             "\"test\",\"rps\",\"p50_latency_ms\",\"p99_latency_ms\"\n\"x\",\"nan\",\"1\",\"2\"\n",
		"ragged":          "\"test\",\"rps\"\n\"x\"\n",
		"two result rows": benchmarkCSV + "\"y\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\"\n",
	} {
		if got, err := parseBenchmark([]byte(output)); err == nil {
			t.Errorf("%s: accepted as %+v", name, got)
		}
	}
}

func TestWholePasses(t *testing.T) {
	for _, test := range []struct {
		load     load
		requests float64
		want     int
	}{
		{load{depth: 1, clients: 1}, 7, 7},
		{load{depth: 16, clients: 50}, 0.5, 800},
		{load{depth: 16, clients: 50}, 800, 800},
		{load{depth: 16, clients: 50}, 801, 1600},
	} {
		if got := test.load.wholePasses(test.requests); got != test.want {
			t.Errorf("%+v: %g requests rounded to %d, want %d", test.load, test.requests, got, test.want)
		}
	}
}

func TestParseThrottleReply(t *testing.T) {
	got, err := parseThrottleReply("0\n101\n100\n-1\n1")
	if want := [5]int64{0, 101, 100, -1, 1}; err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for _, reply := range []string{"", "ERR unknown command 'cl.throttle'", "0\n101\n100\n-1", "0\n101\n100\n-1\nx", "0\n1\n2\n3\n4\n5"} {
		if got, err := parseThrottleReply(reply); err == nil {
			t.Errorf("%q: accepted as %v", reply, got)
		}
	}
}

// The process is named as awkwardly as it can be.
func TestParseChildTimes(t *testing.T) {
	const stat = "77 (a ) 1 2) S 1 77 77 0 -1 4194560 100 200 0 0 31 32 33 34 20 0 1 0 5 6 7"
	if got, err := parseChildTimes(stat); err != nil || got != 670*time.Millisecond {
		t.Errorf("got %v, %v, want 0.67s", got, err)
	}
	for _, stat := range []string{"", "77 (a) S 1 2 3", strings.Replace(stat, " 33 ", " x ", 1)} {
		if got, err := parseChildTimes(stat); err == nil {
			t.Errorf("%q: accepted as %v", stat, got)
		}
	}
}

func TestThreadTimes(t *testing.T) {
	task := t.TempDir()
	write := func(thread, schedstat string) {
		folder := filepath.Join(task, thread)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "schedstat"), []byte(schedstat), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func() threadTimes {
		times, err := readThreadTimes(task)
		if err != nil {
			t.Fatal(err)
		}
		return times
	}
	write("100", "5000 77 3\n")
	write("101", "1000 77 3\n")
	before := read()
	write("100", "9000 99 4\n")
	write("102", "300 0 1\n") // started in between: all of its time counts
	after := read()
	if spent, err := after.since(before); err != nil || spent != 4300*time.Nanosecond {
		t.Errorf("spent %v, %v, want 4.3µs", spent, err)
	}
	if _, err := before.since(after); err == nil {
		t.Error("the end of thread 102 went unnoticed")
	}
	write("100", "many\n")
	if times, err := readThreadTimes(task); err == nil {
		t.Errorf("schedstat without a number read as %v", times)
	}
}
