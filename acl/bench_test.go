package acl

import (
	"strings"
	"testing"
)

// BenchmarkCheck: what each command costs a user who may not do everything.
func BenchmarkCheck(b *testing.B) {
	for _, rules := range []string{"+@all ~* &*", "+@write ~user:*", "+get ~a (+set ~limits:of:some:application:*)"} {
		b.Run(strings.ReplaceAll(rules, " ", ","), func(b *testing.B) {
			s := newStore()
			if err := s.SetUser("u", strings.Fields(strings.ReplaceAll(strings.ReplaceAll(rules, "(", "( "), ")", " )"))); err != nil {
				b.Fatal(err)
			}
			user := s.User("u")
			id, _ := s.Catalogue().ID("set")
			r := &Request{Command: id, Keys: []Key{{Name: []byte("user:12345678"), Access: Write}}}
			b.ReportAllocs()
			for b.Loop() {
				s.Check(user, r)
			}
		})
	}
}
