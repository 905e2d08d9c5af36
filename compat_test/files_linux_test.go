package compat_test

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestFewFiles: where few files may be open, maxclients is lowered by what the shards need too, so every client beyond
// it is told so instead of left waiting.
func TestFewFiles(t *testing.T) {
	for _, shards := range []int{1, 12} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			port := freePort(t)
			limited := exec.Command("sh", "-c", fmt.Sprintf("ulimit -n 64; exec %s --bind 127.0.0.1 --port %d --shards %d",
				binary(t, false), port, shards))
			if err := limited.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = limited.Process.Kill(); _ = limited.Wait() }()
			address := fmt.Sprintf("127.0.0.1:%d", port)
			for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
				if nc, err := net.Dial("tcp", address); err == nil {
					nc.Close()
					break
				} else if time.Now().After(deadline) {
					t.Fatal(err)
				}
			}
			time.Sleep(100 * time.Millisecond) // until that connection is gone
			served, refused := 0, 0
			for range 50 {
				nc, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				defer nc.Close()
				_ = nc.SetDeadline(time.Now().Add(patience))
				_, _ = io.WriteString(nc, "PING\r\n")
				reply := make([]byte, 64)
				switch n, err := nc.Read(reply); {
				case strings.HasPrefix(string(reply[:n]), "+PONG"):
					served++
				case strings.HasPrefix(string(reply[:n]), "-ERR max number of clients reached"):
					refused++
				default:
					t.Fatalf("neither served nor refused: %q, %v", reply[:n], err)
				}
			}
			if want := 64 - 32 - 2*shards; served != want || refused != 50-want {
				t.Errorf("%d served and %d refused of 50, want %d served", served, refused, want)
			}
		})
	}
}
