// Package config handles the configuration in the language of redis.conf: its grammar, its directives, and how to rewrite a
// file. It knows no server: the code that reads a Config decides what a directive does.
//
// # The table
//
// Every directive of Redis 7.0 and of the versions of Redis and Valkey that came after it, and each of our own few, is one
// row: its names, its kind (which checks and spells values), its default, the field of Config it fills, and whether CONFIG SET
// may change it. Everything follows from the table: files, the command line, CONFIG GET, SET and REWRITE, --help. A row
// without a field has no effect, in one of four ways:
//
//	inert      cannot concern a rate limiter: the value is checked, kept and shown, and named in a line of the log
//	missing    may concern the operator of one: the same, in another line, where the value asks for anything
//	promises   promise what we do not do (a limit, a guarantee): a file loads with a warning for each, CONFIG SET is refused,
//	           and the value that is kept and shown is the true one
//	refused    ask for another server than this one: they stop the start
//
// # The language
//
//	# a comment               a line that begins with #, and an empty one
//	maxclients 500            a name in any case, then words, quoted as resp.SplitArgs reads them
//	save 3600 1 300 100       some directives take several words, or all of them as one: "3600 1 300 100"
//	include /etc/cell/*.conf  another file's lines, here; patterns may match nothing, plain names must exist
//	user, rename-command      are kept as they are, with their place in the file: other packages interpret them
//
// The last value of a directive that is given twice counts. save adds to the ones before it, and client-output-buffer-limit
// sets one class of clients at a time. Units are 1k = 1000, 1kb = 1024, and so on for m and g, in any case; there are no
// fractions.
//
// The command line is the same language: --name begins a line, and what follows to the next -- are its words. Name and words may be
// one argument: "--save 60 1". A first word without - names a file, which is read first; - as the first or last word stands for
// standard input, which is read between the two.
package config
