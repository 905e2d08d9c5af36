// Package tidy holds the rules of this repository that a machine can check, and its test holds the repository to them.
//
// A rule that only a document states erodes one exception at a time. Here every rule is a function over the tree of files;
// Check runs them all, reading the tree alone: no network, no Go command, no build. The rules:
//
//	layout     a package imports only from rows below its own, and every package has a row (house.go)
//	purity     rows 0 to 2, but netio, take time and chance as arguments; the state machines have no goroutines, locks or I/O
//	output     only commands print, and they end with an error, not with a panic
//	size       a function fits a screen, a file fits a mind
//	package    every package explains itself, at one place
//	exported   an exported name is documented by a comment that begins with it
//	comments   no marks of unfinished work, no code that is commented out
//	compat     each claim of docs/COMPATIBILITY.md has an ID of its own and names a test that exists
//	links      a relative link in a Markdown file leads to a file
//	files      files are text and small
//
// An exception is an entry in house.go, with its reason, and is itself a finding once it is not needed any more.
//
// A rule may overlook what a reader would find (it knows imports by name, not by type), but what it reports is meant to be
// always worth a change. So there is no way to silence a line.
package tidy
