//go:build !unix

package server

import "errors"

// openSyslog fails: the system has no such log.
func openSyslog(_, _ string) (systemLog, error) {
	return nil, errors.New("this system has none")
}
