package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cellserver/cellserver/config"
)

// rename obeys the configuration's rename-command lines. Errors have Redis's words and say where the line stands.
func (t *commandTable) rename(lines []config.Line) error {
	for _, line := range lines {
		from, to := strings.ToLower(line.Words[1]), strings.ToLower(line.Words[2])
		if err := t.renameOne(from, to); err != nil {
			return &config.Error{Source: line.Source, Text: strings.Join(line.Words, " "), Err: err}
		}
	}
	return nil
}

// renameOne has a command answer to another name, or to none. COMMAND and error replies still call it by its own.
func (t *commandTable) renameOne(from, to string) error {
	row := t.byName[from]
	switch {
	case row == nil:
		return errors.New("No such command in rename-command")
	case len(to) > longestName:
		return fmt.Errorf("A command's name has at most %d bytes", longestName)
	case to != "" && t.byName[to] != nil:
		return errors.New("Target command name already exists")
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
