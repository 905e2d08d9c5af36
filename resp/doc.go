// Package resp turns the bytes a client sends into commands, and values into
// the bytes of replies. It is the Redis serialization protocol, versions 2 and
// 3, with Redis's limits and Redis's error texts for exceeding them. It does no I/O, reads no clock and keeps no
// buffer: it works in the caller's.
//
// # Commands
//
// A client sends a command as an array of bulk strings (Redis calls it a
// multibulk), with every length before the bytes that it counts:
//
//	*5\r\n                          5 arguments follow
//	$11\r\nCL.THROTTLE\r\n          11 bytes
//	$4\r\nuser\r\n
//	$2\r\n15\r\n  $2\r\n30\r\n  $2\r\n60\r\n
//
// or, typed by hand, as a line of words, which [SplitArgs] takes apart:
//
//	CL.THROTTLE user 15 30 60\n
//
// Any first byte but '*' begins an inline command. Blank lines, *0 and *-1 are
// not commands and get no reply.
//
// A [Parser] sees a growing buffer and looks at each byte once. It keeps how
// far it got in an unfinished command as offsets (the buffer may move), and it
// can tell by the length alone that a buffer does not complete the next
// argument. The arguments are sub-slices of the buffer, so parsing allocates
// nothing. An announced length is only compared, never allocated: "*1048576"
// and "$536870912" cost nothing until the bytes come.
//
// A number in a header has one spelling (no plus, no leading zero). So the
// length of an argument tells the length of its header, and the parser
// remembers the arguments of an unfinished command by their lengths alone.
//
// Redis checks neither the byte after a header's \r nor the two after a bulk;
// neither do we, because a client that gets away with it there must get away
// with it here.
// We differ from Redis 7.0 in that an answer never depends on how the bytes
// were cut into packets (Redis lets a too long line pass if it arrives in one
// piece), and in that a zero byte does not end a line.
//
// Nearly all commands are calls of CL.THROTTLE in one form, and
// [Parser.NextThrottle] takes such a call whole. It is a short cut through the rules above, not an exception to them:
// it gives the same result as Next and [ParseInt].
//
// # Replies
//
// A [Writer] appends replies to a buffer. RESP3 has types that RESP2 lacks;
// the Writer then falls back as Redis does:
//
//	          RESP3               RESP2
//	null      _\r\n               $-1\r\n or, in place of an array, *-1\r\n
//	map       %2\r\n              *4\r\n
//	set       ~2\r\n              *2\r\n
//	push      >2\r\n              *2\r\n
//	double    ,1.5\r\n            $3\r\n1.5\r\n
//	boolean   #t\r\n              :1\r\n
//	verbatim  =8\r\ntxt:abcd\r\n  $4\r\nabcd\r\n
//
// The encoders that both versions share are github.com/tidwall/redcon's. Its
// readers are not used: they rescan, have no limits, and its inline parser
// knows neither \xHH nor tabs.
package resp
