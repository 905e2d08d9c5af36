//go:build unix

package server

import (
	"fmt"
	"math"
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

// clientsThatFit returns how many clients the limit on open files leaves room for; 0 or less: none. (Go raises the soft limit
// to the hard one at the program's start.)
func clientsThatFit(shards int) (clients, openFiles int64, err error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, 0, fmt.Errorf("cannot tell how many files may be open: %w", err)
	}
	openFiles = int64(min(uint64(limit.Cur), math.MaxInt64))
	return openFiles - reservedFiles - filesPerShard*int64(shards), openFiles, nil
}

// fitMaxClients lowers maxclients to what the limit on open files allows.
func (s *Server) fitMaxClients(config *Config) error {
	fit, openFiles, err := clientsThatFit(config.Shards)
	switch {
	case err != nil:
		return err
	case fit >= int64(config.MaxClients):
		return nil
	case fit <= 0:
		return fmt.Errorf("only %d files may be open, of which %d shards leave none for clients; raise the limit (ulimit -n)",
			openFiles, config.Shards)
	}
	s.log.warning("maxclients is %d instead of %d: no more than %d files may be open (ulimit -n)", fit, config.MaxClients, openFiles)
	config.MaxClients = int(fit)
	return nil
}

// checkMaxClients refuses a maxclients that the limit on open files does not allow.
func (s *Server) checkMaxClients(next *Config) error {
	fit, _, err := clientsThatFit(next.Shards)
	if err == nil && fit < int64(next.MaxClients) {
		err = fmt.Errorf("The operating system is not able to handle the specified number of clients, try with %d", fit)
	}
	return err
}

// processCPU returns the processor time that the process has used.
func processCPU() (user, system time.Duration, known bool) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0, 0, false
	}
	return time.Duration(usage.Utime.Nano()), time.Duration(usage.Stime.Nano()), true
}
