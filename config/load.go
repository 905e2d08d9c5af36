package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cellserver/cellserver/resp"
)

const (
	// maxIncludes is how deep files may include each other. (Redis has no limit: a file that includes itself is read until
	// there is no memory.)
	maxIncludes = 16
	// maxFileBytes is the size of the largest file that is read: naming a log or a device by mistake fails at once.
	maxFileBytes = 16 << 20

	stdinName = "-"
)

// Errors in Redis's words for lines that are not directives.
var (
	errBadDirective = errors.New("Bad directive or wrong number of arguments")
	errQuotes       = errors.New("Unbalanced quotes in configuration line")
	errSentinel     = errors.New("sentinel directive while not in sentinel mode")
)

// Load applies a command line to c: [file | -] [--directive value...]... [-]. stdin is what - stands for. As in Redis the file
// is read first, then standard input, then the directives, wherever the - stands.
//
// An error in a line is an *Error, and leaves c unusable.
func (c *Config) Load(args []string, stdin io.Reader) error {
	r := reader{config: c, stdin: stdin}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		if err := r.readNamed(args[0]); err != nil {
			return err
		}
		args = args[1:]
	} else if len(args) > 0 && args[0] == stdinName {
		r.fromStdin = true
		args = args[1:]
	}
	if last := len(args) - 1; last >= 0 && args[last] == stdinName {
		r.fromStdin = true
		args = args[:last]
	}
	if err := r.readStdin(); err != nil {
		return err
	}
	if err := r.readOptions(args); err != nil {
		return err
	}
	r.summarize()
	return nil
}

// A reader gives a configuration the values that lines say.
type reader struct {
	config *Config
	depth  int // of includes
	saves  bool
	given  []given  // in the order in which they came
	names  []string // of directives without a value, in the order in which they came

	stdin     io.Reader
	fromStdin bool // whether it is to be read
}

// A given is a directive with the last value that was given for it.
type given struct {
	*directive
	as     string        // the name that was used
	broken *promiseError // the promise in it that cellserver does not keep; nil: none
}

// readNamed reads the file of the command line, whose name stays known: CONFIG REWRITE writes it.
func (r *reader) readNamed(name string) error {
	if name == "" {
		return errors.New("the name of the configuration file is empty")
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return fmt.Errorf("can't open config file '%s': %w", name, err)
	}
	r.config.File = path
	r.config.Origins = append(r.config.Origins, path)
	if _, missing := os.Stat(path); errors.Is(missing, os.ErrNotExist) {
		return fmt.Errorf("can't open config file '%s': %w%s", path, cause(missing), hintAtFirstWord(name))
	}
	return r.readFile(path)
}

// readStdin reads standard input, if the command line says so.
func (r *reader) readStdin() error {
	if !r.fromStdin {
		return nil
	}
	content, err := io.ReadAll(io.LimitReader(r.stdin, maxFileBytes+1))
	if err != nil {
		return fmt.Errorf("can't read the configuration from standard input: %w", err)
	}
	r.config.Origins = append(r.config.Origins, "standard input")
	return r.read(stdinName, content)
}

func (r *reader) readFile(path string) error {
	content, err := readLimited(path)
	if err != nil {
		return fmt.Errorf("can't open config file '%s': %w", path, cause(err))
	}
	return r.read(path, content)
}

func readLimited(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFileBytes+1))
}

func (r *reader) read(name string, content []byte) error {
	if len(content) > maxFileBytes {
		return fmt.Errorf("the configuration in '%s' is longer than %d bytes", name, maxFileBytes)
	}
	number := 0
	for line := range bytes.Lines(content) {
		number++
		source := Source{name, number}
		text := strings.Trim(string(line), " \t\r\n")
		words, err := splitLine(text)
		if err == nil && len(words) > 0 {
			err = r.apply(Line{words, text, source})
		}
		if err != nil {
			return locate(err, source, text)
		}
	}
	return nil
}

// locate adds the line's position to an error, unless the error is from a line of an included file and has one already.
func locate(err error, source Source, text string) error {
	var located *Error
	if errors.As(err, &located) {
		return err
	}
	return &Error{source, text, err}
}

// splitLine returns the words of a line, the first in lower case; none for a comment or an empty line.
func splitLine(text string) ([]string, error) {
	if text == "" || text[0] == '#' {
		return nil, nil
	}
	parts, err := resp.SplitArgs([]byte(text), nil)
	if err != nil {
		return nil, errQuotes
	}
	words := texts(parts)
	if len(words) > 0 {
		words[0] = strings.ToLower(words[0])
	}
	return words, nil
}

func texts(parts [][]byte) []string {
	words := make([]string, len(parts))
	for i, part := range parts {
		words[i] = string(part)
	}
	return words
}

