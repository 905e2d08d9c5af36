package main

import (
	"strings"
	"testing"
)

// fixedResults are two rounds of one load, with every ratio easy to work out by hand.
func fixedResults() results {
	l := load{depth: 16, clients: 50}
	r := newResults([]load{l}, []string{cellserver, redisLua, null}, 2)
	r.add(l, cellserver, sample{400_000, 100, 200, 1.0, 0.40})
	r.add(l, redisLua, sample{100_000, 400, 1000, 10.0, 1.00})
	r.add(l, null, sample{500_000, 50, 100, 0.8, 0.40})
	r.add(l, cellserver, sample{420_000, 110, 300, 1.2, 0.50})
	r.add(l, redisLua, sample{100_000, 440, 1000, 8.0, 0.80})
	r.add(l, null, sample{500_000, 55, 100, 0.6, 0.30})
	return r
}

func TestReport(t *testing.T) {
	const want = `# cellserver beside redis-lua, null

- kernel: 6.18

## Figures, median of 2 rounds

| depth | clients | server | requests/s | p50 µs | p99 µs | CPU µs/request | core busy |
| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |
| 16 | 50 | cellserver | 410000 | 105 | 250 | 1.100 | 45% |
| 16 | 50 | redis-lua | 100000 | 420 | 1000 | 9.000 | 90% |
| 16 | 50 | null | 500000 | 52 | 100 | 0.700 | 35% |

## cellserver as a ratio of each reference, median [range] of 2 rounds

| depth | clients | reference | requests/s | p50 | p99 | CPU/request | bar | verdict |
| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |
| 16 | 50 | redis-lua | 4.10 [4.00..4.20] | 0.250 [0.250..0.250] | 0.250 [0.200..0.300] | 0.125 [0.100..0.150] | 0.125 | pass |
| 16 | 50 | null | 0.820 [0.800..0.840] | 2.00 [2.00..2.00] | 2.50 [2.00..3.00] | 1.62 [1.25..2.00] |  |  |

Bars on CPU per request: 1 of 1 passed.
`
	got := formatReport([]fact{{"kernel", "6.18"}}, fixedResults(), []bar{{redisLua, load{depth: 16, clients: 50}, 0.125}})
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The verdict goes by the figure itself, not by the three decimals that are printed.
func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		name     string
		cpuRatio float64
		want     string
	}{
		{"at the bar", 0.125, "Bars on CPU per request: 1 of 1 passed.\n"},
		{"just above the bar", 0.12499, "Bars on CPU per request: 0 of 1 passed.\n"},
	} {
		bars := []bar{{redisLua, load{depth: 16, clients: 50}, test.cpuRatio}}
		if report := formatReport(nil, fixedResults(), bars); !strings.HasSuffix(report, test.want) {
			t.Errorf("%s: want %q at the end of\n%s", test.name, test.want, report)
		}
	}
	const none = "No bar holds for this run.\n"
	if report := formatReport(nil, fixedResults(), barsFor(2, []string{redisLua})); !strings.HasSuffix(report, none) {
		t.Errorf("two shards: want %q at the end of\n%s", none, report)
	}
}

func TestBarsFor(t *testing.T) {
	for _, test := range []struct {
		references []string
		shards     int
		bars       int
		reference  string
	}{
		{[]string{redisLua, null}, 1, 3, redisLua},
		{[]string{redisLua, null, redisCell}, 1, 4, redisCell},
		{[]string{redisLua, null, redisCell}, 2, 0, ""},
	} {
		got := barsFor(test.shards, test.references)
		if len(got) != test.bars {
			t.Errorf("%v, %d shards: %d bars, want %d", test.references, test.shards, len(got), test.bars)
		}
		for _, b := range got {
			if b.reference != test.reference {
				t.Errorf("%v, %d shards: a bar of %s", test.references, test.shards, b.reference)
			}
		}
	}
}

func TestSpread(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   spread
	}{
		{[]float64{3}, spread{3, 3, 3}},
		{[]float64{4, 1}, spread{2.5, 1, 4}},
		{[]float64{5, 1, 2}, spread{2, 1, 5}},
		{[]float64{8, 1, 4, 2}, spread{3, 1, 8}},
	} {
		if got := spreadOf(test.values); got != test.want {
			t.Errorf("spreadOf(%v) = %+v, want %+v", test.values, got, test.want)
		}
	}
}

func TestCPUModel(t *testing.T) {
	const cpuinfo = "processor\t: 0\nmodel\t\t: 207\nmodel name\t: Some Chip @ 2 GHz\n\nprocessor\t: 1\nmodel name\t: Other\n"
	if got := cpuModel(cpuinfo); got != "Some Chip @ 2 GHz" {
		t.Errorf("got %q", got)
	}
	if got := cpuModel("unreadable"); got != "unknown" {
		t.Errorf("got %q", got)
	}
}
