package acl

import "strings"

// A Description is a user as ACL GETUSER shows it.
type Description struct {
	Flags     []string // on or off, nopass, the treatment of payloads
	Passwords []string // SHA-256 in hexadecimal
	Permissions
	Selectors []Permissions
}

// Permissions are one set of permissions, each part as rules with a space between them.
type Permissions struct{ Commands, Keys, Channels string }

// Describe returns everything about a user.
func (s *Store) Describe(u *User) Description {
	p := u.current.Load()
	d := Description{Flags: p.flags(), Permissions: p.selectors[0].describe(s.catalogue)}
	for _, hash := range p.passwords {
		d.Passwords = append(d.Passwords, hash.String())
	}
	for _, each := range p.selectors[1:] {
		d.Selectors = append(d.Selectors, each.describe(s.catalogue))
	}
	return d
}

func (p *profile) flags() []string {
	flags := []string{"off"}
	if p.enabled {
		flags[0] = "on"
	}
	if p.noPassword {
		flags = append(flags, "nopass")
	}
	switch p.payload {
	case payloadSanitize:
		flags = append(flags, "sanitize-payload")
	case payloadSkip:
		flags = append(flags, "skip-sanitize-payload")
	}
	return flags
}

// line returns the user's line of ACL LIST and of an ACL file: rules that make the same user of a new one.
func (s *Store) line(u *User) string {
	d := s.Describe(u)
	words := append([]string{"user", u.name}, d.Flags...)
	for _, hash := range d.Passwords {
		words = append(words, "#"+hash)
	}
	words = append(words, d.rules())
	for _, each := range d.Selectors {
		words = append(words, "("+each.rules()+")")
	}
	return strings.Join(words, " ")
}

// rules returns the permissions as one line of rules. Channels begin from none, whatever the default is.
func (p Permissions) rules() string {
	var parts []string
	if p.Keys != "" {
		parts = append(parts, p.Keys)
	}
	if p.Channels != "&*" {
		parts = append(parts, "resetchannels")
	}
	if p.Channels != "" {
		parts = append(parts, p.Channels)
	}
	return strings.Join(append(parts, p.Commands), " ")
}

func (s *selector) describe(c *Catalogue) Permissions {
	var keys, channels []string
	for _, each := range s.keys {
		keys = append(keys, each.String())
	}
	for _, pattern := range s.channels {
		channels = append(channels, "&"+pattern)
	}
	if s.allKeys {
		keys = []string{"~*"}
	}
	if s.allChannels {
		channels = []string{"&*"}
	}
	return Permissions{
		Commands: strings.Join(s.describeCommands(c), " "),
		Keys:     strings.Join(keys, " "),
		Channels: strings.Join(channels, " "),
	}
}

// String returns the rule that adds the pattern. (Redis has ~* for %RW~* too, which is another rule: no pattern may come
// after it, and an ACL file that has one can't be loaded.)
func (k keyPattern) String() string {
	switch {
	case k.access == Read:
		return "%R~" + k.pattern
	case k.access == Write:
		return "%W~" + k.pattern
	case k.pattern == "*":
		return "%RW~*"
	}
	return "~" + k.pattern
}

// describeCommands finds rules that allow what the selector allows. It begins with all commands or none, repeatedly
// takes the best category, and corrects the rest command by command. Redis 7.0 does the same, but lists single commands
// in an order that differs from process to process; here they are sorted by name.
func (s *selector) describeCommands(c *Catalogue) []string {
	sign, rules := "+", []string{"-@all"}
	if s.fromAll {
		sign, rules = "-", []string{"+@all"}
	}
	result, open := newSelector(c, false), s.clone() // what the rules make, and what is left to describe
	result.setAll(s.fromAll)
	taken := categorySet(0)
	for {
		best := open.bestCategory(c, taken, !s.fromAll)
		if best < 0 {
			break
		}
		taken |= 1 << best
		rules = append(rules, sign+"@"+Categories[best])
		result.setCategory(c, 1<<best, !s.fromAll)
		open.setCategory(c, 1<<best, s.fromAll)
	}
	for i := range c.entries {
		id := CommandID(i)
		allowed := s.allows(id)
		if allowed != result.allows(id) {
			result.set(c, id, allowed)
			rules = append(rules, map[bool]string{true: "+", false: "-"}[allowed]+c.Name(id))
		}
		for _, argument := range s.firstArguments[id] {
			rules = append(rules, "+"+c.Name(id)+"|"+argument)
		}
	}
	return rules
}

// bestCategory returns the category, of those not taken, which has more commands with the wanted permission than without
// it, the fewest of the latter and, where these are equally many, the most of the former. It returns -1 for none.
func (s *selector) bestCategory(c *Catalogue, taken categorySet, wanted bool) (best int) {
	best = -1
	fewestWrong, mostRight := 0, 0
	for i := range Categories {
		if taken>>i&1 != 0 {
			continue
		}
		right, wrong := 0, 0
		for id := range c.entries {
			if c.entries[id].categories>>i&1 == 0 {
				continue
			}
			if s.allows(CommandID(id)) == wanted {
				right++
			} else {
				wrong++
			}
		}
		if right > wrong && (best < 0 || wrong < fewestWrong || wrong == fewestWrong && right > mostRight) {
			best, fewestWrong, mostRight = i, wrong, right
		}
	}
	return best
}
