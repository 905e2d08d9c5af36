package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cellserver/cellserver/netio"
)

// Validate returns every fault of a configuration as a whole, joined, or nil.
func (c *Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Port < 0 || c.Port > 65535 {
		fault("port must be between 0 and 65535")
	}
	if c.Shards < 1 || c.Shards > maxShards {
		fault("shards must be between 1 and %d", maxShards)
	}
	if c.MaxClients < 1 {
		fault("maxclients must be at least 1")
	}
	if here := netio.FrontEnds(); !slices.Contains(here, c.IO) {
		fault("io must be %s on this system", strings.Join(here, " or "))
	}
	return errors.Join(faults...)
}
