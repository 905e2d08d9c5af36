package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A logLevel is how much a line of the log matters. loglevel names the least that is written.
type logLevel int32

const (
	logDebug logLevel = iota
	logVerbose
	logNotice
	logWarning
	logNothing // no line has it
)

var logLevels = map[string]logLevel{"debug": logDebug, "verbose": logVerbose, "notice": logNotice, "warning": logWarning, "nothing": logNothing}

// logMarks are how the levels show in a line.
const logMarks = ".-*#"

// A logger writes lines in Redis's format, which tools that collect them know:
//
//	4711:M 30 Nov 2026 08:47:53.984 * what happened
//
// The file is opened for every line, as Redis does it: whoever rotates logs need not tell the server.
type logger struct {
	level atomic.Int32
	path  string // empty: standard output

	mu         sync.Mutex
	openSystem func() (systemLog, error) // nil: the system's log is not asked for
	system     systemLog                 // nil: it is not open
}

// A systemLog writes a line to the system's log.
type systemLog func(level logLevel, text string)

// newLogger returns a logger, or the error of one whose lines could not be written.
func newLogger(c *Config) (*logger, error) {
	l := &logger{path: c.Path(c.LogFile)}
	l.level.Store(int32(logLevels[c.LogLevel]))
	if l.path != "" {
		file, err := l.open()
		if err != nil {
			return nil, fmt.Errorf("can't open the log file: %w", err)
		}
		file.Close()
	}
	if c.SyslogEnabled {
		l.openSystem = func() (systemLog, error) { return openSyslog(c.SyslogFacility, c.SyslogIdent) }
		if err := l.reachSystem(); err != nil {
			l.warning("can't reach syslog: %v; each line tries again", err)
		}
	}
	return l, nil
}

// reachSystem opens the system's log, where it is asked for and not open: it may have been down at the start.
func (l *logger) reachSystem() (err error) {
	if l.openSystem != nil && l.system == nil {
		l.system, err = l.openSystem()
	}
	return err
}

func (l *logger) open() (*os.File, error) {
	return os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
}

func (l *logger) debug(format string, args ...any)   { l.write(logDebug, format, args) }
func (l *logger) verbose(format string, args ...any) { l.write(logVerbose, format, args) }
func (l *logger) notice(format string, args ...any)  { l.write(logNotice, format, args) }
func (l *logger) warning(format string, args ...any) { l.write(logWarning, format, args) }

// fatal notes why a server does not start or did not end in order. Whoever gets the error tells it too, but tools that start a
// server and wait for it read the log alone.
func (l *logger) fatal(err error) {
	var listening *listenError
	if errors.As(err, &listening) {
		l.warning("%s", listening.summary)
		return
	}
	l.warning("Fatal error: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
}

// write writes a line, if its level is to be logged. A log that can't be written stops nobody.
func (l *logger) write(level logLevel, format string, args []any) {
	if int32(level) < l.level.Load() {
		return
	}
	text := fmt.Sprintf(format, args...)
	line := fmt.Sprintf("%d:M %s %c %s\n", os.Getpid(), time.Now().Format("02 Jan 2006 15:04:05.000"), logMarks[level], text)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reachSystem() == nil && l.system != nil {
		l.system(level, text)
	}
	if l.path == "" {
		_, _ = io.WriteString(os.Stdout, line)
		return
	}
	if file, err := l.open(); err == nil {
		_, _ = io.WriteString(file, line)
		file.Close()
	}
}
