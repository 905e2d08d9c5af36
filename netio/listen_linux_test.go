package netio

import (
	"net"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLivingSocketIsKept: a socket whose server is too busy to accept is not taken for a dead one's.
func TestLivingSocketIsKept(t *testing.T) {
	path := t.TempDir() + "/busy"
	busy, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(busy)
	if err := unix.Bind(busy, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(busy, 0); err != nil {
		t.Fatal(err)
	}
	for full := false; !full; { // nobody accepts, so the backlog fills up
		waiting, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(waiting)
		full = unix.Connect(waiting, &unix.SockaddrUnix{Name: path}) == unix.EAGAIN
	}
	if listener, err := ListenUnix(path); err == nil {
		listener.Close()
		t.Error("took the path over")
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error("removed it:", err)
	}
}

func TestBacklog(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := setBacklog(listener, 7); err != nil {
		t.Fatal(err)
	}
	raw, err := listener.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil || info.Sacked != 7 { // of a listener this field is the length of its queue
			t.Error(err, info)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
