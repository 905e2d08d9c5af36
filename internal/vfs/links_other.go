//go:build !unix

package vfs

import "io/fs"

// hasName is true: this system does not take the name of an open file away.
func hasName(fs.FileInfo) bool { return true }
