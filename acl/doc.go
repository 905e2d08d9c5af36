// Package acl decides what each user may do, by the rules of Redis 7.0: users, their passwords, and the commands, keys
// and channels that each may use.
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
//	sanitize-payload skip-...           kept and shown; RESTORE always checks its payload here
//	reset                               as a user who can do nothing
//
// A command passes if one set of permissions, the user's own or one selector, allows all of it: the command, every key
// by what the command does with it, and every channel. Otherwise it is denied for the reason that came furthest.
//
// # Categories
//
// +@read is applied to the existing commands, and forgotten. LIST and GETUSER find again the shortest list of
// categories that, with single commands added and removed, gives the same result. That is Redis 7.0's way, so its text
// and ours agree. So that they agree on commands which are not served here too, the [Catalogue] knows all of Redis
// 7.0's by name.
//
// # Concurrency
//
// A [Store] may be used from many goroutines. What a [User] may do is an immutable profile behind an atomic pointer: a
// check loads it and takes no lock, and a change is a new profile which every connection of the user obeys from its next
// command. A connection holds its *User. A deleted user's connections can do nothing from then on; the caller closes them,
// and checks after each change whether the user's connections may keep their subscriptions.
//
// # Files
//
// An ACL file has lines as LIST tells them, "user <name> <rule>...", and blank ones; there are no comments. Loading is
// all or nothing and names every fault of every line.
package acl
