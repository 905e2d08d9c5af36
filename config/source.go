package config

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// A Source is where a line is: in a file, on standard input ("-"), or, without a file, on the command line.
type Source struct {
	File string
	Line int // from 1
}

func (s Source) String() string {
	switch s.File {
	case "":
		return "the command line"
	case stdinName:
		return fmt.Sprintf("standard input, at line %d", s.Line)
	}
	return fmt.Sprintf("the configuration file %s, at line %d", s.File, s.Line)
}

// An Error describes what is wrong with a line of the configuration. Its text is Redis's, with the file's name, on several
// lines.
type Error struct {
	Source Source
	Text   string // the line
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("*** FATAL CONFIG FILE ERROR (cellserver) ***\nReading %s\n>>> '%s'\n%s", e.Source, e.Text, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// cause strips from an operating system's error what the reader already knows, the name of the file, and spells the rest as
// strerror does.
func cause(err error) error {
	var number syscall.Errno
	if err == nil || !errors.As(err, &number) {
		return err
	}
	switch {
	case errors.Is(number, os.ErrNotExist):
		return errors.New("No such file or directory")
	case errors.Is(number, os.ErrPermission):
		return errors.New("Permission denied")
	}
	text := number.Error()
	if text[0] >= 'a' && text[0] <= 'z' {
		text = string(text[0]-'a'+'A') + text[1:]
	}
	return errors.New(text)
}
