package server

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cellserver/cellserver/internal/cores"
)

// This file has the lines of the log that tell of a start. Many tools start a server and read its output until one of them comes,
// so those that Redis has are here in its words and its order: redis-server 7.0.15's, and 7.2's where it has changed them.

// tellStart begins the log: which program this is, and with which configuration.
func (s *Server) tellStart(config *Config) {
	revision, dirty, _ := build()
	s.log.warning("cellserver %s, Redis version=%s, bits=%d, commit=%s, modified=%d, pid=%d, just started",
		Version, redisVersion, strconv.IntSize, revision, dirty, os.Getpid())
	if len(config.Origins) == 0 {
		s.log.warning("Warning: no config file specified, using the default config. In order to specify a config file use cellserver /path/to/redis.conf")
	} else {
		s.log.warning("Configuration loaded from %s", enumerate(config.Origins))
	}
	for _, warning := range config.Warnings {
		s.log.warning("%s", warning)
	}
	for _, note := range config.Notes {
		s.log.notice("%s", note)
	}
}

// tellInitialized tells that the server listens, and where its files are that it loads next.
func (s *Server) tellInitialized() {
	config := s.config()
	port := config.Port
	if port == 0 {
		port = config.TLSPort
	}
	s.log.notice("Running mode=standalone, port=%d.", port)
	s.log.notice("Persistence: %s", persistenceOf(config))
	s.snapshots.tryOut(config)
	if available := cores.Available(); tooManyShards(config.Shards, available) {
		s.log.warning("%d shards on %.3g cores: more shards than cores make all calls slower", config.Shards, available)
	}
	s.log.warning("Server initialized")
}

// persistenceOf tells by the directives where a server keeps what.
func persistenceOf(c *Config) string {
	var b strings.Builder
	for i, name := range []string{"dir", "dbfilename", "save", "appendonly", "appenddirname", "appendfsync"} {
		if i > 3 && !c.AppendOnly {
			break
		}
		text, _ := c.Lookup(name)
		if text == "" || strings.Contains(text, " ") {
			text = fmt.Sprintf("%q", text)
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name + "=" + text)
	}
	return b.String()
}

// tellReady tells that the data is loaded and clients are served, and where. The lines of Redis 7.0 come first, then, since some
// tools wait for them, those of 7.2, one for each kind of connection.
func (s *Server) tellReady() {
	addresses := make(map[string][]string) // by the kind of connection
	for _, listener := range s.listeners {
		kind := listener.Addr().Network()
		addresses[kind] = append(addresses[kind], listener.Addr().String())
	}
	for _, listener := range s.tlsListeners {
		addresses["tls"] = append(addresses["tls"], listener.Addr().String())
	}
	kinds := slices.Sorted(maps.Keys(addresses))
	var serves []string
	for _, kind := range kinds {
		serves = append(serves, kind+" "+strings.Join(addresses[kind], " "))
	}
	s.log.notice("cellserver %s serves %s (shards: %d)", Version, strings.Join(serves, ", "), len(s.loops))
	if len(addresses["tcp"])+len(addresses["tls"]) > 0 {
		s.log.notice("Ready to accept connections")
	}
	for _, path := range addresses["unix"] {
		s.log.notice("The server is now ready to accept connections at %s", path)
	}
	for _, kind := range kinds {
		s.log.notice("Ready to accept connections %s", kind)
	}
	s.tellSupervisor()
}

// enumerate joins words as in a sentence.
func enumerate(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
