package server

import (
	"fmt"
	"net"
	"os"
)

// tellSupervisor tells systemd, which waits for it with Type=notify, that the server serves.
func (s *Server) tellSupervisor() {
	socket := os.Getenv("NOTIFY_SOCKET")
	supervised := s.config().Supervised
	if supervised != "systemd" && (supervised != "auto" || socket == "") {
		return
	}
	if err := notify(socket, "STATUS=Ready to accept connections\nREADY=1\n"); err != nil {
		s.log.warning("supervised %s: %v", supervised, err)
	}
}

func notify(socket, message string) error {
	if socket == "" {
		return fmt.Errorf("NOTIFY_SOCKET is not set: there is no systemd that waits")
	}
	nc, err := net.Dial("unixgram", socket)
	if err != nil {
		return err
	}
	defer nc.Close()
	_, err = nc.Write([]byte(message))
	return err
}

// writePIDFile writes the process's number where pidfile says. Without it the server serves as well.
func (s *Server) writePIDFile() {
	path := s.pidFile()
	if path == "" {
		return
	}
	if err := os.WriteFile(path, fmt.Appendln(nil, os.Getpid()), 0o644); err != nil {
		s.log.warning("Failed to write PID file: %v", err)
	}
}

// removePIDFile removes the file, unless another process has written its own number there.
func (s *Server) removePIDFile() {
	path := s.pidFile()
	if path == "" {
		return
	}
	if content, err := os.ReadFile(path); err == nil && string(content) == fmt.Sprintln(os.Getpid()) {
		_ = os.Remove(path) // a stale file harms nobody
	}
}

func (s *Server) pidFile() string {
	c := s.config()
	return c.Path(c.PIDFile)
}
