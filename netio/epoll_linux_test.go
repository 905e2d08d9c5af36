package netio

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAcceptingRests: without descriptors accepting rests, and goes on where there are some again.
func TestAcceptingRests(t *testing.T) {
	l := newLoop(t, Epoll)
	l.dial()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		l.wait(IdleAfter)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := <-l.rested; err != syscall.EMFILE || len(l.taken) > 0 {
		t.Errorf("%v, and %d were accepted", err, len(l.taken))
	}
	l.take().Close()
}
