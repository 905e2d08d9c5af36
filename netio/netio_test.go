package netio

import (
	"io"
	"strings"
	"testing"
	"time"
)

// TestRead: input has the connection told of until it is read, in however many reads, and so has its end.
func TestRead(t *testing.T) {
	everyFrontEnd(t, func(t *testing.T, l *loop) {
		p := l.connect()
		if n, err := p.transport.Read(make([]byte, 10)); n != 0 || err != ErrWouldBlock {
			t.Errorf("with nothing there: %d, %v", n, err)
		}
		if p.isReady(3 * IdleAfter) {
			t.Error("it is ready, with nothing there")
		}
		for _, text := range []string{"a", "in several reads"} {
			if _, err := io.WriteString(p, text); err != nil {
				t.Fatal(err)
			}
			if got, err := p.input(len(text)); got != text || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		}
		if n, err := p.transport.Read(make([]byte, 10)); n != 0 || err != ErrWouldBlock {
			t.Errorf("with all read: %d, %v", n, err)
		}
		if _, err := io.WriteString(p, "last"); err != nil {
			t.Fatal(err)
		}
		p.Conn.Close()
		if got, err := p.input(5); got != "last" || err != io.EOF {
			t.Errorf("at the end: %q, %v", got, err)
		}
	})
}

// TestWrite: a peer that doesn't read stops the writer, which is told of room when it reads again. Nothing is lost.
func TestWrite(t *testing.T) {
	everyFrontEnd(t, func(t *testing.T, l *loop) {
		p := l.connect()
		chunk := []byte(strings.Repeat("0123456789", 10_000))
		sent := 0
		fill := func() {
			t.Helper()
			for {
				n, err := p.transport.Write(chunk[sent%10:])
				sent += n
				if err == ErrWouldBlock {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		p.transport.Await(ForRoom)
		for last := -1; last != sent; { // until the kernel takes no more
			last = sent
			fill()
			for p.isReady(100 * time.Millisecond) {
				fill()
			}
		}
		received := make(chan string, 1)
		go func() {
			all, _ := io.ReadAll(p)
			received <- string(all)
		}()
		p.awaitReady()
		fill()
		p.end()
		select {
		case got := <-received:
			if want := strings.Repeat("0123456789", sent/10+1)[:sent]; got != want {
				t.Errorf("%d bytes were written, and %d came", sent, len(got))
			}
		case <-time.After(patience):
			t.Error("the connection does not end")
		}
	})
}

// TestAwait: a connection that waits for input again after it did not is told of what has come meanwhile.
func TestAwait(t *testing.T) {
	everyFrontEnd(t, func(t *testing.T, l *loop) {
		p := l.connect()
		p.transport.Await(ForNothing)
		if _, err := io.WriteString(p, "x"); err != nil {
			t.Fatal(err)
		}
		told := p.isReady(3 * IdleAfter)
		if _, isStream := p.transport.(*stream); told && !isStream {
			t.Error("told of input that it does not wait for")
		}
		p.transport.Await(ForInput)
		if !told {
			p.awaitReady()
		}
		if n, err := p.transport.Read(make([]byte, 10)); n != 1 || err != nil {
			t.Error(n, err)
		}
	})
}

// TestWake: Wake ends a wait, and one that comes before the wait does too.
func TestWake(t *testing.T) {
	everyFrontEnd(t, func(t *testing.T, l *loop) {
		for _, delay := range []time.Duration{0, 50 * time.Millisecond} {
			began := time.Now()
			if delay == 0 {
				l.poller.Wake()
			} else {
				time.AfterFunc(delay, l.poller.Wake)
			}
			l.poller.Wait(nil, patience, true)
			if took := time.Since(began); took < delay/2 || took > patience/2 {
				t.Errorf("a wait that is woken after %v took %v", delay, took)
			}
		}
		began := time.Now()
		l.poller.Wait(nil, 30*time.Millisecond, true)
		if took := time.Since(began); took < 20*time.Millisecond || took > patience/2 {
			t.Errorf("a wait of 30 ms that is not woken took %v", took)
		}
	})
}

// TestRefuse: a client that is not to be served gets the last word and then the end.
func TestRefuse(t *testing.T) {
	everyFrontEnd(t, func(t *testing.T, l *loop) {
		p := l.dial()
		l.take().Refuse("-ERR no\r\n")
		if got, err := io.ReadAll(p); string(got) != "-ERR no\r\n" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestCloseUnserved: a connection that no poller has got can be closed.
func TestCloseUnserved(t *testing.T) {
	everyFrontEnd(t, func(t *testing.T, l *loop) {
		p := l.dial()
		l.take().Close()
		if got, err := io.ReadAll(p); len(got) > 0 || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestDescribe: both ends are told as the client knows them.
func TestDescribe(t *testing.T) {
	everyFrontEnd(t, func(t *testing.T, l *loop) {
		p := l.connect()
		remote, local, _ := p.transport.Describe()
		if remote != p.LocalAddr().String() || local != l.address || p.transport.IsUnix() {
			t.Errorf("%s, %s, Unix: %v", remote, local, p.transport.IsUnix())
		}
	})
}

// TestUnixSocket: its connections say that they are local.
func TestUnixSocket(t *testing.T) {
	everyFrontEnd(t, func(t *testing.T, l *loop) {
		p := l.dialTo("unix", l.path)
		l.adopt(p, l.take())
		if _, local, _ := p.transport.Describe(); !p.transport.IsUnix() || !strings.HasPrefix(local, l.path) {
			t.Errorf("%s, Unix: %v", local, p.transport.IsUnix())
		}
		if _, err := io.WriteString(p, "ping"); err != nil {
			t.Fatal(err)
		}
		if got, err := p.input(4); got != "ping" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestServingAllocatesNothing: a wait, a read and a write cost no allocation.
func TestServingAllocatesNothing(t *testing.T) {
	everyFrontEnd(t, func(t *testing.T, l *loop) {
		p := l.connect()
		text, buffer := []byte("ping"), make([]byte, 16)
		serve := func() {
			_, _ = p.Write(text)
			for n := 0; n < len(text); { // an announcement may be of what is read already
				p.awaitReady()
				read, _ := p.transport.Read(buffer)
				n += read
			}
			for _, err := p.transport.Write(text); err == ErrWouldBlock; _, err = p.transport.Write(text) {
				p.isReady(time.Millisecond) // what was written last is gone and not yet noted
			}
			if n, err := io.ReadFull(p, buffer[:len(text)]); n != len(text) {
				t.Fatal(n, err)
			}
		}
		serve()
		if allocated := testing.AllocsPerRun(200, serve); allocated != 0 {
			t.Errorf("%v allocations", allocated)
		}
	})
}
