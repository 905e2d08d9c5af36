package netio

import (
	"errors"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ListenTCP listens on a port of one address; * and ::* are all addresses of IPv4 and of IPv6. As in Redis one with a colon is of
// IPv6, and no other is; a name stands for its IPv4 address. An IPv6 socket takes IPv6 only: otherwise :: would take 0.0.0.0's
// connections too, and one of them could not be opened beside the other.
func ListenTCP(host string, port, backlog int) (net.Listener, error) {
	network := "tcp4"
	if strings.Contains(host, ":") {
		network = "tcp6"
	}
	switch host {
	case "*", "::*":
		host = ""
	case "":
		return nil, &net.DNSError{IsNotFound: true} // net.Listen would take it for all addresses
	}
	listener, err := net.Listen(network, net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	if err := setBacklog(listener, backlog); err != nil {
		listener.Close()
		return nil, err
	}
	return listener, nil
}

// IsForeignFamily says whether listening failed because the machine has no such kind of address at all.
func IsForeignFamily(err error) bool {
	return slices.ContainsFunc([]error{syscall.EAFNOSUPPORT, syscall.EPFNOSUPPORT, syscall.EPROTONOSUPPORT, syscall.ESOCKTNOSUPPORT,
		syscall.ENOPROTOOPT}, func(number error) bool { return errors.Is(err, number) })
}

// ListenUnix listens on a path. A socket that a dead server left there is removed; a living server's is not. The caller
// removes the socket in the end.
func ListenUnix(path string) (net.Listener, error) {
	listener, err := net.Listen("unix", path)
	if err == nil {
		listener.(*net.UnixListener).SetUnlinkOnClose(false) // the descriptor outlives the Listener: see Poller.Accept
		return listener, nil
	}
	alive, dialErr := net.Dial("unix", path)
	if dialErr == nil {
		alive.Close()
	}
	if !errors.Is(dialErr, syscall.ECONNREFUSED) { // a full backlog or a lack of rights says nothing about its server
		return nil, err
	}
	if info, statErr := os.Lstat(path); statErr != nil || info.Mode()&os.ModeSocket == 0 {
		return nil, err
	}
	if removeErr := os.Remove(path); removeErr != nil {
		return nil, err
	}
	return ListenUnix(path)
}
