package acl

import (
	"errors"
	"strings"
)

// The faults of a rule, in Redis's words.
var (
	errUnknownName   = errors.New("Unknown command or category name in ACL")
	errSyntax        = errors.New("Syntax error")
	errAfterAllKeys  = errors.New("Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns")
	errAfterAllChans = errors.New("Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels")
	errNoSuchHash    = errors.New("The password you are trying to remove from the user does not exist")
	errBadHash       = errors.New("The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters")
	errSubcommandArg = errors.New("Allowing first-arg of a subcommand is not supported")
)

// A RuleError is a rule that cannot be applied.
type RuleError struct {
	Rule   string // as given; a selector as one word
	Reason error
}

func (e *RuleError) Error() string {
	shown, _, _ := strings.Cut(e.Rule, "\x00") // where Redis takes it to end
	return "Error in ACL SETUSER modifier '" + shown + "': " + e.Reason.Error()
}

func (e *RuleError) Unwrap() error { return e.Reason }

// UnmatchedError is a selector that is not closed: the words from its parenthesis on.
type UnmatchedError struct{ Start string }

func (e *UnmatchedError) Error() string {
	return "Unmatched parenthesis in acl selector starting at '" + e.Start + "'."
}

// joinSelectors makes one rule of the words of each selector: "(+get" "~x)" becomes "(+get ~x)".
func joinSelectors(words []string) (rules []string, err error) {
	for i := 0; i < len(words); i++ {
		start := i
		if strings.HasPrefix(words[i], "(") {
			for !strings.HasSuffix(words[i], ")") {
				if i++; i == len(words) {
					return nil, &UnmatchedError{words[start]}
				}
			}
		}
		rules = append(rules, strings.Join(words[start:i+1], " "))
	}
	return rules, nil
}

// apply applies one rule. The profile must not be in use yet.
func (p *profile) apply(c *Catalogue, rule string, channelsByDefault bool) error {
	switch strings.ToLower(rule) {
	case "":
	case "on":
		p.enabled = true
	case "off":
		p.enabled = false
	case "nopass":
		p.noPassword, p.passwords = true, nil
	case "resetpass":
		p.noPassword, p.passwords = false, nil
	case "sanitize-payload":
		p.payload = payloadSanitize
	case "skip-sanitize-payload":
		p.payload = payloadSkip
	case "clearselectors":
		p.selectors = p.selectors[:1]
	case "reset":
		*p = profile{payload: payloadSanitize, selectors: []*selector{newSelector(c, channelsByDefault)}}
	default:
		switch {
		case strings.ContainsRune(">#<!", rune(rule[0])):
			return p.applyPassword(rule)
		case rule[0] == '(' && rule[len(rule)-1] == ')':
			return p.addSelector(c, rule[1:len(rule)-1], channelsByDefault)
		}
		return p.selectors[0].apply(c, rule)
	}
	return nil
}

// applyPassword carries out >password, <password, #hash and !hash.
func (p *profile) applyPassword(rule string) error {
	hash, ok := passwordHash{}, true
	if rule[0] == '#' || rule[0] == '!' {
		hash, ok = parseHash(rule[1:])
	} else {
		hash = hashOf([]byte(rule[1:]))
	}
	switch {
	case !ok:
		return errBadHash
	case rule[0] == '>' || rule[0] == '#':
		p.addPassword(hash)
	case !p.removePassword(hash):
		return errNoSuchHash
	}
	return nil
}

// addSelector carries out the rules between a selector's parentheses.
//
// A word that ends in a parenthesis is refused. Redis takes it where the selector came as one argument, and then writes
// an ACL file in which the selector ends there and means something else.
func (p *profile) addSelector(c *Catalogue, rules string, channelsByDefault bool) error {
	added := newSelector(c, channelsByDefault)
	for rule := range strings.FieldsSeq(rules) {
		if strings.HasSuffix(rule, ")") {
			return errSyntax
		}
		if err := added.apply(c, rule); err != nil {
			return err
		}
	}
	p.selectors = append(p.selectors, added)
	return nil
}

// apply carries out a rule on commands, keys or channels, which is not empty.
func (s *selector) apply(c *Catalogue, rule string) error {
	switch strings.ToLower(rule) {
	case "allcommands", "+@all":
		s.setAll(true)
		return nil
	case "nocommands", "-@all":
		s.setAll(false)
		return nil
	case "allkeys", "~*":
		s.setAllKeys(true)
		return nil
	case "resetkeys":
		s.setAllKeys(false)
		return nil
	case "allchannels", "&*":
		s.setAllChannels(true)
		return nil
	case "resetchannels":
		s.setAllChannels(false)
		return nil
	}
	switch rule[0] {
	case '+', '-':
		return s.applyCommand(c, rule[1:], rule[0] == '+')
	case '~', '%':
		return s.applyKeys(rule)
	case '&':
		return s.applyChannels(rule[1:])
	}
	return errSyntax
}

// applyCommand carries out + or - of a command, a subcommand, a category or a command with a first argument.
func (s *selector) applyCommand(c *Catalogue, name string, allow bool) error {
	if categoryName, isCategory := strings.CutPrefix(name, "@"); isCategory {
		category, known := categoryOf(categoryName)
		if !known {
			return errUnknownName
		}
		s.setCategory(c, category, allow)
		return nil
	}
	if id, known := c.ID(name); known {
		s.set(c, id, allow)
		return nil
	}
	bar := strings.LastIndexByte(name, '|')
	if bar < 0 || !allow {
		return errUnknownName
	}
	id, known := c.ID(name[:bar])
	argument := name[bar+1:]
	switch {
	case !known:
		return errUnknownName
	case c.entries[id].container != none:
		return errSubcommandArg
	case argument == "":
		return errSyntax
	case c.entries[id].subcommands > 0:
		return errUnknownName
	case hasSpaces(argument): // Redis accepts it, and then can't read the ACL file that it writes
		return errSyntax
	}
	s.addFirstArgument(id, argument)
	return nil
}

// applyKeys carries out ~pattern, %R~pattern, %W~pattern and %RW~pattern. As in Redis, %R alone is %R~.
func (s *selector) applyKeys(rule string) error {
	if s.allKeys {
		return errAfterAllKeys
	}
	access, pattern := Read|Write, rule[1:]
	if rule[0] == '%' {
		letters, after, _ := strings.Cut(rule[1:], "~")
		access, pattern = 0, after
		for _, letter := range strings.ToUpper(letters) {
			kind := map[rune]Access{'R': Read, 'W': Write}[letter]
			if kind == 0 || access&kind != 0 {
				return errSyntax
			}
			access |= kind
		}
		if access == 0 {
			return errSyntax
		}
	}
	if hasSpaces(pattern) {
		return errSyntax
	}
	s.addKeys(pattern, access)
	return nil
}

func (s *selector) applyChannels(pattern string) error {
	switch {
	case s.allChannels:
		return errAfterAllChans
	case hasSpaces(pattern):
		return errSyntax
	}
	for _, each := range s.channels {
		if each == pattern {
			return nil
		}
	}
	s.channels = append(s.channels, pattern)
	return nil
}

// hasSpaces says whether a name or pattern can't stand in an ACL file: white space would end it, and Redis's own code
// ends it at a zero byte.
func hasSpaces(text string) bool { return strings.ContainsAny(text, " \t\n\v\f\r\x00") }
