package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// fact is a line of the report's head: under what circumstances its figures arose.
type fact struct {
	name, value string
}

// describeSetting gathers the circumstances of a run. What cannot be found out reads "unknown": a missing kernel
// version is no reason to lose the figures.
func describeSetting(p plan, binary, cellModule string, arguments []string, start time.Time) []fact {
	facts := []fact{
		{"date", start.UTC().Format(time.RFC3339)},
		{"command", strings.Join(append([]string{"go run ./bench/compare"}, arguments...), " ")},
		{"CPU", fmt.Sprintf("%s, %d cores", cpuModel(readFile("/proc/cpuinfo")), runtime.NumCPU())},
		{"kernel", readFile("/proc/sys/kernel/osrelease")},
		{"load average at start", readFile("/proc/loadavg")},
		{"pinned", fmt.Sprintf("servers to core %s, clients to core %s", p.serverCores, p.clientCores)},
		{"cellserver", fmt.Sprintf("%s, shards %d", binaryVersion(binary), p.shards)},
		{"redis-server", firstLine("redis-server", "--version")},
		{"redis-benchmark", firstLine("redis-benchmark", "--version")},
		{"disk", fmt.Sprintf("%s, which is %s", p.dir, strings.Join(strings.Fields(firstLine("findmnt", "-n", "-o", "FSTYPE,SOURCE", "-T", p.dir)), " on "))},
	}
	if len(p.loads) > 0 {
		request := strings.Join(contender{}.request("", "key:__rand_int__", usualLimit), " ")
		facts = append(facts, fact{"request", fmt.Sprintf("%s, %d keys", request, p.keys)})
	}
	if cellModule != "" {
		facts = append(facts, fact{"redis-cell", cellModule})
	}
	return facts
}

// binaryVersion tells the commit and the Go version that a binary was built from, by what the go command left in it.
func binaryVersion(path string) string {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	commit, modified := "unknown", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			commit = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			modified = " with uncommitted changes"
		}
	}
	return fmt.Sprintf("commit %s%s, %s", commit, modified, info.GoVersion)
}

// cpuModel finds the first "model name" in the text of /proc/cpuinfo.
func cpuModel(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func readFile(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

func firstLine(command string, arguments ...string) string {
	output, err := exec.Command(command, arguments...).Output()
	if err != nil {
		return "unknown"
	}
	line, _, _ := bytes.Cut(output, []byte("\n"))
	return string(line)
}
