package config

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// Validate returns every fault of a configuration as a whole, joined, or nil.
func (c *Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Port < 0 || c.Port > 65535 {
		fault("port must be between 0 and 65535")
	}
	if c.Port == 0 && c.TLSPort == 0 && c.UnixSocket == "" {
		fault("port 0 and no unixsocket: nothing to listen on")
	}
	if c.Shards < 1 || c.Shards > maxShards {
		fault("shards must be between 1 and %d", maxShards)
	}
	if c.MaxClients < 1 {
		fault("maxclients must be at least 1")
	}
	for _, address := range c.Bind {
		host := strings.TrimPrefix(address, "-")
		if host != "*" && host != "::*" && net.ParseIP(host) == nil && strings.ContainsAny(host, ": /") {
			fault("bind: '%s' is not an address", address)
		}
	}
	if c.IO != "goroutines" && c.IO != defaultIO {
		fault("io must be goroutines on this system")
	}
	return errors.Join(faults...)
}
