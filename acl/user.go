package acl

import (
	"slices"
	"sync/atomic"
)

// DefaultUser is the name of the user of connections that have not authenticated. It can't be deleted.
const DefaultUser = "default"

// A User is a user's name and what it may do at present. Connections hold it; it may be used from many goroutines.
type User struct {
	name    string
	current atomic.Pointer[profile]
}

// How RESTORE is to treat the user's payloads.
const (
	payloadUnset = iota
	payloadSanitize
	payloadSkip
)

// A profile is everything known about a user. Once it is a user's current one it never changes.
type profile struct {
	enabled    bool
	noPassword bool // any password is right
	payload    int
	passwords  []passwordHash
	selectors  []*selector // the first is the user's own; never empty

	unrestricted bool // all commands, keys and channels: set when the profile is complete
}

func newProfile(c *Catalogue, channelsByDefault bool) *profile {
	return &profile{selectors: []*selector{newSelector(c, channelsByDefault)}}
}

// allPowerful is the profile of the default user of an unconfigured server.
func allPowerful(c *Catalogue) *profile {
	p := newProfile(c, true)
	p.enabled, p.noPassword = true, true
	p.selectors[0].allKeys = true
	p.selectors[0].setAll(true)
	return p
}

func (p *profile) clone() *profile {
	copied := *p
	copied.passwords = slices.Clone(p.passwords)
	copied.selectors = make([]*selector, len(p.selectors))
	for i, each := range p.selectors {
		copied.selectors[i] = each.clone()
	}
	return &copied
}

func (p *profile) equal(other *profile) bool {
	return p.enabled == other.enabled && p.noPassword == other.noPassword && p.payload == other.payload &&
		slices.Equal(p.passwords, other.passwords) && slices.EqualFunc(p.selectors, other.selectors, (*selector).equal)
}

// put makes a profile the user's current one.
func (u *User) put(c *Catalogue, p *profile) {
	p.unrestricted = p.selectors[0].unrestricted(c)
	u.current.Store(p)
}

// Name returns the user's name.
func (u *User) Name() string { return u.name }

// Unrestricted says whether the user may use every command, key and channel, so that there is nothing to check.
func (u *User) Unrestricted() bool { return u.current.Load().unrestricted }

// NeedsNoPassword says whether a connection of this user is authenticated without AUTH. It is used for the default user.
func (u *User) NeedsNoPassword() bool {
	p := u.current.Load()
	return p.enabled && p.noPassword
}

// HasNoPassword says whether every password is right for the user, enabled or not.
func (u *User) HasNoPassword() bool { return u.current.Load().noPassword }
