//go:build unix

package vfs

import (
	"io/fs"
	"syscall"
)

func hasName(info fs.FileInfo) bool {
	status, ok := info.Sys().(*syscall.Stat_t)
	return !ok || status.Nlink > 0
}
