package acl

import "strings"

// A categorySet is a set of categories, a bit each in the order of [Categories].
type categorySet uint32

// Categories are the names of Redis 7.0's categories, in the order of ACL CAT.
var Categories = []string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo", "stream",
	"pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting",
}

// categoryOf returns the set of one category, whose name may be in any case.
func categoryOf(name string) (categorySet, bool) {
	for i, each := range Categories {
		if strings.EqualFold(name, each) {
			return 1 << i, true
		}
	}
	return 0, false
}
