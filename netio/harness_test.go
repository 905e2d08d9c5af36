package netio

import (
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// everyFrontEnd runs a test with a loop of each front end.
func everyFrontEnd(t *testing.T, test func(t *testing.T, l *loop)) {
	for _, frontEnd := range FrontEnds() {
		t.Run(frontEnd, func(t *testing.T) { test(t, newLoop(t, frontEnd)) })
	}
}

// A loop is one that the test makes go on. It accepts at address and path.
type loop struct {
	t         *testing.T
	poller    Poller
	listeners []net.Listener
	address   string
	path      string
	taken     chan Transport
	rested    chan error
	ready     []Handle
}

func newLoop(t *testing.T, frontEnd string) *loop {
	t.Helper()
	p, err := NewPoller(frontEnd)
	if err != nil {
		t.Fatal(err)
	}
	l := &loop{t: t, poller: p, path: t.TempDir() + "/s", taken: make(chan Transport, 64), rested: make(chan error, 64)}
	onUnix, err := ListenUnix(l.path)
	if err != nil {
		t.Fatal(err)
	}
	l.listeners = []net.Listener{listen(t), onUnix}
	l.address = l.listeners[0].Addr().String()
	if err := p.Accept(l.listeners, l.acceptor()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.stopAccepting()
		p.Close()
	})
	return l
}

func (l *loop) stopAccepting() {
	l.poller.StopAccepting()
	for _, listener := range l.listeners {
		listener.Close()
	}
}

// listen listens on a free port of loopback until the test ends.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := ListenTCP("127.0.0.1", 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// acceptor takes connections for the loop.
func (l *loop) acceptor() *Acceptor {
	return &Acceptor{
		KeepAliveSeconds: func() int { return 300 },
		Take:             func(t Transport) { l.taken <- t; l.poller.Wake() },
		Rests:            func(err error) { l.rested <- err },
	}
}

// A peer is a loop's connection: the client's end, and what the loop has of it.
type peer struct {
	net.Conn
	loop      *loop
	transport Transport
	announced atomic.Bool
	closed    bool
}

// connect makes a connection that the loop has taken on.
func (l *loop) connect() *peer {
	l.t.Helper()
	p := l.dial()
	l.adopt(p, l.take())
	return p
}

// dial makes the client's end of a connection.
func (l *loop) dial() *peer {
	l.t.Helper()
	return l.dialTo("tcp", l.address)
}

func (l *loop) dialTo(network, address string) *peer {
	l.t.Helper()
	nc, err := net.DialTimeout(network, address, patience)
	if err != nil {
		l.t.Fatal(err)
	}
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { nc.Close() })
	return &peer{Conn: nc, loop: l}
}

// take waits for the next accepted connection.
func (l *loop) take() Transport {
	l.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); l.wait(10 * time.Millisecond) {
		select {
		case t := <-l.taken:
			return t
		default:
		}
	}
	l.t.Fatal("no connection was accepted")
	return nil
}

func (l *loop) adopt(p *peer, t Transport) {
	l.t.Helper()
	p.transport = t
	if err := l.poller.Add(t, p); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(p.end)
}

// Announce notes what a goroutine tells.
func (p *peer) Announce() {
	p.announced.Store(true)
	p.loop.poller.Wake()
}

// end closes the loop's end of the connection.
func (p *peer) end() {
	if !p.closed {
		p.closed = true
		p.loop.poller.Remove(p.transport)
		p.transport.Close()
	}
}

// wait does what a pass does, and notes who is ready.
func (l *loop) wait(timeout time.Duration) {
	l.ready = l.poller.Wait(l.ready[:0], timeout, false)
	for _, handle := range l.ready {
		handle.(*peer).announced.Store(true)
	}
}

// isReady says whether the loop is told within a time that the connection is ready.
func (p *peer) isReady(within time.Duration) bool {
	for deadline := time.Now().Add(within); ; p.loop.wait(time.Millisecond) {
		if p.announced.Swap(false) {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// awaitReady fails the test where the loop is not told that the connection is ready.
func (p *peer) awaitReady() {
	p.loop.t.Helper()
	if !p.isReady(patience) {
		p.loop.t.Fatal("the connection did not become ready")
	}
}

// input reads as a loop does, once each time that the connection is ready, until there are so many bytes or an error.
func (p *peer) input(bytes int) (string, error) {
	p.loop.t.Helper()
	var got []byte
	for len(got) < bytes {
		p.awaitReady()
		var buffer [3]byte
		n, err := p.transport.Read(buffer[:])
		got = append(got, buffer[:n]...)
		if err != nil && err != ErrWouldBlock {
			return string(got), err
		}
	}
	return string(got), nil
}
