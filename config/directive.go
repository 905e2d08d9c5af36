package config

import (
	"fmt"
	"strings"
)

// A directive is a row of the table.
type directive struct {
	name   string
	alias  string // an older name, which CONFIG GET shows too
	kind   kind
	value  string                    // when nothing is said
	field  func(c *Config) any       // points to what it fills; nil: it cannot concern a rate limiter
	when   changing                  // whether CONFIG SET may change it
	help   string                    // for --help, which lists the directives that have it
	note   func(value string) string // for the log where the value is accepted and not obeyed; empty: obeyed
	hidden bool                      // shown by its name alone, and not documented
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
		for _, name := range []string{d.name, d.alias} {
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

// isOlder says whether a name is the directive's older one.
func (d *directive) isOlder(name string) bool { return strings.EqualFold(d.alias, name) }

func find(name string) *directive { return byName[strings.ToLower(name)] }

// obeyed says whether a directive without a field is true all the same, having just one value.
func (d *directive) obeyed() bool {
	_, just := d.kind.(only)
	return just
}

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

// set gives a directive the value that the words say.
func (d *directive) set(c *Config, words []string) error {
	text, err := d.kind.parse(d.get(c), words)
	if err != nil {
		return err
	}
	if d.field != nil {
		assign(d.field(c), text)
		return nil
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
	return "daemonize yes: cellserver stays in the foreground, where a supervisor or the shell's & takes care of it"
}

// limitsNothing notes a maxmemory, on which somebody might rely.
func limitsNothing(text string) string {
	if text == "0" {
		return ""
	}
	return "maxmemory: memory is not limited yet; keys take some 40 bytes each and live only until their limit is full again"
}

// A Value is what CONFIG GET tells of a directive, under one of its names.
type Value struct{ Name, Text string }

// Get returns the values of the directives, each under those of its names that match.
func (c *Config) Get(match func(name string) bool) []Value {
	var found []Value
	for i := range directives {
		d := &directives[i]
		for _, name := range []string{d.name, d.alias} {
			if name != "" && !d.hidden && match(name) {
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

// Help returns a line for each of the directives that are asked for most, for --help.
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
