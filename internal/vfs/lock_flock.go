//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package vfs

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// Lock takes a folder for the caller, until Close or the end of the process, however that comes. It leaves nothing in the folder.
func (OS) Lock(dir string) (io.Closer, error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrLocked
		}
		return nil, errors.Join(&os.PathError{Op: "lock", Path: dir, Err: err}, file.Close())
	}
	return file, nil
}
