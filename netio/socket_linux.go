package netio

import (
	"io"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A socket is the transport of a connection that a loop serves itself.
type socket struct {
	fd    int
	unix  bool
	epoll int // the instance that watches it
}

func newSocket(fd, keepAliveSeconds int) *socket {
	t := &socket{fd: fd}
	family, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	t.unix = family == unix.AF_UNIX
	if !t.unix {
		// A connection that refuses its options still serves.
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		if keepAliveSeconds > 0 {
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
			_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepAliveSeconds)
			_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, probeInterval(keepAliveSeconds))
			_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepAliveProbes)
		}
	}
	return t
}

func (t *socket) Read(p []byte) (int, error) {
	n, errno := rawRead(t.fd, p)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return 0, ErrWouldBlock
	case errno != 0:
		return 0, errno
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

func (t *socket) Write(p []byte) (n int, err error) {
	for n < len(p) {
		written, errno := rawWrite(t.fd, p[n:])
		switch {
		case errno == unix.EAGAIN:
			return n, ErrWouldBlock
		case errno == unix.EINTR:
		case errno != 0:
			return n, errno
		}
		n += written
	}
	return n, nil
}

// eventsOf are the events to poll for. The kernel always tells of errors and hang-ups, of which one who waits for nothing
// wants to hear once at most.
var eventsOf = [...]uint32{ForInput: unix.EPOLLIN, ForRoom: unix.EPOLLOUT, ForInput | ForRoom: unix.EPOLLIN | unix.EPOLLOUT, ForNothing: unix.EPOLLET}

func (t *socket) Await(what Interest) { changeWatch(t.epoll, t.fd, eventsOf[what]) }

func (t *socket) Refuse(reply string) {
	_, _ = rawWrite(t.fd, []byte(reply)) // a new socket has room for it; a dead one doesn't matter
	t.Close()
}

func (t *socket) Close() { unix.Close(t.fd) }

func (t *socket) IsUnix() bool { return t.unix }

func (t *socket) Describe() (peer, local string, fd int) {
	peerAddress, _ := unix.Getpeername(t.fd)
	localAddress, _ := unix.Getsockname(t.fd)
	return formatAddress(peerAddress), formatAddress(localAddress), t.fd
}

func formatAddress(address unix.Sockaddr) string {
	switch a := address.(type) {
	case *unix.SockaddrInet4:
		return (&net.TCPAddr{IP: a.Addr[:], Port: a.Port}).String()
	case *unix.SockaddrInet6:
		return (&net.TCPAddr{IP: a.Addr[:], Port: a.Port}).String()
	case *unix.SockaddrUnix:
		return a.Name + ":0"
	}
	return ""
}

func rawRead(fd int, p []byte) (int, syscall.Errno) { return rawIO(unix.SYS_READ, fd, p) }

func rawWrite(fd int, p []byte) (int, syscall.Errno) { return rawIO(unix.SYS_WRITE, fd, p) }

func rawIO(call uintptr, fd int, p []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
