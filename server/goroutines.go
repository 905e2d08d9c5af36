package server

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// This file is the portable front end: a goroutine reads each connection and hands what it read to the loop, another
// writes what the loop has to say.

// signalPoller lets a loop wait for its inbox alone: readiness comes as messages.
type signalPoller struct {
	signal chan struct{}
	timer  *time.Timer // for wait, which would make one each time
}

func newSignalPoller() (poller, error) {
	return &signalPoller{signal: make(chan struct{}, 1), timer: time.NewTimer(0)}, nil
}

func (p *signalPoller) wait(ready []*conn, timeout time.Duration, _ bool) []*conn {
	if timeout > 0 {
		p.timer.Reset(timeout)
		select {
		case <-p.signal:
		case <-p.timer.C:
		}
	}
	return ready
}

func (p *signalPoller) wake() {
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

func (p *signalPoller) add(c *conn) error {
	c.transport.(*stream).start(c)
	return nil
}

func (p *signalPoller) remove(*conn)   {}
func (p *signalPoller) stopAccepting() {}
func (p *signalPoller) close()         {}

// acceptWithGoroutines starts a goroutine per listener. They end when the listeners are closed.
func acceptWithGoroutines(s *Server) error {
	for _, listener := range s.listeners {
		go s.acceptOn(listener, func(nc net.Conn) {
			if c := s.newConn(newStream(nc, s.config().TCPKeepAliveSeconds)); c != nil {
				c.place()
			}
		})
	}
	return nil
}

// acceptOn accepts until the listener is closed.
func (s *Server) acceptOn(listener net.Listener, take func(nc net.Conn)) {
	for {
		nc, err := listener.Accept()
		switch {
		case err == nil:
			take(nc)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			s.resting.tell(err)
			time.Sleep(acceptPause)
		}
	}
}

// streamBytes is how much output a stream takes at a time; what the loop keeps is subject to its limit.
const streamBytes = 256 << 10

// lingerTime is how long a closed connection's last output may take to be written.
const lingerTime = 5 * time.Second

// A stream is the transport of a connection that two goroutines serve.
type stream struct {
	net.Conn
	conn     *conn
	notice   envelope      // tells the loop that the connection is ready
	noticed  atomic.Bool   // notice is on its way
	consumed chan struct{} // the loop has taken all that was read
	written  chan struct{} // the loop has left output, or has closed the stream
	gone     chan struct{} // closed with the stream

	mu       sync.Mutex
	incoming []byte // read and not yet taken by the loop
	readErr  error
	outgoing []byte // being written
	writeErr error
	awaited  bool // the loop wants to know when outgoing is empty
	closed   bool
}

func newStream(nc net.Conn, keepAliveSeconds int) *stream {
	below := nc
	if secure, isTLS := nc.(*tls.Conn); isTLS {
		below = secure.NetConn()
	}
	if tcp, isTCP := below.(*net.TCPConn); isTCP {
		// A connection that refuses its options still serves.
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{
			Enable:   keepAliveSeconds > 0,
			Idle:     time.Duration(keepAliveSeconds) * time.Second,
			Interval: time.Duration(probeInterval(keepAliveSeconds)) * time.Second,
			Count:    keepAliveProbes,
		})
	}
	return &stream{Conn: nc, consumed: make(chan struct{}, 1), written: make(chan struct{}, 1), gone: make(chan struct{})}
}

func (t *stream) start(c *conn) {
	t.conn = c
	t.notice.deliver = func(l *loop) {
		t.noticed.Store(false)
		l.rouse(c)
	}
	go t.readOn()
	go t.writeOn()
}

// announce makes the connection ready, once until the loop has looked.
func (t *stream) announce() {
	if !t.noticed.Swap(true) {
		t.conn.loop.post(&t.notice)
	}
}

// readOn reads whenever the loop has taken what was read before, so a loop that doesn't read stops the peer.
func (t *stream) readOn() {
	buffer := make([]byte, leastReadBytes)
	for {
		n, err := t.Conn.Read(buffer)
		t.mu.Lock()
		t.incoming, t.readErr = buffer[:n], err
		t.mu.Unlock()
		t.announce()
		if err != nil {
			return
		}
		select {
		case <-t.consumed:
		case <-t.gone: // whatever the peer still sends
			return
		}
	}
}

func (t *stream) read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := copy(p, t.incoming)
	t.incoming = t.incoming[n:]
	switch {
	case len(t.incoming) > 0 || n > 0 && t.readErr != nil:
		t.announce()
	case n > 0:
		t.consumed <- struct{}{}
	case t.readErr != nil:
		return 0, t.readErr
	default:
		return 0, errWouldBlock
	}
	return n, nil
}

// writeOn writes what the loop leaves, and closes the connection when the loop has closed the stream.
func (t *stream) writeOn() {
	for range t.written {
		t.mu.Lock()
		outgoing, closed := t.outgoing, t.closed
		t.mu.Unlock()
		var err error
		if len(outgoing) > 0 {
			_, err = t.Conn.Write(outgoing)
		}
		t.mu.Lock()
		t.outgoing = t.outgoing[:0]
		t.writeErr = err
		announce := t.awaited && !t.closed
		t.mu.Unlock()
		if closed {
			t.Conn.Close()
			return
		}
		if announce {
			t.announce()
		}
	}
}

func (t *stream) write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.writeErr != nil {
		return 0, t.writeErr
	}
	if len(t.outgoing) > 0 {
		return 0, errWouldBlock
	}
	n := min(len(p), streamBytes)
	t.outgoing = append(t.outgoing, p[:n]...)
	t.tellWriter()
	if n < len(p) {
		return n, errWouldBlock
	}
	return n, nil
}

func (t *stream) refuse(reply string) {
	_ = t.SetDeadline(time.Now().Add(lingerTime)) // fails only on a connection that is dead already
	_, _ = io.WriteString(t.Conn, reply)          // a new socket has room for it; a dead one doesn't matter
	t.Conn.Close()
}

func (t *stream) tellWriter() {
	select {
	case t.written <- struct{}{}:
	default: // told already
	}
}

func (t *stream) await(what interest) {
	await := what&forRoom != 0
	t.mu.Lock()
	t.awaited = await
	idle := len(t.outgoing) == 0
	t.mu.Unlock()
	if await && idle {
		t.announce()
	}
}

func (t *stream) close() {
	if t.conn == nil { // no loop has taken it on: nobody reads or writes
		t.Conn.Close()
		return
	}
	close(t.gone)
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	_ = t.Conn.SetDeadline(time.Now().Add(lingerTime)) // fails only on a connection that is dead already
	t.tellWriter()
}

func (t *stream) describe() (peer, local string, fd int) {
	return t.RemoteAddr().String(), t.LocalAddr().String(), -1
}

func (t *stream) isUnix() bool { return t.RemoteAddr().Network() == "unix" }
