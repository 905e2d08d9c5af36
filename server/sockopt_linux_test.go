package server

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/cellserver/cellserver/netio"
	"golang.org/x/sys/unix"
)

// TestKeepAlive: tcp-keepalive is what the kernel is told, for connections made after it is set.
func TestKeepAlive(t *testing.T) {
	s := startServer(t, func(c *Config) { c.IO, c.TCPKeepAliveSeconds = netio.Epoll, 60 })
	options := func(c *client) [3]int {
		t.Helper()
		fd, err := strconv.Atoi(regexp.MustCompile(` fd=(\d+) `).FindStringSubmatch(c.run("CLIENT INFO"))[1])
		if err != nil {
			t.Fatal(err)
		}
		var values [3]int
		for i, option := range [][2]int{{unix.SOL_SOCKET, unix.SO_KEEPALIVE}, {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE}, {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL}} {
			if values[i], err = unix.GetsockoptInt(fd, option[0], option[1]); err != nil {
				t.Fatal(err)
			}
		}
		return values
	}
	c := dial(t, s)
	if got := options(c); got != [3]int{1, 60, 20} {
		t.Error(got)
	}
	for _, row := range []struct {
		value string
		want  [2]int
	}{{"2", [2]int{1, 2}}, {"0", [2]int{0, 0}}} {
		if got := c.run("CONFIG SET tcp-keepalive " + row.value); got != "OK" {
			t.Fatal(got)
		}
		got := options(dial(t, s))
		if got[0] != row.want[0] || row.want[0] == 1 && got[1] != row.want[1] {
			t.Errorf("tcp-keepalive %s: %v", row.value, got)
		}
	}
}
