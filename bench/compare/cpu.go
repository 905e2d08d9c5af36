package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

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
