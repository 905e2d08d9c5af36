package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// listen opens all addresses of the configuration.
func (s *Server) listen() error {
	config := s.config()
	var err error
	if s.listeners, err = s.listenTCP(config.Port); err != nil {
		return err
	}
	if config.TLSPort != 0 {
		if err := s.ReloadTLS(tlsOptions(config)); err != nil {
			s.closeListeners()
			return err
		}
		if s.tlsListeners, err = s.listenTCP(config.TLSPort); err != nil {
			return err
		}
	}
	if path := config.UnixSocket; path != "" {
		listener, err := listenUnix(path)
		if err != nil {
			s.closeListeners()
			return fmt.Errorf("cannot listen on unixsocket %s: %w", path, cause(err))
		}
		s.listeners = append(s.listeners, listener)
		if mode := config.UnixSocketPerm; mode != 0 {
			if err := os.Chmod(path, mode); err != nil {
				s.closeListeners()
				return fmt.Errorf("unixsocketperm %o: %w", mode, cause(err))
			}
		}
		s.socket, _ = os.Lstat(path) // without it the socket is left behind, which the next start puts right
	}
	if len(s.listeners)+len(s.tlsListeners) == 0 {
		return errors.New("none of the bind addresses is available")
	}
	return nil
}

// listenTCP listens on a port of all bind addresses; port 0 means not to.
func (s *Server) listenTCP(port int) (listeners []net.Listener, err error) {
	if port == 0 {
		return nil, nil
	}
	config := s.config()
	for _, address := range config.Bind {
		host, optional := strings.CutPrefix(address, "-")
		network := "tcp"
		switch host {
		case "*":
			network, host = "tcp4", ""
		case "::*":
			network, host = "tcp6", ""
		}
		listener, err := net.Listen(network, net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			listeners = append(listeners, listener)
			err = setBacklog(listener, config.TCPBacklog)
		}
		switch {
		case err == nil:
		case !optional || !isUnavailable(err):
			for _, open := range listeners {
				open.Close()
			}
			s.closeListeners()
			return nil, fmt.Errorf("cannot listen on %s port %d: %w", host, port, cause(err))
		}
	}
	return listeners, nil
}

// listenUnix listens on a path. A socket that a dead server left there is removed; a living server's is not.
func listenUnix(path string) (net.Listener, error) {
	listener, err := net.Listen("unix", path)
	if err == nil {
		listener.(*net.UnixListener).SetUnlinkOnClose(false) // closeListeners does it: the descriptor outlives the Listener
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
	return listenUnix(path)
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
