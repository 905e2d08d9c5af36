//go:build !unix

package netio

import "net"

// setBacklog leaves the queue as long as the system makes it.
func setBacklog(net.Listener, int) error { return nil }
