package server

import (
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file is the front end of Linux: every loop has an epoll instance and makes its system calls raw.
//
// A raw call does not tell Go's scheduler that the thread may block, which saves a hand-off of the loop's processor for
// every read, write and wait. What makes that safe for the blocking wait: the collector and the scheduler stop a
// goroutine with a signal to its thread, the signal ends epoll_wait with EINTR, and the loop meets a safe point at its
// next function call. They repeat the signal until it works, so one that comes just before the wait is not lost.

func init() {
	frontEnds[ioEpoll] = frontEnd{newPoller: newEpoll, accept: acceptWithEpoll}
}

const (
	// maxEvents is how many ready connections one wait can tell of; more are told by the next.
	maxEvents = 512
	// maxAccepts is how many connections are accepted in one pass, so that a flood of them doesn't stop the others: some 0.3 ms'
	// work.
	maxAccepts = 16
)

// epoll is the poller of a loop.
type epoll struct {
	fd        int
	eventFD   int // becomes readable by wake
	events    [maxEvents]unix.EpollEvent
	conns     []*conn // by descriptor
	server    *Server // of the loop that accepts
	listeners []int
	resting   time.Time // accepting goes on then; zero: it goes on
}

func newEpoll() (poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	eventFD, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	p := &epoll{fd: fd, eventFD: eventFD}
	if err := p.watch(eventFD, unix.EPOLLIN); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// watch has epoll tell of events on a descriptor. It fails where the kernel's limits on watches or memory are reached.
func (p *epoll) watch(fd int, events uint32) error {
	err := unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
	if err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// change changes what epoll tells of a descriptor that it watches, or, for no events, ends the watch.
func (p *epoll) change(fd int, events uint32) {
	operation := unix.EPOLL_CTL_MOD
	if events == 0 {
		operation = unix.EPOLL_CTL_DEL
	}
	if err := unix.EpollCtl(p.fd, operation, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)}); err != nil {
		panic(fmt.Sprintf("server: epoll_ctl on a watched descriptor: %v", err))
	}
}

func (p *epoll) add(c *conn) error {
	if secure, isStream := c.transport.(*stream); isStream {
		secure.start(c)
		return nil
	}
	fd := c.transport.(*socket).fd
	if err := p.watch(fd, unix.EPOLLIN); err != nil {
		return err
	}
	for len(p.conns) <= fd {
		p.conns = append(p.conns, nil)
	}
	p.conns[fd] = c
	c.transport.(*socket).poller = p
	return nil
}

func (p *epoll) remove(c *conn) {
	if t, isSocket := c.transport.(*socket); isSocket {
		p.conns[t.fd] = nil // closing the descriptor does the rest
	}
}

func (p *epoll) wait(ready []*conn, timeout time.Duration, idle bool) []*conn {
	if !p.resting.IsZero() && time.Now().After(p.resting) {
		if err := p.watchListeners(); err != nil {
			p.rest(err)
		}
	}
	for _, event := range p.events[:p.poll(timeout, idle)] {
		fd := int(event.Fd)
		switch {
		case fd < len(p.conns) && p.conns[fd] != nil:
			ready = append(ready, p.conns[fd])
		case fd == p.eventFD:
			var count [8]byte
			_, _ = rawRead(p.eventFD, count[:]) // EAGAIN at worst
		default:
			p.acceptOn(fd)
		}
	}
	return ready
}

// poll waits for events and returns how many there are. A busy loop waits raw; one that has been idle gives its
// processor back to the scheduler, which needs some microseconds more to return.
func (p *epoll) poll(timeout time.Duration, idle bool) int {
	if !idle {
		timeout = min(timeout, idleAfter)
	}
	var n uintptr
	var errno syscall.Errno
	if idle {
		n, _, errno = syscall.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])),
			maxEvents, uintptr(timeout.Milliseconds()), 0, 0)
	} else {
		n, _, errno = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])),
			maxEvents, uintptr(timeout.Milliseconds()), 0, 0)
	}
	if errno != 0 {
		if errno != unix.EINTR {
			panic(fmt.Sprintf("server: epoll_wait: %v", errno))
		}
		return 0
	}
	return int(n)
}

func (p *epoll) wake() {
	one := [8]byte{0: 1}
	_, _ = rawWrite(p.eventFD, one[:]) // EAGAIN at worst: it is readable already
}

func (p *epoll) close() {
	unix.Close(p.fd)
	unix.Close(p.eventFD)
}

// acceptWithEpoll hands the listeners' descriptors to the first loop.
func acceptWithEpoll(s *Server) error {
	p := s.loops[0].poller.(*epoll)
	p.server = s
	for _, listener := range s.listeners {
		fd, err := duplicate(listener)
		if err != nil {
			return fmt.Errorf("cannot use the listener on %s: %w", listener.Addr(), err)
		}
		p.listeners = append(p.listeners, fd)
	}
	return p.watchListeners()
}

// duplicate takes a listener's descriptor over from the Go runtime, whose own poller would wake for every connection.
func duplicate(listener net.Listener) (fd int, err error) {
	raw, err := listener.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(original uintptr) {
		fd, err = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0)
	})
	if controlErr != nil {
		return 0, controlErr
	}
	if err != nil {
		return 0, err
	}
	return fd, listener.Close()
}

func (p *epoll) watchListeners() error {
	p.resting = time.Time{}
	for i, fd := range p.listeners {
		if err := p.watch(fd, unix.EPOLLIN); err != nil {
			for _, watched := range p.listeners[:i] {
				p.change(watched, 0)
			}
			return err
		}
	}
	return nil
}

// rest stops accepting for a while.
func (p *epoll) rest(err error) {
	p.server.resting.tell(err)
	p.resting = time.Now().Add(acceptPause)
}

func (p *epoll) stopAccepting() {
	for _, fd := range p.listeners {
		unix.Close(fd)
	}
	p.listeners = nil
}

// acceptOn accepts what waits on a listener. On an error that would only come again, accepting rests.
func (p *epoll) acceptOn(listener int) {
	for range maxAccepts {
		fd, _, err := unix.Accept4(listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
			if c := p.server.newConn(newSocket(fd, p.server.config().TCPKeepAliveSeconds)); c != nil {
				c.place()
			}
		case unix.EAGAIN:
			return
		case unix.EINTR, unix.ECONNABORTED:
		default:
			for _, fd := range p.listeners {
				p.change(fd, 0)
			}
			p.rest(err)
			return
		}
	}
}

// A socket is the transport of a connection that a loop serves itself.
type socket struct {
	fd     int
	unix   bool
	poller *epoll
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

func (t *socket) read(p []byte) (int, error) {
	n, errno := rawRead(t.fd, p)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return 0, errWouldBlock
	case errno != 0:
		return 0, errno
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

func (t *socket) write(p []byte) (n int, err error) {
	for n < len(p) {
		written, errno := rawWrite(t.fd, p[n:])
		switch {
		case errno == unix.EAGAIN:
			return n, errWouldBlock
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
var eventsOf = [...]uint32{forInput: unix.EPOLLIN, forRoom: unix.EPOLLOUT, forInput | forRoom: unix.EPOLLIN | unix.EPOLLOUT, forNothing: unix.EPOLLET}

func (t *socket) await(what interest) { t.poller.change(t.fd, eventsOf[what]) }

func (t *socket) refuse(reply string) {
	_, _ = rawWrite(t.fd, []byte(reply)) // a new socket has room for it; a dead one doesn't matter
	t.close()
}

func (t *socket) close() { unix.Close(t.fd) }

func (t *socket) isUnix() bool { return t.unix }

func (t *socket) describe() (peer, local string, fd int) {
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
