package script

import (
	"container/list"
	"crypto/sha1"
	"encoding/hex"
	"errors"

	lua "github.com/yuin/gopher-lua"
)

// A Program is a script that compiled. Its code is made again when it is needed: see [maxCodeBytes].
type Program struct {
	Flags Flags

	name      [sha1.Size]byte
	body      string
	code      *lua.FunctionProto // nil: not at hand
	codeBytes int
	use       *list.Element // in cache.used; nil as code is
}

// SHA is the script's name: the SHA1 of its body in 40 lower case digits.
func (p *Program) SHA() string { return hex.EncodeToString(p.name[:]) }

// cache holds all loaded scripts. Their number has no bound, as in Redis, so it keeps little more than the body of each. Code
// is some 20 times as large: only that of the most recently used scripts is kept.
type cache struct {
	byName    map[[sha1.Size]byte]*Program
	byBody    map[string]*Program // spares the hashing
	bodyBytes int
	used      list.List // of the programs with code, the one used last in front
	codeBytes int
}

// programBytes is what a script takes besides its body and its code: the Program and its entries in the two maps.
const programBytes = 256

// Load compiles a script and keeps it, unless it is loaded already. Errors are replies in the words of Redis: "ERR Error
// compiling script (new function): ...".
func (c *cache) Load(body []byte) (*Program, error) {
	if p := c.byBody[string(body)]; p != nil {
		return p, nil
	}
	flags, code, err := build(body)
	if err != nil {
		return nil, err
	}
	p := &Program{Flags: flags, name: sha1.Sum(body), body: string(body)}
	c.byName[p.name], c.byBody[p.body] = p, p
	c.bodyBytes += len(body)
	c.keep(p, code)
	return p, nil
}

// build reads a script's flags and compiles it.
func build(body []byte) (Flags, *lua.FunctionProto, error) {
	source, flags, err := parseShebang(body)
	if err != nil {
		return Flags{}, nil, err
	}
	code, err := compile(source, chunkName)
	if err != nil {
		return Flags{}, nil, errors.New("ERR Error compiling script (new function): " + err.Error())
	}
	return flags, code, nil
}

// Lookup finds a script by its SHA1 in digits of either case, or returns nil.
func (c *cache) Lookup(sha []byte) *Program {
	var name [sha1.Size]byte
	if n, err := hex.Decode(name[:], sha[:min(len(sha), 2*sha1.Size)]); err != nil || n < sha1.Size || len(sha) > 2*sha1.Size {
		return nil
	}
	return c.byName[name]
}

// Flush forgets all scripts.
func (c *cache) Flush() {
	*c = cache{byName: map[[sha1.Size]byte]*Program{}, byBody: map[string]*Program{}}
}

// Count is the number of scripts: INFO's number_of_cached_scripts.
func (c *cache) Count() int { return len(c.byName) }

// CacheBytes is approximately the memory of all scripts: INFO's used_memory_scripts.
func (c *cache) CacheBytes() int { return len(c.byName)*programBytes + c.bodyBytes + c.codeBytes }

// codeOf returns the code of a script that is about to run.
func (c *cache) codeOf(p *Program) *lua.FunctionProto {
	if p.code == nil {
		_, code, err := build([]byte(p.body))
		if err != nil {
			panic("script: a script that compiled before no longer does: " + err.Error())
		}
		c.keep(p, code)
	}
	c.used.MoveToFront(p.use)
	return p.code
}

// keep caches a program's code, and drops the least recently used code to make room.
func (c *cache) keep(p *Program, code *lua.FunctionProto) {
	p.code, p.codeBytes = code, sizeOf(code)
	c.codeBytes += p.codeBytes
	for c.codeBytes > maxCodeBytes && c.used.Len() > 0 {
		last := c.used.Back()
		oldest := c.used.Remove(last).(*Program)
		c.codeBytes -= oldest.codeBytes
		oldest.code, oldest.codeBytes, oldest.use = nil, 0, nil
	}
	p.use = c.used.PushFront(p)
}
