package server

import (
	"runtime"
	"testing"
)

// goroutineName tells goroutines apart: the beginning of a stack trace has the number.
func goroutineName() string {
	var trace [32]byte
	return string(trace[:runtime.Stack(trace[:], false)])
}

// TestRunner: jobs run one after the other on one goroutine until that is renewed, and the end of the server ends it.
func TestRunner(t *testing.T) {
	end := make(chan struct{})
	r := newRunner(end)
	var names []string
	job := func() { names = append(names, goroutineName()) }
	<-r.start(job)
	<-r.start(job)
	r.renew()
	<-r.start(job)
	<-r.start(job)
	if names[0] != names[1] || names[1] == names[2] || names[2] != names[3] || names[0] == goroutineName() {
		t.Errorf("%q", names)
	}
	before := runtime.NumGoroutine()
	close(end)
	eventually(t, "the runner has ended", func() bool { return runtime.NumGoroutine() < before })
}
