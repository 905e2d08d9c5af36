package tidy

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// clockFunctions read the clock or wait for it, by package.
var clockFunctions = map[string][]string{
	"time":    {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
}

// seededRandom are the names of math/rand that draw on a seed the caller chose, besides those that begin with New. All
// others draw on the process's own, so that a run can't be repeated.
var seededRandom = []string{"Rand", "Source", "Source64", "PCG", "ChaCha8", "Zipf"}

// impureImports are what a state machine does without; whatever is below them in the import tree too.
var impureImports = []string{"sync", "net", "os", "syscall", "golang.org/x/sys"}

// checkPurity keeps clocks and chance out of rows 0 to 2, and goroutines, locks and I/O out of the pure packages.
func checkPurity(t *tree, report report) {
	needed := map[string]bool{} // folders that use the clock which they are given
	for file := range t.programFiles() {
		own, _ := t.place(file.folder)
		if own.row >= 0 && own.row <= lastClocklessRow {
			usesClock := checkClock(t, file, own.clock != "", report)
			needed[file.folder] = needed[file.folder] || usesClock
		}
		if own.pure {
			checkPure(t, file, report)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(t.places)) {
		if t.places[folder].clock != "" && !needed[folder] {
			report(folder, "this package does without a clock: remove the exception")
		}
	}
}

// checkClock says whether the file has used a clock that is given to its package.
func checkClock(t *tree, file *goFile, given bool, report report) (used bool) {
	for use, from := range file.selections() {
		name := use.Sel.Name
		switch {
		case slices.Contains(clockFunctions[from], name) && given:
			used = true
		case slices.Contains(clockFunctions[from], name):
			report(t.at(use.Pos()), "%s.%s reads the clock: take now, Unix nanoseconds, as an argument", from, name)
		case isBelow(from, "math/rand") && !strings.HasPrefix(name, "New") && !slices.Contains(seededRandom, name):
			report(t.at(use.Pos()), "%s.%s can't be repeated: use a generator with a seed from outside", from, name)
		}
	}
	for _, spec := range file.syntax.Imports {
		if spec.Name != nil && spec.Name.Name == "." {
			report(t.at(spec.Pos()), "a dot import hides what is called: import by name")
		}
	}
	return used
}

func checkPure(t *tree, file *goFile, report report) {
	for _, spec := range file.syntax.Imports {
		if slices.ContainsFunc(impureImports, func(root string) bool { return isBelow(importPath(spec), root) }) {
			report(t.at(spec.Pos()), "%s has no use for %s: leave locks and I/O to package server", file.folder, importPath(spec))
		}
	}
	for node := range ast.Preorder(file.syntax) {
		if start, ok := node.(*ast.GoStmt); ok {
			report(t.at(start.Pos()), "%s starts no goroutines: return a value, and let the caller decide", file.folder)
		}
	}
}

// isBelow tells whether an import path is the root or continues it.
func isBelow(imported, root string) bool {
	return imported == root || strings.HasPrefix(imported, root+"/")
}

// checkOutput lets only commands, benchmarks and the programs of compat_test write to standard output, and no command panic.
func checkOutput(t *tree, report report) {
	for file := range t.programFiles() {
		isCommand := sameRoot(file.folder, "cmd")
		mayPrint := isCommand || sameRoot(file.folder, "bench") || sameRoot(file.folder, "compat_test")
		for use, from := range file.selections() {
			if from == "fmt" && strings.HasPrefix(use.Sel.Name, "Print") && !mayPrint {
				report(t.at(use.Pos()), "only commands print: return the text, or write to an io.Writer")
			}
		}
		for node := range ast.Preorder(file.syntax) {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				continue
			}
			switch name, _ := call.Fun.(*ast.Ident); {
			case name == nil:
			case name.Name == "print" || name.Name == "println":
				report(t.at(call.Pos()), "%s is for debugging: remove it", name.Name)
			case name.Name == "panic" && isCommand:
				report(t.at(call.Pos()), "a command ends with an error and an exit code, not with a panic")
			}
		}
	}
}
