//go:build !linux

package config

// defaultIO is the front end of servers on this system.
const defaultIO = "goroutines"
