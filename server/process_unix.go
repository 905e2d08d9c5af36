//go:build unix

package server

import (
	"errors"
	"fmt"
	"log"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// reservedFiles is how many descriptors are kept for other things than clients, as Redis keeps them: listeners,
	// standard streams, the runtime's own.
	reservedFiles = 32
	// filesPerShard is what an event loop opens: its epoll instance and what wakes it.
	filesPerShard = 2
)

// fitMaxClients lowers maxclients to what the limit on open files allows. (Go raises the soft limit to the hard one at
// the program's start.)
func (s *Server) fitMaxClients() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("cannot tell how many files may be open: %w", err)
	}
	reserved := uint64(reservedFiles + filesPerShard*s.config.Shards)
	if uint64(limit.Cur) >= uint64(s.config.MaxClients)+reserved {
		return nil
	}
	if uint64(limit.Cur) <= reserved {
		return fmt.Errorf("only %d files may be open, of which %d shards leave none for clients; raise the limit (ulimit -n)",
			limit.Cur, s.config.Shards)
	}
	wanted := s.config.MaxClients
	s.config.MaxClients = int(uint64(limit.Cur) - reserved)
	log.Printf("maxclients is %d instead of %d: no more than %d files may be open (ulimit -n)", s.config.MaxClients, wanted, limit.Cur)
	return nil
}

// isUnavailable says whether listening failed because the machine has no such address.
func isUnavailable(err error) bool {
	return errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EPROTONOSUPPORT)
}

// processCPU returns the processor time that the process has used.
func processCPU() (user, system time.Duration, known bool) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0, 0, false
	}
	return time.Duration(usage.Utime.Nano()), time.Duration(usage.Stime.Nano()), true
}
