package tidy

import "strings"

// checkLayout enforces the rows. Test files may import anything but what is outside, which nothing imports.
func checkLayout(t *tree, report report) {
	unplaced := map[string]bool{}
	for _, file := range t.goFiles {
		own, placed := t.place(file.folder)
		if !placed {
			if !unplaced[file.folder] {
				report(file.folder, "this package has no row: place it in internal/tidy/house.go")
			}
			unplaced[file.folder] = true
			continue
		}
		for _, spec := range file.syntax.Imports {
			folder, ours := strings.CutPrefix(importPath(spec), t.module+"/")
			if !ours || folder == file.folder {
				continue
			}
			imported, placed := t.place(folder)
			switch {
			case !placed:
				report(t.at(spec.Pos()), "%s has no row, so it can't be imported", folder)
			case imported.row == outside && !(own.row == outside && sameRoot(file.folder, folder)):
				report(t.at(spec.Pos()), "nothing imports %s", folder)
			case file.isTest || own.row == outside:
			case imported.row >= own.row:
				report(t.at(spec.Pos()), "%s (row %d) may import from rows below only, and %s is in row %d", file.folder, own.row, folder, imported.row)
			case !own.allows(folder):
				report(t.at(spec.Pos()), "%s may import %s only, not %s", file.folder, strings.Join(own.only, ", "), folder)
			}
		}
	}
}

// sameRoot tells whether two folders are in the same one of the root's.
func sameRoot(a, b string) bool {
	a, _, _ = strings.Cut(a, "/")
	b, _, _ = strings.Cut(b, "/")
	return a == b
}
