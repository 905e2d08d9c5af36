// Package acl decides who may do what, by the rules of Redis 7.0: users, their passwords, and the commands, keys and
// channels that each may use.
//
// # Users and rules
//
// A user is made and changed by rules, one word each, which are applied in their order:
//
//	on off                              may the user authenticate
//	nopass >password <password          passwords; #hash and !hash name them by their SHA-256 in hexadecimal,
//	#hash !hash resetpass               which is all that is ever kept of them
//	+get -get +config|get +@read -@all  commands, subcommands and categories; +select|0 with a first argument
//	allcommands nocommands              the same as +@all and -@all
//	~user:* %R~a* %W~b* %RW~c*          patterns of keys, to read, to write and both
//	allkeys resetkeys                   ~* and no keys at all
//	&news.* allchannels resetchannels   patterns of channels
//	(+set ~x) clearselectors            a further set of permissions, and none of them
//	sanitize-payload skip-...           kept and told; RESTORE always checks its payload here
//	reset                               as a user who can do nothing
//
// A command passes if one set of permissions, the user's own or one selector, allows all of it: the command, every key
// by what the command does with it, and every channel. Otherwise it is denied for the reason that came furthest.
//
// # Categories
//
// +@read is carried out on the commands there are, and forgotten. LIST and GETUSER find the shortest categories again
// which, with single commands added and taken away, give the same: Redis 7.0's way, so that its text and ours agree.
// So that they agree on commands which are not served here too, the [Catalogue] knows all of Redis 7.0's by name.
//
// # Concurrency
//
// A [Store] may be used from many goroutines. What a [User] may do is an immutable profile behind an atomic pointer: a
// check loads it and takes no lock, and a change is a new profile which every connection of the user obeys from its next
// command. A connection holds its *User. A deleted user's can do nothing from then on; closing them is for the caller, as is
// asking after each change whether the user's connections may keep what they have subscribed to.
//
// # Files
//
// An ACL file has lines as LIST tells them, "user <name> <rule>...", and blank ones; there are no comments. Loading is
// all or nothing and names every fault of every line.
package acl
