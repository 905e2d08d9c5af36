package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cpuTimes is the CPU time a process has had so far, and that of its children that have ended: Redis forks for a snapshot.
type cpuTimes struct {
	threads  threadTimes
	children time.Duration
}

// userTick is the unit of times in /proc/PID/stat, on every Linux.
const userTick = 10 * time.Millisecond

// readCPUTimes reads folder, which is /proc/PID.
func readCPUTimes(folder string) (cpuTimes, error) {
	threads, err := readThreadTimes(filepath.Join(folder, "task"))
	if err != nil {
		return cpuTimes{}, err
	}
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return cpuTimes{}, err
	}
	children, err := parseChildTimes(string(stat))
	return cpuTimes{threads, children}, err
}

// parseChildTimes reads the fields cutime and cstime, the 16th and 17th. The second is a name that may hold spaces.
func parseChildTimes(stat string) (time.Duration, error) {
	const cutime, cstime = 16, 17
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // from the third on
	if len(fields) <= cstime-3 {
		return 0, fmt.Errorf("not a process's stat: %q", stat)
	}
	var ticks int64
	for _, field := range []string{fields[cutime-3], fields[cstime-3]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("times of children: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * userTick, nil
}

// since returns the CPU time that the process and its children had from earlier on.
func (t cpuTimes) since(earlier cpuTimes) (time.Duration, error) {
	own, err := t.threads.since(earlier.threads)
	return own + t.children - earlier.children, err
}

// threadTimes is the CPU time each thread of a process has had so far, by thread id.
type threadTimes map[string]time.Duration

// readThreadTimes reads folder/*/schedstat, where folder is /proc/PID/task. The first field is nanoseconds on a core.
func readThreadTimes(folder string) (threadTimes, error) {
	threads, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	times := make(threadTimes, len(threads))
	for _, thread := range threads {
		text, err := os.ReadFile(filepath.Join(folder, thread.Name(), "schedstat"))
		if err != nil {
			return nil, err
		}
		first, _, _ := strings.Cut(string(text), " ")
		nanos, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("schedstat of thread %s: %w", thread.Name(), err)
		}
		times[thread.Name()] = time.Duration(nanos)
	}
	return times, nil
}

// since returns the CPU time that the process had from earlier on. A thread that has ended meanwhile took its time with
// it; its cost would be lost, so that is an error.
func (t threadTimes) since(earlier threadTimes) (time.Duration, error) {
	var spent time.Duration
	for _, d := range t {
		spent += d
	}
	for thread, d := range earlier {
		if _, alive := t[thread]; !alive {
			return 0, fmt.Errorf("thread %s ended while it was measured, and its CPU time with it", thread)
		}
		spent -= d
	}
	return spent, nil
}
