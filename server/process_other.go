//go:build !unix

package server

import (
	"errors"
	"syscall"
	"time"
)

// fitMaxClients has nothing to fit: the system has no limit on open files to ask for.
func (s *Server) fitMaxClients(*Config) error { return nil }

// checkMaxClients allows any number.
func (s *Server) checkMaxClients(*Config) error { return nil }

// isUnavailable says whether listening failed because the machine has no such address.
func isUnavailable(err error) bool { return errors.Is(err, syscall.EADDRNOTAVAIL) }

// processCPU is not known here.
func processCPU() (user, system time.Duration, known bool) { return 0, 0, false }
