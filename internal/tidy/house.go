package tidy

import (
	"path"
	"strings"
)

// house is the policy a tree is held to. The test of each rule has a small one of its own.
type house struct {
	module string
	// places says where each package folder stands. A name that ends in /* stands for all folders in it that have no place of
	// their own.
	places map[string]place
	// oversized gives the reason for each file ("server/x.go") or function ("server/x.go:name") beyond the size limits.
	oversized map[string]string
	// large gives the reason for each file, or path.Match pattern of files, that need not be small text.
	large map[string]string
}

// place is where a package stands: it may import from the rows below its own.
type place struct {
	row  int
	only []string // if given, these alone
	pure bool     // no goroutines, no locks, no I/O
	// clock, if given, is the reason why a package of the rows without a clock has one all the same.
	clock string
}

// outside is the row of what may import everything and is imported by nothing: benchmarks and tests of the whole.
const outside = -1

// lastClocklessRow is the highest row whose packages take the time as an argument.
const lastClocklessRow = 2

// cellserver is the policy of this repository.
var cellserver = house{
	module: "github.com/cellserver/cellserver",
	places: map[string]place{
		"cmd/cellserver": {row: 4},
		"server":         {row: 3},
		"script":         {row: 2, only: []string{"resp"}},
		"engine":         {row: 2, only: []string{"gcra", "keyspace", "expiry"}, pure: true},
		"keyspace":       {row: 1, only: []string{"internal/*"}, pure: true},
		"persistence":    {row: 1, only: []string{"internal/*", "resp", "gcra"}},
		"config":         {row: 1, only: []string{"internal/*", "resp", "netio"}},
		"acl":            {row: 1, only: []string{"internal/*"}},
		"gcra":           {row: 0, pure: true},
		"resp":           {row: 0, pure: true},
		"expiry":         {row: 0, pure: true},
		"netio":          {row: 0, clock: "waits for sockets: accepting rests after an error, handshakes and last words have deadlines"},
		"internal/*":     {row: 0},

		"bench":       {row: outside},
		"bench/*":     {row: outside},
		"compat_test": {row: outside},

		"compat_test/clients/go": {row: outside}, // a module of its own
	},
	oversized: map[string]string{},
	large: map[string]string{
		"gcra/testdata/*.gz": "the calls recorded from redis-cell, 21,392 of them",
	},
}

// place finds where a package folder stands.
func (h house) place(folder string) (place, bool) {
	if p, ok := h.places[folder]; ok {
		return p, true
	}
	p, ok := h.places[path.Dir(folder)+"/*"]
	return p, ok
}

// allows tells whether the place's list of imports, if it has one, names the folder.
func (p place) allows(folder string) bool {
	if p.only == nil {
		return true
	}
	for _, name := range p.only {
		if parent, all := strings.CutSuffix(name, "/*"); name == folder || all && path.Dir(folder) == parent {
			return true
		}
	}
	return false
}
