package script

import (
	"bytes"
	"errors"
	"strings"
)

// Flags are what a script says of itself in its first line: #!lua flags=no-writes,allow-oom. Only those that change something here are kept.
type Flags struct {
	NoWrites bool
}

// parseShebang reads the first line, if it begins with #!, and blanks it out: lines keep their numbers.
func parseShebang(body []byte) (code []byte, flags Flags, err error) {
	if !bytes.HasPrefix(body, []byte("#!")) {
		return body, Flags{}, nil
	}
	line, _, found := bytes.Cut(body, []byte("\n"))
	if !found {
		return nil, Flags{}, errors.New("ERR Invalid script shebang")
	}
	words := strings.Fields(string(line))
	if words[0] != "#!lua" {
		return nil, Flags{}, errors.New("ERR Unexpected engine in script shebang: " + words[0])
	}
	for _, word := range words[1:] {
		list, isFlags := strings.CutPrefix(word, "flags=")
		if !isFlags {
			return nil, Flags{}, errors.New("ERR Unknown lua shebang option: " + word)
		}
		if list == "" {
			continue
		}
		for name := range strings.SplitSeq(list, ",") {
			if !flags.set(name) {
				return nil, Flags{}, errors.New("ERR Unexpected flag in script shebang: " + name)
			}
		}
	}
	return body[len(line):], flags, nil
}

func (f *Flags) set(name string) bool {
	switch name {
	case "no-writes":
		f.NoWrites = true
	case "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys": // nothing here depends on them
	default:
		return false
	}
	return true
}
