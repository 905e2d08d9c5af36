package main

import (
	"context"
	"fmt"
	"strings"
)

// Policies of the append-only file, as the report names them.
const (
	logOff      = "off"
	whenever    = "no" // appendfsync no: the kernel decides
	everySecond = "everysec"
	always      = "always"
)

var policies = []string{logOff, whenever, everySecond, always}

// withPolicy returns the contender with a log of the policy.
func (c contender) withPolicy(policy string) contender {
	options := []string{"--appendonly", "yes", "--appendfsync", policy}
	if policy == logOff {
		options = []string{"--appendonly", "no"}
	}
	c.name, c.log = variant(c.name, policy), policy
	c.argv = append(c.argv[:len(c.argv):len(c.argv)], options...)
	return c
}

// variant names a server with a policy in the results.
func variant(server, policy string) string { return server + " " + policy }

// measurePersistence measures every load on every server with each policy of the log.
func measurePersistence(ctx context.Context, b bench) (string, error) {
	var all []contender
	for _, policy := range policies {
		for _, c := range contenders(b.plan, b.binary, b.cellModule) {
			all = append(all, c.withPolicy(policy))
		}
	}
	r, err := compare(ctx, b.plan, all, b.folder, b.progress)
	if err != nil {
		return "", err
	}
	return formatPersistence(b.setting, r, append([]string{cellserver}, b.references...)), nil
}

// formatPersistence returns the report as markdown. The first of the servers is ours.
func formatPersistence(setting []fact, r results, servers []string) string {
	var text strings.Builder
	writeHead(&text, setting, "Throughput with a log")

	fmt.Fprintf(&text, "\n## Figures, median of %d rounds\n\n", r.rounds)
	text.WriteString("| depth | clients | log | server | requests/s | p50 µs | p99 µs | CPU µs/request | core busy |\n")
	text.WriteString("| ---: | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, l := range r.loads {
		for _, policy := range policies {
			for _, server := range servers {
				v := variant(server, policy)
				fmt.Fprintf(&text, "| %d | %d | %s | %s | %.0f | %.0f | %.0f | %.3f | %.0f%% |\n", l.depth, l.clients, policy, server,
					r.median(l, v, requestsPerSecond), r.median(l, v, p50Micros), r.median(l, v, p99Micros),
					r.median(l, v, cpuMicrosPerRequest), 100*r.median(l, v, coreBusy))
			}
		}
	}

	fmt.Fprintf(&text, "\n## Each policy as a ratio of the same server without a log, median [range] of %d rounds\n\n", r.rounds)
	writeLogRatioHead(&text, "server")
	for _, l := range r.loads {
		for _, server := range servers {
			for _, policy := range policies[1:] {
				writeLogRatio(&text, r, l, policy, server, variant(server, policy), variant(server, logOff))
			}
		}
	}

	fmt.Fprintf(&text, "\n## %s as a ratio of each reference with the same policy, median [range] of %d rounds\n\n", servers[0], r.rounds)
	writeLogRatioHead(&text, "reference")
	for _, l := range r.loads {
		for _, policy := range policies {
			for _, reference := range servers[1:] {
				writeLogRatio(&text, r, l, policy, reference, variant(servers[0], policy), variant(reference, policy))
			}
		}
	}
	return text.String()
}

func writeLogRatioHead(text *strings.Builder, who string) {
	fmt.Fprintf(text, "| depth | clients | log | %s | requests/s | p50 | p99 | CPU/request |\n", who)
	text.WriteString("| ---: | ---: | --- | --- | ---: | ---: | ---: | ---: |\n")
}

func writeLogRatio(text *strings.Builder, r results, l load, policy, who, server, reference string) {
	fmt.Fprintf(text, "| %d | %d | %s | %s | %v | %v | %v | %v |\n", l.depth, l.clients, policy, who,
		r.ratio(l, server, reference, requestsPerSecond), r.ratio(l, server, reference, p50Micros),
		r.ratio(l, server, reference, p99Micros), r.ratio(l, server, reference, cpuMicrosPerRequest))
}
