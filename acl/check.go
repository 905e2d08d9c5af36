package acl

import (
	"strings"

	"github.com/cellserver/cellserver/internal/glob"
)

// A Key is a key of a command and what the command does with it.
type Key struct {
	Name   []byte
	Access Access
}

// A Channel is a channel of a command, or a pattern of them (PSUBSCRIBE): the user must have that very pattern.
type Channel struct {
	Name      []byte
	IsPattern bool
}

// A Request is a command to be checked.
type Request struct {
	Command       CommandID
	FirstArgument []byte // the word after the command's name; nil where there is none
	Keys          []Key
	Channels      []Channel
}

// Reason is why something was denied. The later ones came further in the check.
type Reason int

// The reasons, in Redis's order.
const (
	DeniedCommand Reason = iota + 1
	DeniedKey
	DeniedAuth
	DeniedChannel
)

// String returns the reason as ACL LOG shows it.
func (r Reason) String() string {
	return map[Reason]string{DeniedCommand: "command", DeniedKey: "key", DeniedAuth: "auth", DeniedChannel: "channel"}[r]
}

// A Denial is why a request was denied, and an error reply's text.
type Denial struct {
	Reason Reason
	Object string // the command's full name, the key or the channel
}

// Error returns Redis 7.0's error reply to a denied command, without the '-'.
func (d *Denial) Error() string {
	switch d.Reason {
	case DeniedKey:
		return "NOPERM this user has no permissions to access one of the keys used as arguments"
	case DeniedChannel:
		return "NOPERM this user has no permissions to access one of the channels used as arguments"
	}
	return "NOPERM this user has no permissions to run the '" + d.Object + "' command"
}

// Explanation returns what ACL DRYRUN answers.
func (d *Denial) Explanation() string {
	switch d.Reason {
	case DeniedKey:
		return "This user has no permissions to access the '" + d.Object + "' key"
	case DeniedChannel:
		return "This user has no permissions to access the '" + d.Object + "' channel"
	}
	return "This user has no permissions to run the '" + d.Object + "' command"
}

// ReasonAtExec returns why a queued command may no longer run, as the end of EXEC's error reply.
func (d *Denial) ReasonAtExec() string {
	switch d.Reason {
	case DeniedKey:
		return "no permission to touch the specified keys"
	case DeniedChannel:
		return "no permission to access one of the channels used as arguments"
	}
	return "no permission to execute the command or subcommand"
}

// ReasonInScript returns what a script's user can't do, as the end of redis.call's error.
func (d *Denial) ReasonInScript() string {
	switch d.Reason {
	case DeniedKey:
		return "can't access at least one of the keys mentioned in the command arguments"
	case DeniedChannel:
		return "can't publish to the channel mentioned in the command"
	}
	return "can't run this command or subcommand"
}

// Check returns nil if the user may run the request. If several selectors deny it, Check returns the denial that came
// furthest.
func (s *Store) Check(u *User, r *Request) *Denial {
	p := u.current.Load()
	if p.unrestricted {
		return nil
	}
	var reason Reason
	var index int
	for _, each := range p.selectors {
		denied, at := each.check(s.catalogue, r)
		if denied == 0 {
			return nil
		}
		if denied > reason || denied == reason && at > index {
			reason, index = denied, at
		}
	}
	denial := &Denial{Reason: reason}
	switch reason {
	case DeniedCommand:
		denial.Object = s.catalogue.Name(r.Command)
	case DeniedKey:
		denial.Object = string(r.Keys[index].Name)
	case DeniedChannel:
		denial.Object = string(r.Channels[index].Name)
	}
	return denial
}

// check returns 0 if the selector allows the request, or else why not and the key or channel concerned.
func (s *selector) check(c *Catalogue, r *Request) (reason Reason, index int) {
	if !s.allowsCommand(c, r) {
		return DeniedCommand, 0
	}
	for i := range r.Keys {
		if !s.allowsKey(&r.Keys[i]) {
			return DeniedKey, i
		}
	}
	for i := range r.Channels {
		if !s.allowsChannel(&r.Channels[i]) {
			return DeniedChannel, i
		}
	}
	return 0, 0
}

func (s *selector) allowsCommand(c *Catalogue, r *Request) bool {
	if s.allows(r.Command) || c.entries[r.Command].noAuth {
		return true
	}
	if r.FirstArgument == nil {
		return false
	}
	for _, argument := range s.firstArguments[r.Command] {
		if strings.EqualFold(argument, string(r.FirstArgument)) {
			return true
		}
	}
	return false
}

func (s *selector) allowsKey(key *Key) bool {
	if s.allKeys {
		return true
	}
	for i := range s.keys {
		if s.keys[i].access&key.Access == key.Access && glob.Match([]byte(s.keys[i].pattern), key.Name) {
			return true
		}
	}
	return false
}

func (s *selector) allowsChannel(channel *Channel) bool {
	if s.allChannels {
		return true
	}
	for _, pattern := range s.channels {
		if channel.IsPattern && pattern == string(channel.Name) || !channel.IsPattern && glob.Match([]byte(pattern), channel.Name) {
			return true
		}
	}
	return false
}

// MayReceive says whether the user may have a subscription. A subscription lasts, so whenever a user changes, the server
// checks all subscriptions of the user's connections, and closes the connections that have a forbidden one, as Redis does.
func (u *User) MayReceive(channel Channel) bool {
	for _, each := range u.current.Load().selectors {
		if each.allowsChannel(&channel) {
			return true
		}
	}
	return false
}
