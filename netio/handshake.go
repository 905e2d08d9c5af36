package netio

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"
)

// Handshakes are those of the connections that come by TLS. Go's TLS connection can't be driven by readiness, so on every
// system two goroutines serve one and feed its loop as the portable front end does.
type Handshakes struct {
	// Config returns the configuration of a connection that says hello now.
	Config func() *tls.Config
	// Admit says whether one more client may begin, where it makes so many. One that may not is cut off without a word.
	Admit func(underWay int) bool

	underWay atomic.Int64
}

// handshakeTimeout is how long a client may take for its handshake. Redis has no such limit of its own.
const handshakeTimeout = 10 * time.Second

// Accept accepts on listeners until they are closed, and passes on the connections whose handshakes are done.
func (h *Handshakes) Accept(listeners []net.Listener, by *Acceptor) {
	perConnection := &tls.Config{
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return h.Config(), nil },
	}
	for _, listener := range listeners {
		go by.acceptOn(listener, func(nc net.Conn) { go h.shakeHands(tls.Server(nc, perConnection), by) })
	}
}

// UnderWay returns how many handshakes are being done.
func (h *Handshakes) UnderWay() int { return int(h.underWay.Load()) }

// shakeHands does what comes before the connection can be served.
func (h *Handshakes) shakeHands(tc *tls.Conn, by *Acceptor) {
	defer h.underWay.Add(-1)
	if !h.Admit(int(h.underWay.Add(1))) {
		tc.NetConn().Close()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	if err := tc.HandshakeContext(ctx); err != nil {
		tc.NetConn().Close()
		return
	}
	by.takeStream(tc)
}
