package acl

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"unicode"

	"github.com/cellserver/cellserver/internal/vfs"
)

// Load replaces all users by those of an ACL file. Users who are the same as before keep their connections. It returns
// the users that have changed or are gone: their connections can do nothing more and must be closed. The default user
// keeps its connections, however it changes; a file that does not define it resets it to its initial state.
//
// An error names every fault of every line in Redis's words, and nothing has changed then.
func (s *Store) Load(path string) (replaced []*User, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("Error loading ACLs, opening file '%s': %s", path, reason(err))
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	profiles, err := s.parseFile(path, string(content))
	if err != nil {
		return nil, err
	}
	if profiles[DefaultUser] == nil {
		profiles[DefaultUser] = allPowerful(s.catalogue)
	}
	before := *s.users.Load()
	users := make(map[string]*User, len(profiles))
	for name, p := range profiles {
		user := before[name]
		if user == nil || name != DefaultUser && !user.current.Load().equal(p) {
			user = &User{name: name}
		}
		user.put(s.catalogue, p)
		users[name] = user
	}
	s.users.Store(&users)
	for user := range maps.Values(before) {
		if users[user.name] != user {
			replaced = append(replaced, user)
		}
	}
	s.disarm(replaced)
	return replaced, nil
}

// reason returns a system error's text as C's strerror has it, with a capital letter.
func reason(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	text := []rune(err.Error())
	text[0] = unicode.ToUpper(text[0])
	return string(text)
}

// parseFile reads the lines of an ACL file.
func (s *Store) parseFile(path, content string) (map[string]*profile, error) {
	profiles := make(map[string]*profile)
	var faults strings.Builder
	number := 0
	for line := range strings.Lines(content) {
		number++
		line = strings.Trim(line, " \t\r\n")
		if line == "" {
			continue
		}
		place := fmt.Sprintf("%s:%d", path, number)
		words := strings.Split(line, " ")
		switch {
		case words[0] != "user" || len(words) < 2:
			fmt.Fprintf(&faults, "%s should start with user keyword followed by the username. ", place)
		case profiles[words[1]] != nil:
			fmt.Fprintf(&faults, "WARNING: Duplicate user '%s' found on line %d. ", words[1], number)
		case hasSpaces(words[1]):
			fmt.Fprintf(&faults, "'%s: username '%s' contains invalid characters. ", place, words[1])
		default:
			profiles[words[1]] = s.parseRules(&faults, place, words[2:])
		}
	}
	if faults.Len() > 0 {
		return nil, errors.New(faults.String() +
			"WARNING: ACL errors detected, no change to the previously active ACL rules was performed")
	}
	return profiles, nil
}

// parseRules makes a new user's profile of the rules of a line.
func (s *Store) parseRules(faults *strings.Builder, place string, words []string) *profile {
	p := newProfile(s.catalogue, s.channelsByDefault)
	rules, err := joinSelectors(words)
	if err != nil {
		fmt.Fprintf(faults, "%s: Unmatched parenthesis in selector definition. ", place)
	}
	for _, rule := range rules {
		switch err := p.apply(s.catalogue, rule, s.channelsByDefault); err {
		case nil:
		case errUnknownName:
			fmt.Fprintf(faults, "%s: Error in applying operation '%s': %v. ", place, rule, err)
		default:
			fmt.Fprintf(faults, "%s: %v. ", place, err)
		}
	}
	return p
}

// newFileMode is for a new ACL file, which holds hashes of passwords.
const newFileMode = 0o600

// Save writes all users to an ACL file, in one step.
func (s *Store) Save(path string) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	mode := fs.FileMode(newFileMode)
	if old, err := os.Stat(path); err == nil {
		mode = old.Mode().Perm()
	}
	return vfs.ReplaceAs(vfs.OS{}, path, []byte(strings.Join(s.List(), "\n")+"\n"), mode)
}
