package config

import (
	"fmt"
	"strings"
)

// A SetError says which directive made a CONFIG SET fail, and why. Its text is the reply.
type SetError struct {
	Name string // as it was given
	Err  error  // nil: there is no such directive
}

func (e *SetError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("Unknown option or number of arguments for CONFIG SET - '%s'", e.Name)
	}
	return fmt.Sprintf("CONFIG SET failed (possibly related to argument '%s') - %v", e.Name, e.Err)
}

func (e *SetError) Unwrap() error { return e.Err }

// A Pair is a name and a value of CONFIG SET.
type Pair struct{ Name, Value string }

// With returns a copy of c with new values, all of them or, with a *SetError, none. protectedToo allows changes to
// directives that only enable-protected-configs opens.
func (c *Config) With(pairs []Pair, protectedToo bool) (*Config, error) {
	rows := make([]*directive, len(pairs))
	var failure *SetError // the first; an unknown name is reported before all others
	fail := func(name, reason string) {
		if failure == nil {
			failure = &SetError{name, fmt.Errorf("%s", reason)}
		}
	}
	given := make(map[string]bool, len(pairs))
	for i, pair := range pairs {
		d := find(pair.Name)
		if d == nil {
			return nil, &SetError{Name: pair.Name}
		}
		rows[i] = d
		name := strings.ToLower(pair.Name)
		switch {
		case d.when == atStart:
			fail(pair.Name, "can't set immutable config")
		case d.when == protected && !protectedToo:
			fail(pair.Name, "can't set protected config")
		case given[name]:
			fail(pair.Name, "duplicate parameter")
		}
		given[name] = true
	}
	if failure != nil {
		return nil, failure
	}
	next := c.Clone()
	for i, d := range rows {
		if err := d.set(next, []string{pairs[i].Value}); err != nil {
			return nil, &SetError{pairs[i].Name, err}
		}
	}
	return next, nil
}

// NotesSince returns, for the log, which of the values that c has and before has not have no effect, as Notes would.
func (c *Config) NotesSince(before *Config) []string {
	r := reader{config: c.Clone()}
	r.config.Notes = nil
	for i := range directives {
		if d := &directives[i]; d.get(c) != d.get(before) {
			r.given = append(r.given, given{directive: d, as: d.name})
		}
	}
	r.summarize()
	return r.config.Notes
}
