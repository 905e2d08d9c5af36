package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cellserver/cellserver/netio"
)

// This file has package netio accept connections, and brings what it tells to the loops and to the log.

// accept has connections accepted from now on. That is the work of one loop, but for connections by TLS.
func (s *Server) accept(l *loop) error {
	acceptor := &netio.Acceptor{
		KeepAliveSeconds: func() int { return s.config().TCPKeepAliveSeconds },
		Take: func(t netio.Transport) {
			if c := s.newConn(t); c != nil {
				c.place()
			}
		},
		Rests: s.resting.tell,
	}
	if err := l.poller.Accept(s.listeners, acceptor); err != nil {
		return err
	}
	s.handshakes.Config = s.tls.Load
	s.handshakes.Admit = s.admitHandshake
	s.handshakes.Accept(s.tlsListeners, acceptor)
	return nil
}

// admitHandshake counts clients that are at their handshakes against maxclients, so that handshakes that are begun and left take
// no more than that many.
func (s *Server) admitHandshake(underWay int) bool {
	if underWay+s.clients() > s.config().MaxClients {
		s.rejected.Add(1)
		return false
	}
	return true
}

// A notice tells a loop that one of its connections is ready, where goroutines serve that connection.
type notice struct {
	envelope
	onItsWay atomic.Bool // the goroutine that sets it has the envelope until the loop does
}

// Announce tells the connection's loop that it is ready: once until the loop has looked.
func (c *conn) Announce() {
	n := &c.notice
	if n.onItsWay.Swap(true) {
		return
	}
	if n.deliver == nil {
		n.deliver = func(l *loop) {
			n.onItsWay.Store(false)
			l.rouse(c)
		}
	}
	c.loop.post(&n.envelope)
}

// restLogEvery is how often the log tells that accepting rests: the error may stay for long.
const restLogEvery = 10 * time.Second

// restLog tells of errors of accepting, now and then.
type restLog struct {
	log  *logger
	mu   sync.Mutex
	last time.Time
}

func (r *restLog) tell(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.last) >= restLogEvery {
		r.last = now
		r.log.warning("accept: %v; trying again every %v", err, netio.AcceptPause)
	}
}
