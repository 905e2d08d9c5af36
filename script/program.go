package script

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Flags are what a script says of itself in its first line: #!lua flags=no-writes,allow-oom.
type Flags struct {
	Shebang         bool // it has such a line; without one a script may write, and its keys tell whether it runs
	NoWrites        bool
	AllowOOM        bool
	AllowStale      bool
	NoCluster       bool
	AllowCrossSlots bool
}

// A Program is a script that compiled.
type Program struct {
	SHA   string // SHA1 of the body, 40 lower case digits
	Flags Flags
	Body  []byte

	code *lua.FunctionProto
}

// programOverheadBytes is about what a script takes besides 10 times its body: measured, for INFO.
const programOverheadBytes = 2048

// Load compiles a script and keeps it. Of one that is there already it only tells the name. Errors are replies in the words
// of Redis: "ERR Error compiling script (new function): ...".
func (r *Runtime) Load(body []byte) (sha string, err error) {
	if p := r.byBody[string(body)]; p != nil {
		return p.SHA, nil
	}
	code, flags, err := parseShebang(body)
	if err != nil {
		return "", err
	}
	proto, err := compile(code, chunkName)
	if err != nil {
		return "", errors.New("ERR Error compiling script (new function): " + err.Error())
	}
	hash := sha1.Sum(body)
	p := &Program{SHA: hex.EncodeToString(hash[:]), Flags: flags, Body: bytes.Clone(body), code: proto}
	r.programs[p.SHA] = p
	r.byBody[string(body)] = p
	r.cacheBytes += programOverheadBytes + 10*len(body)
	return p.SHA, nil
}

// Lookup finds a script by its SHA1 in digits of either case, or returns nil.
func (r *Runtime) Lookup(sha string) *Program {
	if p := r.programs[sha]; p != nil {
		return p
	}
	return r.programs[strings.ToLower(sha)]
}

// Exists tells whether a script is loaded.
func (r *Runtime) Exists(sha string) bool { return r.Lookup(sha) != nil }

// Flush forgets all scripts.
func (r *Runtime) Flush() {
	r.programs, r.byBody, r.cacheBytes = map[string]*Program{}, map[string]*Program{}, 0
}

// Count is the number of scripts, CacheBytes about the memory that they take: INFO's number_of_cached_scripts and
// used_memory_scripts.
func (r *Runtime) Count() int { return len(r.programs) }

// CacheBytes is about the memory of all scripts.
func (r *Runtime) CacheBytes() int { return r.cacheBytes }

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
	flags.Shebang = true
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
	case "allow-oom":
		f.AllowOOM = true
	case "allow-stale":
		f.AllowStale = true
	case "no-cluster":
		f.NoCluster = true
	case "allow-cross-slot-keys":
		f.AllowCrossSlots = true
	default:
		return false
	}
	return true
}
