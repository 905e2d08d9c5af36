package netio

import (
	"net"
	"time"
)

// signalPoller is the poller of the portable front end. It lets a loop wait to be woken and for nothing else: streams announce
// that they are ready.
type signalPoller struct {
	signal chan struct{}
	timer  *time.Timer // for Wait, which would make one each time
}

func newSignalPoller() (Poller, error) {
	return &signalPoller{signal: make(chan struct{}, 1), timer: time.NewTimer(0)}, nil
}

func (p *signalPoller) Wait(ready []Handle, timeout time.Duration, _ bool) []Handle {
	if timeout > 0 {
		p.timer.Reset(timeout)
		select {
		case <-p.signal:
		case <-p.timer.C:
		}
	}
	return ready
}

func (p *signalPoller) Wake() {
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

func (p *signalPoller) Add(t Transport, handle Handle) error {
	t.(*stream).start(handle)
	return nil
}

// Accept starts a goroutine per listener. They end when the listeners are closed.
func (p *signalPoller) Accept(listeners []net.Listener, by *Acceptor) error {
	for _, listener := range listeners {
		go by.acceptOn(listener, by.takeStream)
	}
	return nil
}

func (p *signalPoller) Remove(Transport) {}
func (p *signalPoller) StopAccepting()   {}
func (p *signalPoller) Close()           {}
