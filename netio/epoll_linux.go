package netio

import (
	"fmt"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file is the front end of Linux: every loop has an epoll instance and makes its system calls raw, which is safe for the
// reason that the package's documentation gives.

func init() { newPollers[Epoll] = newEpoll }

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
	eventFD   int // becomes readable by Wake
	events    [maxEvents]unix.EpollEvent
	handles   []Handle // by descriptor
	acceptor  *Acceptor
	listeners []int
	resting   time.Time // accepting goes on then; zero: it goes on
}

func newEpoll() (Poller, error) {
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
		p.Close()
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

// changeWatch changes what an epoll instance tells of a descriptor that it watches, or, for no events, ends the watch.
func changeWatch(epoll, fd int, events uint32) {
	operation := unix.EPOLL_CTL_MOD
	if events == 0 {
		operation = unix.EPOLL_CTL_DEL
	}
	if err := unix.EpollCtl(epoll, operation, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)}); err != nil {
		panic(fmt.Sprintf("netio: epoll_ctl on a watched descriptor: %v", err))
	}
}

func (p *epoll) Add(t Transport, handle Handle) error {
	if secure, isStream := t.(*stream); isStream {
		secure.start(handle)
		return nil
	}
	s := t.(*socket)
	if err := p.watch(s.fd, unix.EPOLLIN); err != nil {
		return err
	}
	for len(p.handles) <= s.fd {
		p.handles = append(p.handles, nil)
	}
	p.handles[s.fd] = handle
	s.epoll = p.fd
	return nil
}

func (p *epoll) Remove(t Transport) {
	if s, isSocket := t.(*socket); isSocket {
		p.handles[s.fd] = nil // closing the descriptor does the rest
	}
}

func (p *epoll) Wait(ready []Handle, timeout time.Duration, idle bool) []Handle {
	if !p.resting.IsZero() && time.Now().After(p.resting) {
		if err := p.watchListeners(); err != nil {
			p.rest(err)
		}
	}
	for _, event := range p.events[:p.poll(timeout, idle)] {
		fd := int(event.Fd)
		switch {
		case fd < len(p.handles) && p.handles[fd] != nil:
			ready = append(ready, p.handles[fd])
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
		timeout = min(timeout, IdleAfter)
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
			panic(fmt.Sprintf("netio: epoll_wait: %v", errno))
		}
		return 0
	}
	return int(n)
}

func (p *epoll) Wake() {
	one := [8]byte{0: 1}
	_, _ = rawWrite(p.eventFD, one[:]) // EAGAIN at worst: it is readable already
}

func (p *epoll) Close() {
	unix.Close(p.fd)
	unix.Close(p.eventFD)
}

// Accept takes the listeners over: they are closed, and their descriptors' duplicates are polled.
func (p *epoll) Accept(listeners []net.Listener, by *Acceptor) error {
	p.acceptor = by
	for _, listener := range listeners {
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
				changeWatch(p.fd, watched, 0)
			}
			return err
		}
	}
	return nil
}

// rest stops accepting for a while.
func (p *epoll) rest(err error) {
	p.acceptor.Rests(err)
	p.resting = time.Now().Add(AcceptPause)
}

func (p *epoll) StopAccepting() {
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
			p.acceptor.Take(newSocket(fd, p.acceptor.KeepAliveSeconds()))
		case unix.EAGAIN:
			return
		case unix.EINTR, unix.ECONNABORTED:
		default:
			for _, fd := range p.listeners {
				changeWatch(p.fd, fd, 0)
			}
			p.rest(err)
			return
		}
	}
}
