package server

import (
	"fmt"
	"strconv"

	"github.com/cellserver/cellserver/config"
)

// Version is this server's own version; redisVersion is the Redis whose behaviour it follows, which is what clients and
// tools ask for under the name redis_version and decide by.
const (
	Version      = "0.1.0"
	redisVersion = "7.0.15"
)

// Config is what a server is started with, and what CONFIG SET changes.
type Config = config.Config

// VersionLine returns the text of --version. It is redis-server's line, since many tools take the version from it, and some the first
// number with dots: our own version comes last.
func VersionLine() string {
	revision, dirty, id := build()
	return fmt.Sprintf("Redis server v=%s sha=%s:%d malloc=go bits=%d build=%x cellserver=%s", redisVersion, revision, dirty, strconv.IntSize, id, Version)
}

// DefaultConfig returns the configuration of a server that was told nothing: Redis's defaults, on loopback only.
func DefaultConfig() Config { return config.Default() }

// Usage returns the text of --help.
func Usage() string {
	return "Usage: cellserver [/path/to/redis.conf | -] [--directive value]... [-]\n       cellserver check [--fix] FILE...\n\n" +
		"A rate limiter that speaks Redis's protocol: CL.THROTTLE key max_burst count period [quantity].\n" +
		"A file is as of Redis or Valkey; - is standard input. cellserver.conf explains all directives that take effect. Those asked for most:\n\n" +
		config.Help() +
		"  --help                      print this and exit\n  --version                   print the version and exit\n"
}

// config returns the configuration that counts now. It is never changed: CONFIG SET puts another in its place.
func (s *Server) config() *Config { return s.settings.Load() }