// apply executes one line.
func (r *reader) apply(line Line) error {
	switch name, values := line.Words[0], line.Words[1:]; name {
	case "include":
		if len(values) != 1 {
			return errBadDirective
		}
		return r.include(values[0], line.Source)
	case "loadmodule":
		return r.loadModule(values)
	case "user":
		if len(values) == 0 {
			return errBadDirective
		}
		r.config.Users = append(r.config.Users, line)
		return nil
	case "rename-command":
		if len(values) != 2 {
			return errBadDirective
		}
		r.config.Renames = append(r.config.Renames, line)
		return nil
	case "sentinel":
		return errSentinel
	case "list-max-ziplist-entries", "list-max-ziplist-value", "lua-replicate-commands":
		r.name(name) // Redis 7 accepts these three without a value to show for it
		return nil
	default:
		return r.set(name, values)
	}
}

func (r *reader) set(name string, values []string) error {
	d := find(name)
	if d == nil && isOfModule(name) && len(values) > 0 {
		r.name(name)
		return nil
	}
	if d == nil {
		return errBadDirective
	}
	if len(values) == 0 {
		return errArity
	}
	if _, several := d.kind.(severalWords); several && len(values) == 1 {
		words, err := resp.SplitArgs([]byte(values[0]), nil)
		if err != nil {
			return errQuotes
		}
		if len(words) > 0 {
			values = texts(words)
		}
	}
	if d.name == "save" {
		// The first save clears the default; each further one adds to those before it.
		if r.saves && strings.Join(values, "") != "" {
			values = append(strings.Fields(d.get(r.config)), split(values)...)
		}
		r.saves = true
	}
	err := d.set(r.config, values)
	var broken *promiseError
	if err != nil && !errors.As(err, &broken) {
		return err
	}
	if r.config.given == nil {
		r.config.given = make(map[string]bool)
	}
	r.config.given[d.name] = true
	said := given{d, name, broken}
	if i := slices.IndexFunc(r.given, func(each given) bool { return each.directive == d }); i >= 0 {
		r.given[i] = said
	} else {
		r.given = append(r.given, said)
	}
	return nil
}

func (r *reader) name(name string) {
	if !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
}

// include reads the files that a pattern matches, in the order of their names. Relative paths start at the directory of the
// including file (in Redis, at the working directory, which dir changes).
func (r *reader) include(pattern string, source Source) error {
	if r.depth == maxIncludes {
		return fmt.Errorf("files include each other more than %d deep", maxIncludes)
	}
	if !filepath.IsAbs(pattern) && source.File != "" && source.File != stdinName {
		pattern = filepath.Join(filepath.Dir(source.File), pattern)
	}
	paths := []string{pattern}
	if strings.ContainsAny(pattern, "*?[") {
		var err error
		if paths, err = filepath.Glob(pattern); err != nil {
			return err
		}
	}
	r.depth++
	defer func() { r.depth-- }()
	for _, path := range paths {
		if err := r.readFile(path); err != nil {
			return err
		}
	}
	return nil
}

// loadModule accepts the module that this server stands in for, and no other.
func (r *reader) loadModule(values []string) error {
	if len(values) == 0 {
		return errBadDirective
	}
	base := filepath.Base(filepath.ToSlash(values[0]))
	if !strings.Contains(strings.ReplaceAll(base, "-", "_"), "redis_cell") {
		return errors.New("cellserver has no modules; redis-cell's commands are built in")
	}
	r.note(fmt.Sprintf("loadmodule %s: redis-cell's commands are built in; the file is not loaded", values[0]))
	return nil
}

func (r *reader) note(text string) {
	if !slices.Contains(r.config.Notes, text) {
		r.config.Notes = append(r.config.Notes, text)
	}
}

// summarize says which of the given values have no effect: a warning for each promise that is not kept, one line for everything
// that is not implemented, and one for everything that cannot concern a rate limiter. In the first two kinds the table's value
// asks for nothing.
func (r *reader) summarize() {
	var missing, inert []string
	for _, d := range r.given {
		value := d.get(r.config)
		switch {
		case d.broken != nil:
			r.config.Warnings = append(r.config.Warnings, d.warning())
		case d.note != nil:
			if note := d.note(value); note != "" {
				r.note(note)
			}
		case d.field != nil || d.promise != "":
		case !d.missing:
			inert = append(inert, d.as)
		case value != d.value:
			missing = append(missing, d.as)
		}
	}
	r.count(missing, "is not implemented and has no effect", "are not implemented and have no effect")
	r.count(append(inert, r.names...), "does not concern a rate limiter and has no effect", "do not concern a rate limiter and have no effect")
}

// warning returns the log line for a value that asks in vain.
func (g *given) warning() string {
	spell := func(text string) string { return strings.Join(g.kind.lines(text), " ") }
	return fmt.Sprintf("%s %s is %v (CONFIG GET says %s)", g.as, spell(g.broken.text), g.broken, spell(g.value))
}

// count notes what holds for one or several directives.
func (r *reader) count(names []string, oneIs, manyAre string) {
	switch len(names) {
	case 0:
	case 1:
		r.note("1 directive " + oneIs + ": " + names[0])
	default:
		r.note(fmt.Sprintf("%d directives %s: %s", len(names), manyAre, strings.Join(names, ", ")))
	}
}
