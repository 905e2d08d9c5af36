package netio

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"time"
)

// StreamBytes is how much output a transport that goroutines serve takes at a time.
const StreamBytes = 256 << 10

// streamInputBytes is how much input it reads ahead. Redis reads this much at a time.
const streamInputBytes = 16 << 10

// lingerTime is how long a closed connection's last output may take to be written.
const lingerTime = 5 * time.Second

// A stream is the transport of a connection that two goroutines serve.
type stream struct {
	conn     net.Conn
	handle   Handle        // nil: no poller has it yet
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
	return &stream{conn: nc, consumed: make(chan struct{}, 1), written: make(chan struct{}, 1), gone: make(chan struct{})}
}

func (t *stream) start(handle Handle) {
	t.handle = handle
	go t.readOn()
	go t.writeOn()
}

// readOn reads whenever the loop has taken what was read before, so a loop that doesn't read stops the peer.
func (t *stream) readOn() {
	buffer := make([]byte, streamInputBytes)
	for {
		n, err := t.conn.Read(buffer)
		t.mu.Lock()
		t.incoming, t.readErr = buffer[:n], err
		t.mu.Unlock()
		t.handle.Announce()
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

func (t *stream) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := copy(p, t.incoming)
	t.incoming = t.incoming[n:]
	switch {
	case len(t.incoming) > 0 || n > 0 && t.readErr != nil:
		t.handle.Announce()
	case n > 0:
		t.consumed <- struct{}{}
	case t.readErr != nil:
		return 0, t.readErr
	default:
		return 0, ErrWouldBlock
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
			_, err = t.conn.Write(outgoing)
		}
		t.mu.Lock()
		t.outgoing = t.outgoing[:0]
		t.writeErr = err
		announce := t.awaited && !t.closed
		t.mu.Unlock()
		if closed {
			t.conn.Close()
			return
		}
		if announce {
			t.handle.Announce()
		}
	}
}

func (t *stream) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.writeErr != nil {
		return 0, t.writeErr
	}
	if len(t.outgoing) > 0 {
		return 0, ErrWouldBlock
	}
	n := min(len(p), StreamBytes)
	t.outgoing = append(t.outgoing, p[:n]...)
	t.tellWriter()
	if n < len(p) {
		return n, ErrWouldBlock
	}
	return n, nil
}

func (t *stream) Refuse(reply string) {
	_ = t.conn.SetDeadline(time.Now().Add(lingerTime)) // fails only on a connection that is dead already
	_, _ = io.WriteString(t.conn, reply)               // a new socket has room for it; a dead one doesn't matter
	t.conn.Close()
}

func (t *stream) tellWriter() {
	select {
	case t.written <- struct{}{}:
	default: // told already
	}
}

func (t *stream) Await(what Interest) {
	await := what&ForRoom != 0
	t.mu.Lock()
	t.awaited = await
	idle := len(t.outgoing) == 0
	t.mu.Unlock()
	if await && idle {
		t.handle.Announce()
	}
}

func (t *stream) Close() {
	if t.handle == nil { // no goroutine reads or writes
		t.conn.Close()
		return
	}
	close(t.gone)
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	_ = t.conn.SetDeadline(time.Now().Add(lingerTime)) // fails only on a connection that is dead already
	t.tellWriter()
}

func (t *stream) Describe() (peer, local string, fd int) {
	return t.conn.RemoteAddr().String(), t.conn.LocalAddr().String(), -1
}

func (t *stream) IsUnix() bool { return t.conn.RemoteAddr().Network() == "unix" }
