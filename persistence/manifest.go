package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cellserver/cellserver/internal/vfs"
	"github.com/cellserver/cellserver/resp"
)

const (
	manifestSuffix = ".manifest"
	baseSuffix     = ".base.rdb"
	incrSuffix     = ".incr.aof"
	// manifestLineBytes is Redis's limit.
	manifestLineBytes = 1024
	// manifestBytes bounds a file that cannot be a manifest: thousands of increments.
	manifestBytes = 4 << 20
)

// File types in a manifest.
const (
	typeBase        = 'b'
	typeHistory     = 'h' // of no use any more, to be removed
	typeIncremental = 'i'
)

// listed is a file in a manifest.
type listed struct {
	name string
	seq  int64
	kind byte
}

// manifest says which files make up a log: a base, if it has one, and increments in their order.
type manifest struct {
	base    *listed
	incrs   []listed
	history []listed
}

// parseManifest reads lines such as
//
//	file appendonly.aof.1.base.rdb seq 1 type b
//
// by Redis's rules: words may be quoted, pairs may come in any order, unknown ones are left for later versions.
func parseManifest(content []byte) (manifest, error) {
	var m manifest
	if len(content) == 0 {
		return m, errors.New("it is empty")
	}
	for number, line := range bytes.SplitAfter(content, []byte{'\n'}) {
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		file, err := parseManifestLine(line)
		if err == nil {
			err = m.add(file)
		}
		if err != nil {
			return m, fmt.Errorf("line %d: %w", number+1, err)
		}
	}
	if m.base == nil && len(m.incrs) == 0 {
		return m, errors.New("it names no file")
	}
	return m, nil
}

func parseManifestLine(line []byte) (listed, error) {
	var file listed
	if len(line) >= manifestLineBytes || line[len(line)-1] != '\n' {
		return file, fmt.Errorf("longer than %d bytes or without its end", manifestLineBytes)
	}
	if bytes.IndexByte(line, 0) >= 0 { // where Redis's line ends, without its line end
		return file, errors.New("it has a NUL byte")
	}
	words, err := resp.SplitArgs(bytes.Clone(line), nil)
	if err != nil || len(words) < 6 || len(words)%2 != 0 {
		return file, errors.New("not a list of pairs with file, seq and type")
	}
	for i := 0; i < len(words); i += 2 {
		value := string(words[i+1])
		switch strings.ToLower(string(words[i])) {
		case "file":
			file.name = value
		case "seq":
			file.seq, _ = strconv.ParseInt(value, 10, 64)
		case "type":
			file.kind = (value + "\x00")[0]
		}
	}
	switch {
	case file.name == "" || strings.ContainsAny(file.name, `/\`):
		return file, fmt.Errorf("%q is no file name", file.name)
	case file.seq <= 0:
		return file, errors.New("the sequence number is not a positive integer")
	}
	return file, nil
}

func (m *manifest) add(file listed) error {
	switch file.kind {
	case typeBase:
		if m.base != nil {
			return errors.New("a second base")
		}
		m.base = &file
	case typeHistory:
		m.history = append(m.history, file)
	case typeIncremental:
		if n := len(m.incrs); n > 0 && file.seq <= m.incrs[n-1].seq {
			return errors.New("increments are not in order")
		}
		m.incrs = append(m.incrs, file)
	default:
		return fmt.Errorf("unknown type %q", file.kind)
	}
	return nil
}

func (m *manifest) encode() []byte {
	var out []byte
	line := func(file listed) {
		out = fmt.Appendf(out, "file %s seq %d type %c\n", quoteName(file.name), file.seq, file.kind)
	}
	if m.base != nil {
		line(*m.base)
	}
	for _, file := range m.history {
		file.kind = typeHistory
		line(file)
	}
	for _, file := range m.incrs {
		line(file)
	}
	return out
}

// quoteName quotes a name where resp.SplitArgs would not read it back.
func quoteName(name string) string {
	plain := !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '"' || r == '\'' || r == '\\' || r >= 0x7f })
	if plain && name != "" {
		return name
	}
	quoted := []byte{'"'}
	for _, c := range []byte(name) {
		switch {
		case c == '"' || c == '\\':
			quoted = append(quoted, '\\', c)
		case c < ' ' || c >= 0x7f:
			quoted = fmt.Appendf(quoted, `\x%02x`, c)
		default:
			quoted = append(quoted, c)
		}
	}
	return string(append(quoted, '"'))
}

// lastSeqs returns the highest sequence numbers of bases and increments, those in the history included.
func (m *manifest) lastSeqs() (base, incr int64) {
	if m.base != nil {
		base = m.base.seq
	}
	for _, file := range m.incrs {
		incr = max(incr, file.seq)
	}
	for _, file := range m.history {
		base, incr = max(base, file.seq), max(incr, file.seq)
	}
	return base, incr
}

// readManifest reads the manifest; fs.ErrNotExist if there is none.
func readManifest(fsys vfs.FS, path string) (manifest, error) {
	file, err := fsys.Open(path)
	if err != nil {
		return manifest{}, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, manifestBytes))
	if err != nil {
		return manifest{}, err
	}
	m, err := parseManifest(content)
	if err != nil {
		return m, fmt.Errorf("%s: %w: not a manifest of an append only file: %w", path, ErrDamage, err)
	}
	return m, nil
}

// writeManifest replaces the manifest in one step: when it returns without error, the new one is on disk. After an error either may be.
func writeManifest(fsys vfs.FS, path string, m *manifest) error {
	return vfs.Replace(fsys, path, m.encode())
}
