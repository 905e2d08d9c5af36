package acl

import (
	"maps"
	"slices"
	"strings"
)

// Access is what a command does with a key, or a pattern allows: Read its value, Write it, both, or neither (EXISTS).
type Access uint8

// The two kinds of access.
const (
	Read Access = 1 << iota
	Write
)

// A keyPattern allows its access to the keys that fit it.
type keyPattern struct {
	pattern string
	access  Access
}

// A selector is one set of permissions. A user has at least one, its own.
type selector struct {
	allKeys     bool
	allChannels bool
	fromAll     bool // began with +@all rather than -@all, and is described the same way
	commands    []uint64
	// firstArguments are the first arguments with which an otherwise forbidden command is allowed.
	firstArguments map[CommandID][]string
	keys           []keyPattern
	channels       []string
}

func newSelector(c *Catalogue, allChannels bool) *selector {
	return &selector{allChannels: allChannels, commands: make([]uint64, (len(c.entries)+63)/64)}
}

func (s *selector) clone() *selector {
	copied := *s
	copied.commands = slices.Clone(s.commands)
	copied.keys = slices.Clone(s.keys)
	copied.channels = slices.Clone(s.channels)
	copied.firstArguments = maps.Clone(s.firstArguments)
	for id, arguments := range copied.firstArguments {
		copied.firstArguments[id] = slices.Clone(arguments)
	}
	return &copied
}

func (s *selector) equal(other *selector) bool {
	return s.allKeys == other.allKeys && s.allChannels == other.allChannels && s.fromAll == other.fromAll &&
		slices.Equal(s.commands, other.commands) && slices.Equal(s.keys, other.keys) && slices.Equal(s.channels, other.channels) &&
		maps.EqualFunc(s.firstArguments, other.firstArguments, slices.Equal[[]string])
}

// unrestricted says whether the selector allows everything.
func (s *selector) unrestricted(c *Catalogue) bool {
	for id := range c.entries {
		if !s.allows(CommandID(id)) {
			return false
		}
	}
	return s.allKeys && s.allChannels
}

func (s *selector) allows(id CommandID) bool { return s.commands[id/64]>>(id%64)&1 != 0 }

// setAll carries out +@all and -@all.
func (s *selector) setAll(allow bool) {
	s.fromAll = allow
	s.firstArguments = nil
	for i := range s.commands {
		s.commands[i] = 0
		if allow {
			s.commands[i] = ^uint64(0)
		}
	}
}

// set allows or denies a command and its subcommands.
func (s *selector) set(c *Catalogue, id CommandID, allow bool) {
	for each := id; each < c.family(id); each++ {
		delete(s.firstArguments, each)
		if allow {
			s.commands[each/64] |= 1 << (each % 64)
		} else {
			s.commands[each/64] &^= 1 << (each % 64)
		}
	}
}

// setCategory allows or denies the commands of a category. A container brings its subcommands with it.
func (s *selector) setCategory(c *Catalogue, category categorySet, allow bool) {
	for id := range c.entries {
		if c.entries[id].categories&category != 0 {
			s.set(c, CommandID(id), allow)
		}
	}
}

// addFirstArgument allows a command with a first argument. Where all of it is allowed that means nothing: taking the
// command away later takes its first arguments away too.
func (s *selector) addFirstArgument(id CommandID, argument string) {
	if s.allows(id) {
		return
	}
	for _, each := range s.firstArguments[id] {
		if strings.EqualFold(each, argument) {
			return
		}
	}
	if s.firstArguments == nil {
		s.firstArguments = make(map[CommandID][]string)
	}
	s.firstArguments[id] = append(s.firstArguments[id], argument)
}

// addKeys allows an access to the keys that fit a pattern, besides what it allowed already.
func (s *selector) addKeys(pattern string, access Access) {
	for i := range s.keys {
		if s.keys[i].pattern == pattern {
			s.keys[i].access |= access
			return
		}
	}
	s.keys = append(s.keys, keyPattern{pattern, access})
}

func (s *selector) setAllKeys(all bool)     { s.allKeys, s.keys = all, nil }
func (s *selector) setAllChannels(all bool) { s.allChannels, s.channels = all, nil }
