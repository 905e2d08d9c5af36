package netio

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"testing"
	"time"
)

// failing is a listener whose first connections fail.
type failing struct {
	net.Listener
	failures []error
}

func (f *failing) Accept() (net.Conn, error) {
	if len(f.failures) > 0 {
		err := f.failures[0]
		f.failures = f.failures[1:]
		return nil, err
	}
	return f.Listener.Accept()
}

// TestAcceptingRestsPortably: an error is told of, and accepting goes on after a pause.
func TestAcceptingRestsPortably(t *testing.T) {
	l := newLoop(t, Goroutines)
	listener := listen(t)
	l.address = listener.Addr().String()
	tooMany := errors.New("too many open files")
	began := time.Now()
	by := l.acceptor()
	go by.acceptOn(&failing{listener, []error{tooMany}}, by.takeStream)
	l.dial()
	l.take().Close()
	if rested := <-l.rested; rested != tooMany || time.Since(began) < AcceptPause {
		t.Errorf("%v, after %v", rested, time.Since(began))
	}
}

// TestStopAccepting: with the listeners closed no client gets in, and those that are in are served on.
func TestStopAccepting(t *testing.T) {
	everyFrontEnd(t, func(t *testing.T, l *loop) {
		p := l.connect()
		l.stopAccepting()
		if nc, err := net.DialTimeout("tcp", l.address, patience); err == nil {
			nc.Close()
			t.Error("a client gets in")
		}
		if _, err := io.WriteString(p, "ping"); err != nil {
			t.Fatal(err)
		}
		if got, err := p.input(4); got != "ping" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestListenUnix: the path of a dead server is taken over, a living one's and a file are not.
func TestListenUnix(t *testing.T) {
	path := t.TempDir() + "/s"
	for _, state := range []string{"free", "of a dead server"} {
		listener, err := ListenUnix(path)
		if err != nil {
			t.Fatalf("a path that is %s: %v", state, err)
		}
		if again, err := ListenUnix(path); err == nil {
			again.Close()
			t.Error("took the path of a living server over")
		}
		listener.Close()
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if listener, err := ListenUnix(path); err == nil {
		listener.Close()
		t.Error("took a file for a socket")
	}
}

// TestListenTCP goes through addresses that can't be listened on.
func TestListenTCP(t *testing.T) {
	for _, host := range []string{"", "no.such.host.invalid", "192.0.2.1"} {
		if listener, err := ListenTCP(host, 0, 64); err == nil {
			listener.Close()
			t.Errorf("listens on %q", host)
		} else if IsForeignFamily(err) {
			t.Errorf("%q: %v", host, err)
		}
	}
	all, err := ListenTCP("*", 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if again, err := ListenTCP("127.0.0.1", all.Addr().(*net.TCPAddr).Port, 64); err == nil {
		again.Close()
		t.Error("two listen on one port")
	}
}

// certificate makes one that nobody has signed.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestHandshakes: a connection by TLS is a transport as others are, and one more handshake than may be is cut off.
func TestHandshakes(t *testing.T) {
	everyFrontEnd(t, func(t *testing.T, l *loop) {
		listener := listen(t)
		config := &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
		h := &Handshakes{Config: func() *tls.Config { return config }, Admit: func(underWay int) bool { return underWay <= 1 }}
		h.Accept([]net.Listener{listener}, l.acceptor())
		l.address = listener.Addr().String()

		p := l.dial()
		secure := tls.Client(p.Conn, &tls.Config{InsecureSkipVerify: true})
		if err := secure.Handshake(); err != nil {
			t.Fatal(err)
		}
		l.adopt(p, l.take())
		if _, err := io.WriteString(secure, "ping"); err != nil {
			t.Fatal(err)
		}
		if got, err := p.input(4); got != "ping" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if _, err := p.transport.Write([]byte("pong")); err != nil {
			t.Error(err)
		}
		p.end()
		if got, err := io.ReadAll(secure); string(got) != "pong" || err != nil {
			t.Errorf("%q, %v", got, err)
		}

		for h.UnderWay() > 0 { // the handshake ends a moment after its connection is taken
			time.Sleep(time.Millisecond)
		}
		l.dial()
		for deadline := time.Now().Add(patience); h.UnderWay() < 1 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if got, err := io.ReadAll(l.dial()); len(got) > 0 || err != nil {
			t.Errorf("one too many: %q, %v", got, err)
		}
	})
}
