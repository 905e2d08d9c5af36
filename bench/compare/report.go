package main

import (
	"fmt"
	"strings"
)

// Metrics of a sample, as the report's columns take them.
func requestsPerSecond(s sample) float64   { return s.requestsPerSecond }
func p50Micros(s sample) float64           { return s.p50Micros }
func p99Micros(s sample) float64           { return s.p99Micros }
func cpuMicrosPerRequest(s sample) float64 { return s.cpuMicrosPerRequest }
func coreBusy(s sample) float64            { return s.coreBusy }

// formatReport returns the whole report as markdown.
func formatReport(setting []fact, r results, bars []bar) string {
	var text strings.Builder
	writeHead(&text, setting, fmt.Sprintf("%s beside %s", r.servers[0], strings.Join(r.servers[1:], ", ")))
	writeFigures(&text, r)
	writeRatios(&text, r, bars)
	return text.String()
}

func writeHead(text *strings.Builder, setting []fact, title string) {
	fmt.Fprintf(text, "# %s\n\n", title)
	for _, f := range setting {
		fmt.Fprintf(text, "- %s: %s\n", f.name, f.value)
	}
}

func writeFigures(text *strings.Builder, r results) {
	fmt.Fprintf(text, "\n## Figures, median of %d rounds\n\n", r.rounds)
	text.WriteString("| depth | clients | server | requests/s | p50 µs | p99 µs | CPU µs/request | core busy |\n")
	text.WriteString("| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, l := range r.loads {
		for _, server := range r.servers {
			fmt.Fprintf(text, "| %d | %d | %s | %.0f | %.0f | %.0f | %.3f | %.0f%% |\n", l.depth, l.clients, server,
				r.median(l, server, requestsPerSecond), r.median(l, server, p50Micros), r.median(l, server, p99Micros),
				r.median(l, server, cpuMicrosPerRequest), 100*r.median(l, server, coreBusy))
		}
	}
}

func writeRatios(text *strings.Builder, r results, bars []bar) {
	fmt.Fprintf(text, "\n## %s as a ratio of each reference, median [range] of %d rounds\n\n", r.servers[0], r.rounds)
	text.WriteString("| depth | clients | reference | requests/s | p50 | p99 | CPU/request | bar | verdict |\n")
	text.WriteString("| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |\n")
	passed, judged := 0, 0
	for _, l := range r.loads {
		for _, reference := range r.servers[1:] {
			cpu := r.ratio(l, r.servers[0], reference, cpuMicrosPerRequest)
			limit, verdict := "", ""
			if b, ok := barOf(bars, reference, l); ok {
				judged++
				limit, verdict = formatRatio(b.cpuRatio), "FAIL"
				if cpu.median <= b.cpuRatio {
					passed++
					verdict = "pass"
				}
			}
			fmt.Fprintf(text, "| %d | %d | %s | %v | %v | %v | %v | %s | %s |\n", l.depth, l.clients, reference,
				r.ratio(l, r.servers[0], reference, requestsPerSecond), r.ratio(l, r.servers[0], reference, p50Micros), r.ratio(l, r.servers[0], reference, p99Micros),
				cpu, limit, verdict)
		}
	}
	if judged == 0 {
		text.WriteString("\nNo bar holds for this run.\n")
		return
	}
	fmt.Fprintf(text, "\nBars on CPU per request: %d of %d passed.\n", passed, judged)
}

// barOf returns the bar for a load against a reference, if there is one.
func barOf(bars []bar, reference string, l load) (bar, bool) {
	for _, b := range bars {
		if b.reference == reference && b.load == l {
			return b, true
		}
	}
	return bar{}, false
}
