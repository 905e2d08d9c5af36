//go:build !unix

package config

// syncFolder has nothing to do where folders cannot be synced.
func syncFolder(string) error { return nil }
