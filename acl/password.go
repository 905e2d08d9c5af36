package acl

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"strings"
)

// A passwordHash is the SHA-256 of a password.
type passwordHash [sha256.Size]byte

func hashOf(password []byte) passwordHash { return sha256.Sum256(password) }

// parseHash reads a hash in hexadecimal digits, lower case as Redis requires.
func parseHash(digits string) (hash passwordHash, ok bool) {
	if len(digits) != 2*len(hash) || strings.ToLower(digits) != digits {
		return hash, false
	}
	_, err := hex.Decode(hash[:], []byte(digits))
	return hash, err == nil
}

func (h passwordHash) String() string { return hex.EncodeToString(h[:]) }

// addPassword gives the user a password, which it needs from now on.
func (p *profile) addPassword(hash passwordHash) {
	p.noPassword = false
	if !slices.Contains(p.passwords, hash) {
		p.passwords = append(p.passwords, hash)
	}
}

// removePassword returns false if the user does not have the password.
func (p *profile) removePassword(hash passwordHash) bool {
	i := slices.Index(p.passwords, hash)
	if i < 0 {
		return false
	}
	p.passwords = slices.Delete(p.passwords, i, i+1)
	return true
}

// accepts says whether a password is the user's. The time it takes does not depend on which password matches, or how
// closely.
func (p *profile) accepts(password []byte) bool {
	given, fits := hashOf(password), 0
	for _, each := range p.passwords {
		fits |= subtle.ConstantTimeCompare(given[:], each[:])
	}
	return p.enabled && (p.noPassword || fits == 1)
}

// Bits of a password made by [GeneratePassword].
const (
	DefaultPasswordBits = 256
	MaxPasswordBits     = 4096 // as in Redis
)

// GeneratePassword returns a password of random hexadecimal digits, of at least so many bits, from 1 to MaxPasswordBits.
func GeneratePassword(bits int) string {
	if bits < 1 || bits > MaxPasswordBits {
		panic("acl: no password of that many bits")
	}
	var random [MaxPasswordBits / 8]byte
	digits := (bits + 3) / 4
	_, _ = rand.Read(random[:(digits+1)/2]) // never fails: crypto/rand ends the program rather
	return hex.EncodeToString(random[:])[:digits]
}
