//go:build !unix

package server

import "time"

// fitMaxClients has nothing to fit: the system has no limit on open files to ask for.
func (s *Server) fitMaxClients(*Config) error { return nil }

// checkMaxClients allows any number.
func (s *Server) checkMaxClients(*Config) error { return nil }

// processCPU is not known here.
func processCPU() (user, system time.Duration, known bool) { return 0, 0, false }
