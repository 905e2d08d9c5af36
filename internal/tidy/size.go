package tidy

import (
	"bytes"
	"go/ast"
	"maps"
	"path"
	"slices"
	"unicode/utf8"
)

const (
	// maxFunctionLines is what a screen shows; what is longer can't be checked at a glance.
	maxFunctionLines = 70
	// maxFileLines is about what one reads in a sitting; a longer file has a second subject.
	maxFileLines = 500
	// maxFileBytes keeps a clone small. Generated data and recordings belong elsewhere, or compressed and excepted.
	maxFileBytes = 400 << 10
)

// checkSize limits functions and files, except tests: their length is that of their tables and stories.
func checkSize(t *tree, report report) {
	needed := map[string]bool{}
	limit := func(key, place string, lines, maxLines int) {
		if lines <= maxLines {
			return
		}
		needed[key] = true
		if t.oversized[key] == "" {
			report(place, "%d lines, and %d are the limit: find the second subject and give it a place of its own", lines, maxLines)
		}
	}
	for file := range t.programFiles() {
		limit(file.path, file.path, bytes.Count(t.contents[file.path], []byte("\n")), maxFileLines)
		for _, declaration := range file.syntax.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				limit(file.path+":"+function.Name.Name, t.at(function.Pos()), t.lines(function), maxFunctionLines)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.oversized)) {
		if !needed[key] {
			report(key, "this is within the limits: remove the exception")
		}
	}
}

// checkFiles wants text, and little of it.
func checkFiles(t *tree, report report) {
	needed := map[string]bool{}
	for _, name := range t.paths {
		content := t.contents[name]
		isText := utf8.Valid(content) && !bytes.ContainsRune(content, 0)
		if isText && len(content) <= maxFileBytes {
			continue
		}
		if exception := t.largeException(name); exception != "" {
			needed[exception] = true
		} else if !isText {
			report(name, "a binary file: what can't be read can't be reviewed")
		} else {
			report(name, "%d bytes, and %d are the limit", len(content), maxFileBytes)
		}
	}
	for _, exception := range slices.Sorted(maps.Keys(t.large)) {
		if !needed[exception] {
			report(exception, "no file needs this exception: remove it")
		}
	}
}

// largeException finds the exception that covers a file, if it gives a reason.
func (t *tree) largeException(name string) string {
	for exception, reason := range t.large {
		if matched, err := path.Match(exception, name); err == nil && matched && reason != "" {
			return exception
		}
	}
	return ""
}
