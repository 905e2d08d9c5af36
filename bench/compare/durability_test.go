package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPersistenceReport(t *testing.T) {
	l := load{depth: 16, clients: 50}
	r := newResults([]load{l}, nil, 1)
	for i, policy := range policies {
		cost := float64(i + 1) // by which each policy is worse than none
		r.add(l, variant(cellserver, policy), sample{600_000 / cost, 100 * cost, 200 * cost, 1 * cost, 0.5})
		r.add(l, variant(redisCell, policy), sample{120_000 / cost, 400 * cost, 800 * cost, 5 * cost, 1})
	}
	report := formatPersistence([]fact{{"kernel", "6.18"}}, r, []string{cellserver, redisCell})
	for _, want := range []string{
		"# Throughput with a log\n\n- kernel: 6.18\n\n## Figures, median of 1 rounds\n",
		"| 16 | 50 | off | cellserver | 600000 | 100 | 200 | 1.000 | 50% |\n",
		"| 16 | 50 | always | redis-cell | 30000 | 1600 | 3200 | 20.000 | 100% |\n",
		"| 16 | 50 | no | cellserver | 0.500 [0.500..0.500] | 2.00 [2.00..2.00] | 2.00 [2.00..2.00] | 2.00 [2.00..2.00] |\n",
		"| 16 | 50 | everysec | redis-cell | 5.00 [5.00..5.00] | 0.250 [0.250..0.250] | 0.250 [0.250..0.250] | 0.200 [0.200..0.200] |\n",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("want %q in\n%s", want, report)
		}
	}
}

func TestLoadReport(t *testing.T) {
	samples := map[string][]kept{
		cellserver: {{snapshotBytes: 47e6, save: 0.5, filledBytes: 50e6}, {snapshotBytes: 47e6, save: 0.7, filledBytes: 50e6}},
		redisCell:  {{snapshotBytes: 47e6, save: 2.0, filledBytes: 150e6}, {snapshotBytes: 47e6, save: 1.0, filledBytes: 100e6}},
	}
	report := formatLoad(nil, samples, []string{cellserver, redisCell}, 2_000_000, 2)
	for _, want := range []string{
		"\n## 2000000 keys, an increment of 1000000 records, median of 2 rounds; ratios cellserver to reference, median [range]\n\n" +
			"| | cellserver | redis-cell | ratio to redis-cell |\n| --- | ---: | ---: | ---: |\n" +
			"| snapshot, MB | 47.0 | 47.0 | 1.00 [1.00..1.00] |\n",
		"| SAVE, s | 0.60 | 1.50 | 0.475 [0.250..0.700] |\n",
		"| resident after SETs, MB | 50 | 125 | 0.417 [0.333..0.500] |\n",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("want %q in\n%s", want, report)
		}
	}
}

func TestSnapshotReport(t *testing.T) {
	r := snapshotResults{servers: []string{cellserver, redisCell}}
	r.samples = map[string]map[string][]latencies{
		cellserver: {without: {{20, 50, 80, 100, 3, 0}}, "BGSAVE": {{30, 100, 160, 500, 4, 0.01}}, "BGREWRITEAOF": {{30, 101, 160, 500, 4, 0}}},
		redisCell:  {without: {{40, 100, 160, 200, 3, 0}}, "BGSAVE": {{60, 400, 800, 900, 9, 0}}, "BGREWRITEAOF": {{40, 100, 160, 200, 9, 0}}},
	}
	r.memory = map[string]map[string]grown{
		cellserver: {without: {before: 400e6, growth: 1e6}, "BGSAVE": {before: 400e6, growth: 2e6}},
		redisCell:  {"BGREWRITEAOF": {before: 1200e6, growth: 300e6}},
	}
	report := formatSnapshot(bench{plan: plan{mode: mode{rounds: 1, keys: 10, rate: 20_000}}}, r)
	for _, want := range []string{
		"\n## Latency of calls, 20000 a second on 10 keys, log synced every second; median of 1 rounds\n",
		"| cellserver | BGSAVE | 30 | 100 | 160 | 500 | 4.0 | 1.0% |\n",
		"| cellserver | BGSAVE | 1.50 [1.50..1.50] | 2.00 [2.00..2.00] | 2.00 [2.00..2.00] | 5.00 [5.00..5.00] | 2.00 | pass |\n",
		"| 2.02 [2.02..2.02] | 2.00 [2.00..2.00] | 5.00 [5.00..5.00] | 2.00 | FAIL |\n",
		"| redis-cell | BGSAVE | 1.50 [1.50..1.50] | 4.00 [4.00..4.00] | 5.00 [5.00..5.00] | 4.50 [4.50..4.50] |  |  |\n",
		"| redis-cell | nothing | 0.500 [0.500..0.500] | 0.500 [0.500..0.500] | 0.500 [0.500..0.500] | 0.500 [0.500..0.500] |\n",
		"| cellserver | BGSAVE | 400 | 2.0 |\n",
		"| redis-cell | BGREWRITEAOF | 1200 | 300.0 |\n",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("want %q in\n%s", want, report)
		}
	}
}

func TestPercentile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1))
	}
	for _, test := range []struct {
		sorted []time.Duration
		share  float64
		want   time.Duration
	}{
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 0.999, 100},
		{hundred, 1, 100},
		{hundred, 0, 1},
		{hundred[:1], 0.5, 1},
		{hundred[:3], 0.5, 2},
	} {
		if got := percentile(test.sorted, test.share); got != test.want {
			t.Errorf("of %d values, %g of them do not exceed %d, want %d", len(test.sorted), test.share, got, test.want)
		}
	}
}

func TestMemoryField(t *testing.T) {
	path := filepath.Join(t.TempDir(), "status")
	if err := os.WriteFile(path, []byte("Name:\tx\nVmRSS:\t  2048 kB\nRssAnon:\tx kB\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := memoryField(path, "VmRSS"); err != nil || got != 2<<20 {
		t.Errorf("got %d, %v, want 2 MiB", got, err)
	}
	for _, name := range []string{"Rss", "RssAnon"} {
		if got, err := memoryField(path, name); err == nil {
			t.Errorf("%s: accepted as %d", name, got)
		}
	}
}

// Each mode in miniature, against redis-lua, which takes no module.
func TestModesMiniature(t *testing.T) {
	requireTools(t)
	binary, err := cellserverBinary(t.Context(), "", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		arguments string
		rows      int // of tables, with the two of each head
	}{
		{"persistence -rounds 1 -seconds 0.05 -depths 16", 2 + 8 + 2 + 6 + 2 + 4},
		{"load -rounds 1", 2 + 10},
		{"snapshot -rounds 1 -seconds 0.2 -rate 2000", 2 + 6 + 2 + 4 + 2 + 3 + 2 + 6},
	} {
		t.Run(strings.Fields(test.arguments)[0], func(t *testing.T) {
			var report strings.Builder
			arguments := append(strings.Fields(test.arguments), "-keys", "20000", "-cellserver", binary, "-dir", t.TempDir(), "-client-cores", "0")
			if err := run(t.Context(), arguments, "", &report, t.Output()); err != nil {
				t.Fatal(err)
			}
			t.Log("\n" + report.String())
			if got := strings.Count(report.String(), "\n|"); got != test.rows {
				t.Errorf("%d rows of tables, want %d", got, test.rows)
			}
			if strings.Contains(report.String(), "NaN") {
				t.Error("a figure is none")
			}
		})
	}
}
