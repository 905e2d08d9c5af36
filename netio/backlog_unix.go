//go:build unix

package netio

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// setBacklog makes a listener's queue of connections to accept as long as it is told to, or as the kernel allows.
func setBacklog(listener net.Listener, backlog int) error {
	raw, err := listener.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	controlErr := raw.Control(func(fd uintptr) { err = unix.Listen(int(fd), backlog) })
	if controlErr != nil {
		return controlErr
	}
	return err
}
