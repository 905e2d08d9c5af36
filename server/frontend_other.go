//go:build !linux

package server

const defaultIO = ioGoroutines
