package main

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

// pinThread gives the goroutine a thread of its own, on the cores. The thread ends with the goroutine.
func pinThread(cores string) error {
	runtime.LockOSThread()
	output, err := exec.Command("taskset", "-c", "-p", cores, strconv.Itoa(syscall.Gettid())).CombinedOutput()
	if err != nil {
		return fmt.Errorf("taskset: %w: %s", err, output)
	}
	return nil
}

// readNow reads what is there, which may be nothing.
func readNow(c *net.TCPConn, in []byte) (n int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	rawErr := raw.Read(func(fd uintptr) (done bool) {
		n, err = syscall.Read(int(fd), in)
		return true
	})
	switch {
	case rawErr != nil:
		return 0, rawErr
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR):
		return 0, nil
	case err == nil && n == 0:
		return 0, net.ErrClosed
	}
	return n, err
}
