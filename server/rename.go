package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cellserver/cellserver/config"
)

// A renamer obeys rename-command. It knows the commands of Redis and Valkey that there are not here as well: files that turn them
// off say nothing wrong.
type renamer struct {
	table  *commandTable
	absent map[string]bool // by name; true: nothing else may get that name
	notes  []string        // for the log
}

// newRenamer returns a renamer of a server's commands. absent are Redis 7.0's others.
func newRenamer(t *commandTable, absent []string) *renamer {
	r := &renamer{table: t, absent: make(map[string]bool)}
	for name := range strings.FieldsSeq(laterCommands) {
		r.absent[name] = false // Redis 7.0 lets another command have it
	}
	for _, name := range absent {
		r.absent[name] = true
	}
	return r
}

// laterCommands are those that came with Redis 7.2 to 8.10 and Valkey 7.2 to 9.1.
const laterCommands = `
	arcount ardel ardelrange arget argetrange argrep arinfo arinsert arlastitems arlen armget armset arnext arop arring arscan arseek arset
	backup blmovem clusterscan commandlog delex delifeq digest gcra hexpire hexpireat hexpiretime hgetdel hgetex himport hotkeys hpersist
	hpexpire hpexpireat hpexpiretime hpttl hsetex httl increx lmovem msetex sdiffcard sflush sunioncard syncslots trimslots vadd vcard vdim
	vemb vgetattr vinfo vismember vlinks vrandmember vrange vrem vsetattr vsim waitaof xackdel xcfgset xdelex xidmprecord xnack`

// rename obeys the configuration's rename-command lines. Errors have Redis's words and say where the line stands.
func (r *renamer) rename(lines []config.Line) error {
	for _, line := range lines {
		from, to := strings.ToLower(line.Words[1]), strings.ToLower(line.Words[2])
		if err := r.renameOne(from, to); err != nil {
			return &config.Error{Source: line.Source, Text: line.Text, Err: err}
		}
	}
	return nil
}

// renameOne has a command answer to another name, or to none. COMMAND and error replies still call it by its own.
func (r *renamer) renameOne(from, to string) error {
	t, row := r.table, r.table.byName[from]
	_, absent := r.absent[from]
	switch {
	case row == nil && !absent:
		return errors.New("No such command in rename-command")
	case len(to) > longestName:
		return fmt.Errorf("A command's name has at most %d bytes", longestName)
	case to != "" && to != from && (t.byName[to] != nil || r.absent[to]):
		return errors.New("Target command name already exists")
	case row == nil:
		delete(r.absent, from)
		if to != "" {
			r.absent[to] = true
			r.notes = append(r.notes, fmt.Sprintf("rename-command %s %s: cellserver has no command %s, and so none that is called %s", from, to, from, to))
		}
		return nil
	}
	delete(t.byName, from)
	if to != "" {
		t.byName[to] = row
		return nil
	}
	t.rows = slices.DeleteFunc(t.rows, func(each *command) bool { return each == row })
	return nil
}

// renamed returns the own names of commands by those that the lines give them: a Redis with the same lines has written its log so.
func renamed(lines []config.Line) map[string]string {
	names := make(map[string]string, len(lines))
	for _, line := range lines {
		if to := strings.ToLower(line.Words[2]); to != "" {
			names[to] = strings.ToLower(line.Words[1])
		}
	}
	return names
}
