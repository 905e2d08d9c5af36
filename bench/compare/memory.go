package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memoryField returns a field of a file like /proc/PID/status or /proc/PID/smaps_rollup, in bytes.
func memoryField(path, name string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no %s", path, name)
}

// resident returns how many bytes of the server are in memory.
func (s *server) resident() (int64, error) {
	return memoryField(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid), "VmRSS")
}

// residentWithChildren returns the same, and what its children have for themselves alone: pages that they do not share with it any
// more, since one of them has written there.
func (s *server) residentWithChildren() (int64, error) {
	pid := s.process.Process.Pid
	bytes, err := s.resident()
	if err != nil {
		return 0, err
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0, err
	}
	for _, child := range strings.Fields(string(children)) {
		for _, field := range []string{"Private_Clean", "Private_Dirty"} {
			private, err := memoryField("/proc/"+child+"/smaps_rollup", field)
			if err != nil {
				break // the child has ended meanwhile
			}
			bytes += private
		}
	}
	return bytes, nil
}
