package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cellserver/cellserver/resp"
)

// This file reads the command line after the file's name, by the rules of Redis: each argument that begins with -- begins a line of
// the language, and the arguments after it are words of that line. The first argument of a line may have several words or lines
// itself, as programs and YAML files pass them: "--save 60 1", "--maxmemory-policy volatile-ttl".

// readOptions reads the lines that the arguments make.
func (r *reader) readOptions(args []string) error {
	if len(args) > 0 {
		r.config.Origins = append(r.config.Origins, Source{}.String())
	}
	for len(args) > 0 {
		n := lineOf(args)
		given := strings.Join(args[:n], " ")
		for line := range strings.Lines(spell(args[:n])) {
			words, err := splitLine(strings.TrimSpace(line))
			if err == nil && len(words) > 0 {
				err = r.apply(Line{Words: words, Text: given})
			}
			if errors.Is(err, errBadDirective) || errors.Is(err, errSentinel) {
				err = fmt.Errorf("%w%s", err, hintAtOption(args[:n]))
			}
			if err != nil {
				return locate(err, Source{}, given)
			}
		}
		args = args[n:]
	}
	return nil
}

// lineOf returns how many of the arguments make up the first line. The argument after a lone name is its value even if it begins
// with --, as a password may. save is the exception: its name alone means no save points.
func lineOf(args []string) int {
	n := 1
	if isNameAlone(args[0]) && len(args) > 1 && !(isSave(args[0]) && isOption(args[1])) {
		n = 2
	}
	for n < len(args) && !isOption(args[n]) {
		n++
	}
	return n
}

func isOption(arg string) bool { return strings.HasPrefix(arg, "--") }

func isSave(arg string) bool { return strings.EqualFold(arg, "--save") }

// isNameAlone says whether an argument is a directive's name without a value.
func isNameAlone(arg string) bool {
	words, err := resp.SplitArgs([]byte(arg), nil)
	return isOption(arg) && err == nil && len(words) == 1
}

// spell writes the arguments of a line as a file would have it.
func spell(args []string) string {
	var b strings.Builder
	if name, option := strings.CutPrefix(args[0], "--"); option {
		b.WriteString(name)
	} else {
		b.WriteString(Quote(args[0]))
	}
	if len(args) == 1 && isSave(args[0]) {
		b.WriteString(` ""`)
	}
	for _, arg := range args[1:] {
		b.WriteString(" " + Quote(arg))
	}
	return b.String()
}

// clientOptions are options of redis-cli that users try on servers, with the directives that they mean.
var clientOptions = map[string]string{"p": "port", "a": "requirepass", "s": "unixsocket"}

// hintAtOption returns a hint at the directive that the user probably meant by a line that is not one; "" if it has
// none.
func hintAtOption(args []string) string {
	const separators = "= "
	given := strings.TrimLeft(args[0], "-")
	end := strings.IndexAny(given, separators)
	if end < 0 {
		end = len(given)
	}
	name := strings.ToLower(strings.ReplaceAll(given[:end], "_", "-"))
	values := append(strings.Fields(strings.TrimLeft(given[end:], separators)), args[1:]...)
	if meant, known := clientOptions[name]; known {
		name = meant
	}
	meant := strings.Join(append([]string{"--" + name}, values...), " ")
	switch {
	case name == "help" || name == "h" || name == "version" || name == "v":
		return ": " + args[0] + " must be the first argument"
	case name == "sentinel" || name == "check-system" || name == "test-memory":
		return ": cellserver has no " + args[0]
	case find(name) != nil && meant != strings.Join(args, " "):
		return ": write " + meant
	case !isOption(args[0]):
		return ": options begin with --; cellserver --help lists them"
	}
	return ""
}

// hintAtFirstWord returns a hint for a missing file whose name looks like an attempt at something else.
func hintAtFirstWord(name string) string {
	switch {
	case strings.ContainsAny(name, `/\.`):
		return ""
	case find(name) != nil:
		return fmt.Sprintf("; the first word is a file name unless it begins with --: write --%s", name)
	}
	return "; the first word is a file name unless it begins with --: see cellserver --help"
}
