package tidy

import (
	"fmt"
	"io/fs"
)

// Finding is one place that breaks a rule.
type Finding struct {
	Rule    string // the rule's name, as the package comment lists it
	Place   string // path, or path:line, from the root of the tree
	Message string // what is wrong, and what to do instead
}

// String formats a finding the way compilers do, so that editors can jump to it.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s (%s)", f.Place, f.Message, f.Rule)
}

// Check holds a checkout of this repository to all rules. The findings are ordered by rule, then by place. An error means
// that the tree could not be read, or not be parsed as Go.
func Check(checkout fs.FS) ([]Finding, error) {
	return check(checkout, cellserver)
}

// report takes the findings of a rule.
type report func(place, format string, arguments ...any)

var rules = []struct {
	name  string
	check func(*tree, report)
}{
	{"layout", checkLayout},
	{"purity", checkPurity},
	{"output", checkOutput},
	{"size", checkSize},
	{"package", checkPackage},
	{"exported", checkExported},
	{"comments", checkComments},
	{"compat", checkCompat},
	{"links", checkLinks},
	{"files", checkFiles},
}

func check(checkout fs.FS, policy house) ([]Finding, error) {
	t, err := load(checkout, policy)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, rule := range rules {
		rule.check(t, func(place, format string, arguments ...any) {
			findings = append(findings, Finding{rule.name, place, fmt.Sprintf(format, arguments...)})
		})
	}
	return findings, nil
}
