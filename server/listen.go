package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/cellserver/cellserver/netio"
)

// A listenError says why the server can't listen as it should. Text is for whoever starts it, and summary is the last line of the
// log. Both are in Redis's words: tools that start a server look for them in its output.
type listenError struct{ text, summary string }

func (e *listenError) Error() string { return e.text }

// listen opens all addresses of the configuration, or none.
func (s *Server) listen() error {
	err := s.listenEverywhere(s.config())
	if err != nil {
		s.closeListeners()
	}
	return err
}

func (s *Server) listenEverywhere(config *Config) (err error) {
	if s.listeners, err = s.listenTCP(config, config.Port, "TCP"); err != nil {
		return err
	}
	if config.TLSPort != 0 {
		if err := s.ReloadTLS(tlsOptions(config)); err != nil {
			return err
		}
		if s.tlsListeners, err = s.listenTCP(config, config.TLSPort, "TLS"); err != nil {
			return err
		}
	}
	if path := config.UnixSocket; path != "" {
		listener, err := netio.ListenUnix(path)
		if err != nil {
			text := fmt.Sprintf("Failed opening Unix socket %s: %s", path, listenReason(err))
			return &listenError{text, text}
		}
		s.listeners = append(s.listeners, listener)
		if mode := config.UnixSocketPerm; mode != 0 {
			if err := os.Chmod(path, mode); err != nil {
				return fmt.Errorf("unixsocketperm %o: %w", mode, cause(err))
			}
		}
		s.socket, _ = os.Lstat(path) // without it the socket is left behind, which the next start puts right
	}
	if len(s.listeners)+len(s.tlsListeners) == 0 {
		const nowhere = "Configured to not listen anywhere"
		return &listenError{nowhere + fmt.Sprintf(": port %d, tls-port %d, bind %q, unixsocket %q",
			config.Port, config.TLSPort, strings.Join(config.Bind, " "), config.UnixSocket), nowhere + ", exiting."}
	}
	return nil
}

// listenTCP listens on a port of all bind addresses; port 0 means not to. An optional one may be missing on this machine, and so may
// all of a family of addresses that this machine does not have.
func (s *Server) listenTCP(config *Config, port int, use string) (listeners []net.Listener, err error) {
	if port == 0 {
		return nil, nil
	}
	for _, address := range config.Bind {
		host, optional := strings.CutPrefix(address, "-")
		listener, err := netio.ListenTCP(host, port, config.TCPBacklog)
		if err == nil {
			listeners = append(listeners, listener)
			continue
		}
		text := fmt.Sprintf("Could not create server TCP listening socket %s:%d: %s", host, port, listenReason(err))
		s.log.warning("Warning: %s", text)
		if optional && errors.Is(err, syscall.EADDRNOTAVAIL) || netio.IsForeignFamily(err) {
			continue
		}
		for _, open := range listeners {
			open.Close()
		}
		return nil, &listenError{text, fmt.Sprintf("Failed listening on port %d (%s), aborting.", port, use)}
	}
	return listeners, nil
}

// listenReason tells in the words of C's library, as Redis does, why an address can't be listened on.
func listenReason(err error) string {
	var unknown *net.DNSError
	var odd *net.AddrError
	var failed *os.SyscallError
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return "Name or service not known"
	case unknown != nil:
		return "Temporary failure in name resolution"
	case errors.As(err, &odd):
		return "Not an address to listen on"
	case errors.As(err, &failed):
		text := failed.Err.Error()
		return failed.Syscall + ": " + strings.ToUpper(text[:1]) + text[1:]
	}
	return err.Error()
}

// closeListeners ends listening and removes the Unix socket, but only one that this server has made: at the configured
// path there may be another server's, or a file.
func (s *Server) closeListeners() {
	for _, listener := range slices.Concat(s.listeners, s.tlsListeners) {
		listener.Close()
	}
	path := s.config().UnixSocket
	if there, err := os.Lstat(path); err == nil && s.socket != nil && os.SameFile(there, s.socket) {
		os.Remove(path)
	}
}

// cause strips the layers that repeat the address from a network error.
func cause(err error) error {
	var syscallError *os.SyscallError
	if errors.As(err, &syscallError) {
		return syscallError.Err
	}
	return err
}
