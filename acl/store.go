package acl

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// The errors of a Store, in Redis's words.
var (
	ErrUserName      = errors.New("Usernames can't contain spaces or null characters")
	ErrDefaultUser   = errors.New("The 'default' user cannot be removed")
	ErrWrongPassword = errors.New("WRONGPASS invalid username-password pair or user is disabled.")
	errDuplicate     = errors.New("Duplicate user found. A user can only be defined once in config files")
)

// A Store has the users. It may be used from many goroutines.
type Store struct {
	catalogue *Catalogue
	// Log has the denials.
	Log Log

	users atomic.Pointer[map[string]*User] // the map never changes

	changing          sync.Mutex // held while making a new map or profile
	channelsByDefault bool
	configured        map[string]bool // those defined by lines of redis.conf

	saving sync.Mutex // of an ACL file: one at a time
}

// NewStore makes a store with the default user, who may do everything without a password.
func NewStore(c *Catalogue) *Store {
	s := &Store{catalogue: c, configured: make(map[string]bool)}
	s.Log.length = DefaultLogLength
	user := &User{name: DefaultUser}
	user.put(c, allPowerful(c))
	s.users.Store(&map[string]*User{DefaultUser: user})
	return s
}

// Catalogue returns the commands that rules can name.
func (s *Store) Catalogue() *Catalogue { return s.catalogue }

// SetChannelsByDefault sets whether a new user may use all channels (the directive acl-pubsub-default) or none.
func (s *Store) SetChannelsByDefault(all bool) {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.channelsByDefault = all
}

// User returns the user of a name, or nil.
func (s *Store) User(name string) *User { return (*s.users.Load())[name] }

// Default returns the user of connections that have not authenticated. It never changes identity.
func (s *Store) Default() *User { return s.User(DefaultUser) }

// Names returns the users' names in order.
func (s *Store) Names() []string { return slices.Sorted(maps.Keys(*s.users.Load())) }

// List returns a line for each user, as ACL LIST and ACL files have them.
func (s *Store) List() []string {
	users := *s.users.Load()
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(users)) {
		lines = append(lines, s.line(users[name]))
	}
	return lines
}

// Authenticate returns the user of a name and password, or ErrWrongPassword.
func (s *Store) Authenticate(name string, password []byte) (*User, error) {
	user := s.User(name)
	p := &profile{} // of no user: takes the same time
	if user != nil {
		p = user.current.Load()
	}
	if !p.accepts(password) {
		return nil, ErrWrongPassword
	}
	return user, nil
}

// SetUser applies rules to a user, or to a new one, all or none. The error is ErrUserName, a *RuleError or an
// *UnmatchedError.
func (s *Store) SetUser(name string, words []string) error {
	rules, err := rulesFor(name, words)
	if err != nil {
		return err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	user := s.User(name)
	changed := newProfile(s.catalogue, s.channelsByDefault)
	if user != nil {
		changed = user.current.Load().clone()
	}
	if err := s.applyAll(changed, rules); err != nil {
		return err
	}
	s.putUser(name, changed)
	return nil
}

// Define makes the user of a line "user <name> <rule>..." of redis.conf, where each can be defined once. Its errors are
// SetUser's and that of a second definition.
func (s *Store) Define(name string, words []string) error {
	rules, err := rulesFor(name, words)
	if err != nil {
		return err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.configured[name] {
		return errDuplicate
	}
	if name == DefaultUser {
		rules = append([]string{"reset"}, rules...)
	}
	defined := newProfile(s.catalogue, s.channelsByDefault)
	if err := s.applyAll(defined, rules); err != nil {
		return err
	}
	s.configured[name] = true
	s.putUser(name, defined)
	return nil
}

// rulesFor returns the rules that the words make up, for a user whose name can be one.
func rulesFor(name string, words []string) ([]string, error) {
	if hasSpaces(name) {
		return nil, ErrUserName
	}
	return joinSelectors(words)
}

// applyAll applies rules to a profile that is not in use.
func (s *Store) applyAll(p *profile, rules []string) error {
	for _, rule := range rules {
		if err := p.apply(s.catalogue, rule, s.channelsByDefault); err != nil {
			return &RuleError{rule, err}
		}
	}
	return nil
}

// putUser gives a user, or a new one, a profile.
func (s *Store) putUser(name string, p *profile) {
	if user := s.User(name); user != nil {
		user.put(s.catalogue, p)
		return
	}
	user := &User{name: name}
	user.put(s.catalogue, p)
	users := maps.Clone(*s.users.Load())
	users[name] = user
	s.users.Store(&users)
}

// Delete removes users and returns those who existed. Their connections can do nothing more and must be closed. It
// returns ErrDefaultUser, and removes no user, if the default user is among them.
func (s *Store) Delete(names []string) ([]*User, error) {
	if slices.Contains(names, DefaultUser) {
		return nil, ErrDefaultUser
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	users := maps.Clone(*s.users.Load())
	var deleted []*User
	for _, name := range names {
		if user := users[name]; user != nil {
			delete(users, name)
			deleted = append(deleted, user)
		}
	}
	s.users.Store(&users)
	s.disarm(deleted)
	return deleted, nil
}

// disarm leaves users without permissions.
func (s *Store) disarm(users []*User) {
	for _, user := range users {
		user.put(s.catalogue, newProfile(s.catalogue, false))
	}
}

// SetDefaultPassword gives the default user this password and no other (the directive requirepass), or, where it is
// empty, none at all.
func (s *Store) SetDefaultPassword(password string) {
	s.changing.Lock()
	defer s.changing.Unlock()
	changed := s.Default().current.Load().clone()
	changed.passwords, changed.noPassword = nil, true
	if password != "" {
		changed.addPassword(hashOf([]byte(password)))
	}
	s.Default().put(s.catalogue, changed)
}
