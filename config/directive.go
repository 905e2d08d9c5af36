package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cellserver/cellserver/internal/glob"
)

// A directive is a row of the table.
type directive struct {
	name   string
	alias  string // an older name, which CONFIG GET shows too
	later  string // a name in later versions, which CONFIG GET shows only when asked for exactly that name
	kind   kind
	value  string                    // the default
	field  func(c *Config) any       // points to the field that it fills; nil: it has no effect
	when   changing                  // whether CONFIG SET may change it
	help   string                    // for --help, which lists the directives that have it
	note   func(value string) string // for the log, where the value is accepted but not obeyed; empty: obeyed
	hidden bool                      // shown only when asked for by name, and not documented

	// A directive without a field either cannot concern a rate limiter, or is one of these two.
	missing bool   // it may concern the operator of one, and is not implemented
	promise string // what holds instead of what any value but the table's would promise
}

// changing says whether CONFIG SET may change a directive.
type changing int

const (
	anytime   changing = iota
	atStart            // never
	protected          // where enable-protected-configs allows it
)

// byName finds directives by their names and aliases.
var byName = func() map[string]*directive {
	names := make(map[string]*directive, 2*len(directives))
	for i := range directives {
		d := &directives[i]
		for _, name := range []string{d.name, d.alias, d.later} {
			if name == "" {
				continue
			}
			if names[name] != nil {
				panic("config: two directives are called " + name)
			}
			names[name] = d
		}
	}
	return names
}()

func find(name string) *directive { return byName[strings.ToLower(name)] }

// get returns a directive's value as CONFIG GET shows it.
func (d *directive) get(c *Config) string {
	if d.field != nil {
		return textOf(d.field(c))
	}
	if text, set := c.inert[d.name]; set {
		return text
	}
	return d.value
}

// set gives a directive the value that the words say. For a value whose promise cellserver does not keep, the error is a
// *promiseError.
func (d *directive) set(c *Config, words []string) error {
	text, err := d.kind.parse(d.get(c), words)
	if err != nil {
		return err
	}
	if d.field != nil {
		assign(d.field(c), text)
		return nil
	}
	if d.promise != "" && text != d.value {
		return &promiseError{d, text}
	}
	if c.inert == nil {
		c.inert = make(map[string]string)
	}
	c.inert[d.name] = text
	return nil
}

// staysInForeground notes daemonize yes.
func staysInForeground(value string) string {
	if value == "no" {
		return ""
	}
	return "daemonize yes: cellserver stays in the foreground; run it under a supervisor or with the shell's &"
}

// A promiseError reports a value that promises what cellserver does not do.
type promiseError struct {
	directive *directive
	text      string // the value
}

func (e *promiseError) Error() string { return "not implemented: " + e.directive.promise }

// A Value is what CONFIG GET returns for a directive, under one of its names.
type Value struct{ Name, Text string }

// Get returns the values of the directives, each under those of its names that a pattern matches. Hidden directives and later
// names match only a pattern that is exactly the name.
func (c *Config) Get(patterns ...string) []Value {
	var found []Value
	for i := range directives {
		d := &directives[i]
		for _, name := range []string{d.name, d.alias, d.later} {
			listed := name != d.later && !d.hidden
			if name != "" && slices.ContainsFunc(patterns, func(pattern string) bool {
				return pattern == name || listed && glob.Match([]byte(pattern), []byte(name))
			}) {
				found = append(found, Value{name, d.get(c)})
			}
		}
	}
	return found
}

// Lookup returns the value of one directive.
func (c *Config) Lookup(name string) (text string, known bool) {
	d := find(name)
	if d == nil {
		return "", false
	}
	return d.get(c), true
}

// Help returns a line for each of the most common directives, for --help.
func Help() string {
	var b strings.Builder
	defaults := Default()
	for i := range directives {
		d := &directives[i]
		if d.help == "" {
			continue
		}
		fmt.Fprintf(&b, "  %-28s%s", "--"+d.name, d.help)
		if value := d.get(&defaults); value != "" && value != d.value {
			fmt.Fprintf(&b, " (here %s)", value)
		} else if value != "" {
			fmt.Fprintf(&b, " (default %s)", value)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
