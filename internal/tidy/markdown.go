package tidy

import (
	"fmt"
	"go/ast"
	"iter"
	"path"
	"regexp"
	"strings"
)

// compatibilityPath is the document that says where cellserver agrees with redis-cell and Redis, and where not.
const compatibilityPath = "docs/COMPATIBILITY.md"

var (
	claimID    = regexp.MustCompile(`^[A-Z]+-[0-9]+$`)
	namedTest  = regexp.MustCompile("^`(Test[^`/]*)(/[^`]+)?`$")
	tableRule  = regexp.MustCompile(`^[|:\- ]+$`)
	inlineCode = regexp.MustCompile("`[^`]*`")
	link       = regexp.MustCompile(`\]\(<?([^)>\s]+)|^\[[^\]]+\]:\s+(\S+)`)
	scheme     = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:`)
)

// checkCompat ties claims to tests: every row of every table begins with an ID and ends with the test that proves it.
func checkCompat(t *tree, report report) {
	document, ok := t.contents[compatibilityPath]
	if !ok {
		report(compatibilityPath, "missing")
		return
	}
	tests := t.testNames()
	seen := map[string]bool{}
	for number, cells := range tableRows(string(document)) {
		id, test := cells[0], namedTest.FindStringSubmatch(cells[len(cells)-1])
		place := fmt.Sprintf("%s:%d", compatibilityPath, number)
		switch {
		case !claimID.MatchString(id):
			report(place, "the row's first cell is no ID like C-12 but %q", id)
		case seen[id]:
			report(place, "%s is taken", id)
		case test == nil:
			report(place, "%s ends without the name of a test in backticks", id)
		case !tests[test[1]]:
			report(place, "%s names %s, and there is no such test", id, test[1])
		}
		seen[id] = true
	}
	if len(seen) == 0 {
		report(compatibilityPath, "no table with claims")
	}
}

// testNames are the test functions of the tree.
func (t *tree) testNames() map[string]bool {
	names := map[string]bool{}
	for _, file := range t.goFiles {
		for _, declaration := range file.syntax.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && file.isTest && function.Recv == nil {
				names[function.Name.Name] = true
			}
		}
	}
	return names
}

// tableRows yields the line number and the cells of each row in a Markdown text's tables, without their heads.
func tableRows(text string) iter.Seq2[int, []string] {
	return func(yield func(int, []string) bool) {
		inBody := false
		for number, line := range prose(text) {
			isRow := strings.HasPrefix(line, "|")
			isRule := isRow && tableRule.MatchString(line)
			if inBody && isRow && !isRule && !yield(number, splitRow(line)) {
				return
			}
			inBody = isRow && (inBody || isRule)
		}
	}
}

// splitRow cuts a table row at its bars, except escaped ones.
func splitRow(line string) []string {
	const escapedBar = "\x00"
	line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, escapedBar)
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(cell), escapedBar, "|")
	}
	return cells
}

// prose yields the numbers and texts of the lines outside fenced code.
func prose(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		inFence := false
		number := 0
		for line := range strings.Lines(text) {
			number++
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inFence = !inFence
			} else if !inFence && !yield(number, strings.TrimRight(line, "\r\n")) {
				return
			}
		}
	}
}

// checkLinks follows the relative links of all Markdown files. Those with a scheme would need the network.
func checkLinks(t *tree, report report) {
	for _, name := range t.paths {
		if path.Ext(name) != ".md" {
			continue
		}
		for number, line := range prose(string(t.contents[name])) {
			for _, match := range link.FindAllStringSubmatch(inlineCode.ReplaceAllString(line, ""), -1) {
				target, _, _ := strings.Cut(match[1]+match[2], "#")
				if target == "" || scheme.MatchString(target) {
					continue
				}
				file := path.Join(path.Dir(name), target)
				if _, exists := t.contents[file]; !exists && !t.folders[file] {
					report(fmt.Sprintf("%s:%d", name, number), "the link to %s leads nowhere", target)
				}
			}
		}
	}
}
