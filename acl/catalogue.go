package acl

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// A Command describes one command or subcommand of the server.
type Command struct {
	Name       string   // lower case: "get", or "config|get" for a subcommand
	Categories []string // without the @
	// NoAuth marks the commands that every client may use, even before authentication: AUTH, HELLO, QUIT, RESET.
	NoAuth bool
}

// A CommandID is a command's place in the [Catalogue].
type CommandID int

// A Catalogue is the commands that rules can name: those of the server and, so that existing rules load unchanged, the
// others of Redis 7.0. It never changes.
type Catalogue struct {
	entries []entry // each container is followed by its subcommands
	byName  map[string]CommandID
}

type entry struct {
	name        string
	categories  categorySet
	noAuth      bool
	served      bool
	container   CommandID // of a subcommand; none of others
	subcommands int       // how many follow
}

const none CommandID = -1

// redisCommands are Redis 7.0.15's commands and subcommands as COMMAND lists them, one line "name category..." each.
//
//go:embed redis-7.0-commands.txt
var redisCommands string

// NewCatalogue makes the catalogue of a server's commands. A subcommand's container must be among them. It panics if a
// command is given twice or names a category that does not exist.
func NewCatalogue(served []Command) *Catalogue {
	all := make(map[string]entry)
	for line := range strings.Lines(redisCommands) {
		words := strings.Fields(line)
		all[words[0]] = entry{name: words[0], categories: categoriesOf(words[1:])}
	}
	for _, command := range served {
		if all[command.Name].served {
			panic("acl: command given twice: " + command.Name)
		}
		all[command.Name] = entry{
			name: command.Name, categories: categoriesOf(command.Categories), noAuth: command.NoAuth, served: true,
		}
	}
	c := &Catalogue{byName: make(map[string]CommandID, len(all))}
	for _, each := range all {
		c.entries = append(c.entries, each)
	}
	slices.SortFunc(c.entries, func(a, b entry) int {
		return slices.Compare(strings.Split(a.name, "|"), strings.Split(b.name, "|"))
	})
	for i := range c.entries {
		each := &c.entries[i]
		c.byName[each.name] = CommandID(i)
		each.container = none
		if name, _, isSubcommand := strings.Cut(each.name, "|"); isSubcommand {
			container, known := c.byName[name]
			if !known {
				panic("acl: subcommand without its container: " + each.name)
			}
			each.container = container
			c.entries[container].subcommands++
		}
	}
	return c
}

func categoriesOf(names []string) (set categorySet) {
	for _, name := range names {
		category, known := categoryOf(name)
		if !known {
			panic(fmt.Sprintf("acl: no category @%s", name))
		}
		set |= category
	}
	return set
}

// ID returns the command with a name, in any case, or false.
func (c *Catalogue) ID(name string) (CommandID, bool) {
	id, known := c.byName[strings.ToLower(name)]
	return id, known
}

// Name returns a command's full name, "config|get".
func (c *Catalogue) Name(id CommandID) string { return c.entries[id].name }

// Absent returns the names of the commands that rules can name although they are not served, without subcommands.
func (c *Catalogue) Absent() (names []string) {
	for i := range c.entries {
		if each := &c.entries[i]; !each.served && each.container == none {
			names = append(names, each.name)
		}
	}
	return names
}

// In returns the names of the served commands of a category, and false where there is no such category.
func (c *Catalogue) In(category string) (names []string, known bool) {
	wanted, known := categoryOf(category)
	for i := range c.entries {
		if each := &c.entries[i]; each.served && each.categories&wanted != 0 {
			names = append(names, each.name)
		}
	}
	return names, known
}

// family returns the end of a command and its subcommands, which are the entries from id on.
func (c *Catalogue) family(id CommandID) (end CommandID) {
	return id + 1 + CommandID(c.entries[id].subcommands)
}
