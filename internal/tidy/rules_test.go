package tidy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// soundTree breaks no rule. Each case of TestRules changes it.
var soundTree = map[string]string{
	".gitignore":            "*.out\n/c\ntarget/\n",
	"c":                     "\x00ignored",
	"docs/target/a.bin":     "\x00ignored with its folder",
	"README.md":             "See [the claims](docs/COMPATIBILITY.md#claims), [docs](docs) and [Go](https://go.dev).\n",
	"docs/COMPATIBILITY.md": "| ID | claim | test |\n| --- | --- | --- |\n| C-1 | a \\| b | `TestClaim/sub` |\n",
	"cmd/c/main.go":         docOf("c is a command.") + "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.org/m/server\"\n)\n\nfunc main() { fmt.Println(server.Name) }\n",
	"server/doc.go":         docOf("Package server serves.") + "package server\n",
	"server/server.go":      "package server\n\nimport _ \"example.org/m/engine\"\n\n// Name is one.\nconst Name = \"s\"\n",
	"server/server_test.go": "package server\n\nimport _ \"example.org/m/cmd/c\"\n\nfunc TestClaim() {}\n",
	"engine/doc.go":         docOf("Package engine is one.") + "package engine\n\nimport _ \"example.org/m/gcra\"\n",
	"gcra/doc.go":           docOf("Package gcra counts.") + "package gcra\n",
	"internal/x/doc.go":     docOf("Package x helps.") + "package x\n",
	"bench/doc.go":          docOf("Package bench measures.") + "package bench\n\nimport (\n\t_ \"example.org/m/bench/load\"\n\t_ \"example.org/m/server\"\n)\n",
	"bench/load/doc.go":     docOf("Package load is load.") + "package load\n",
	"gcra/testdata/x.gz":    "\x00",
}

func soundHouse() house {
	return house{
		module: "example.org/m",
		places: map[string]place{
			"cmd/c":      {row: 4},
			"server":     {row: 3},
			"engine":     {row: 2, only: []string{"gcra"}, pure: true},
			"gcra":       {row: 0, pure: true},
			"internal/*": {row: 0},
			"bench":      {row: outside},
			"bench/*":    {row: outside},
		},
		oversized: map[string]string{},
		large:     map[string]string{"gcra/testdata/*.gz": "a recording"},
	}
}

// docOf is a package comment of exactly the least length.
func docOf(sentence string) string {
	return "// " + sentence + strings.Repeat("\n//", minPackageCommentLines-2) + "\n// It is short.\n"
}

// source is a file of package gcra. Its text begins on line 3.
func source(text string) string { return "package gcra\n\n" + text + "\n" }

func function(lines int) string {
	return "func f() {" + strings.Repeat("\n", lines-1) + "}"
}

// ruleCase is a tree that differs from soundTree in the given files (an empty one is missing) and, if change is given, is
// held to a changed policy. It wants "rule place" for each finding.
type ruleCase struct {
	name   string
	files  map[string]string
	change func(*house)
	want   []string
}

var ruleCases = slices.Concat(layoutCases, callCases, sizeCases, commentCases, documentCases)

var layoutCases = []ruleCase{
	{name: "sound"},
	{name: "import from a row above", files: map[string]string{"gcra/a.go": source(`import _ "example.org/m/server"`)},
		want: []string{"layout gcra/a.go:3"}},
	{name: "import from the same row", files: map[string]string{"gcra/a.go": source(`import _ "example.org/m/internal/x"`)},
		want: []string{"layout gcra/a.go:3"}},
	{name: "import from below that is not named", files: map[string]string{"engine/a.go": "package engine\n\nimport _ \"example.org/m/internal/x\"\n"},
		want: []string{"layout engine/a.go:3"}},
	{name: "import from below that is named by folder", files: map[string]string{"engine/a.go": "package engine\n\nimport _ \"example.org/m/internal/x\"\n"},
		change: func(h *house) { h.places["engine"] = place{row: 2, only: []string{"gcra", "internal/*"}} }},
	{name: "import of benchmarks", files: map[string]string{"server/a.go": "package server\n\nimport _ \"example.org/m/bench/load\"\n"},
		want: []string{"layout server/a.go:3"}},
	{name: "import of benchmarks by a test", files: map[string]string{"server/a_test.go": "package server\n\nimport _ \"example.org/m/bench\"\n"},
		want: []string{"layout server/a_test.go:3"}},
	{name: "package without a row", files: map[string]string{"new/doc.go": docOf("Package new is new.") + "package new\n", "new/a.go": "package new\n"},
		want: []string{"layout new"}},
	{name: "import of a package without a row", files: map[string]string{"server/a.go": "package server\n\nimport _ \"example.org/m/new\"\n"},
		want: []string{"layout server/a.go:3"}},
}

var callCases = []ruleCase{
	{name: "clock", files: map[string]string{"gcra/a.go": source("import \"time\"\n\nvar now = time.Now()\nvar clock = time.Since\nvar second = time.Second")},
		want: []string{"purity gcra/a.go:5", "purity gcra/a.go:6"}},
	{name: "clock by another name", files: map[string]string{"internal/x/a.go": "package x\n\nimport t \"time\"\n\nvar ticks = t.Tick(1)\n"},
		want: []string{"purity internal/x/a.go:5"}},
	{name: "clock behind a dot", files: map[string]string{"gcra/a.go": source("import . \"time\"\n\nvar now = Now()")},
		want: []string{"purity gcra/a.go:3"}},
	{name: "clock where it belongs", files: map[string]string{
		"server/a.go":    "package server\n\nimport \"time\"\n\nvar now = time.Now()\n",
		"gcra/a_test.go": source("import \"time\"\n\nvar now = time.Now()")}},
	{name: "clock that is given", files: map[string]string{"internal/x/a.go": "package x\n\nimport \"time\"\n\nvar now = time.Now()\n"},
		change: func(h *house) { h.places["internal/x"] = place{row: 0, clock: "it waits"} }},
	{name: "clock that is given and not used", change: func(h *house) { h.places["internal/x"] = place{row: 0, clock: "it waits"} },
		want: []string{"purity internal/x"}},
	{name: "random numbers", files: map[string]string{"gcra/a.go": source("import \"math/rand/v2\"\n\nvar n = rand.IntN(6)\nvar r *rand.Rand = rand.New(rand.NewPCG(1, 2))")},
		want: []string{"purity gcra/a.go:5"}},
	{name: "goroutine", files: map[string]string{"gcra/a.go": source("func f() {\n\tgo f()\n}")},
		want: []string{"purity gcra/a.go:4"}},
	{name: "locks and I/O", files: map[string]string{"gcra/a.go": source("import (\n\t_ \"sync/atomic\"\n\t_ \"net\"\n\t_ \"os\"\n\t_ \"syscall\"\n\t_ \"network\"\n)")},
		want: []string{"purity gcra/a.go:4", "purity gcra/a.go:5", "purity gcra/a.go:6", "purity gcra/a.go:7"}},
	{name: "locks and I/O in a package that is not pure", files: map[string]string{"internal/x/a.go": "package x\n\nimport _ \"os\"\n"}},
	{name: "printing", files: map[string]string{"server/a.go": "package server\n\nimport \"fmt\"\n\nfunc f() {\n\tfmt.Printf(\"\")\n\tfmt.Sprint()\n\tprintln()\n}\n"},
		want: []string{"output server/a.go:6", "output server/a.go:8"}},
	{name: "panic in a command", files: map[string]string{
		"cmd/c/a.go":  "package main\n\nfunc f() { panic(1) }\n",
		"server/a.go": "package server\n\nfunc f() { panic(1) }\n"},
		want: []string{"output cmd/c/a.go:3"}},
}

var sizeCases = []ruleCase{
	{name: "function at the limit", files: map[string]string{"gcra/a.go": source(function(maxFunctionLines))}},
	{name: "function past the limit", files: map[string]string{"gcra/a.go": source(function(maxFunctionLines + 1))},
		want: []string{"size gcra/a.go:3"}},
	{name: "function past the limit, excepted", files: map[string]string{"gcra/a.go": source(function(maxFunctionLines + 1))},
		change: func(h *house) { h.oversized["gcra/a.go:f"] = "a table" }},
	{name: "function past the limit, excepted for no reason", files: map[string]string{"gcra/a.go": source(function(maxFunctionLines + 1))},
		change: func(h *house) { h.oversized["gcra/a.go:f"] = "" },
		want:   []string{"size gcra/a.go:3"}},
	{name: "function past the limit in a test", files: map[string]string{"gcra/a_test.go": source(function(maxFunctionLines + 1))}},
	{name: "file at the limit", files: map[string]string{"gcra/a.go": source(strings.Repeat("\n", maxFileLines-3))}},
	{name: "file past the limit", files: map[string]string{"gcra/a.go": source(strings.Repeat("\n", maxFileLines-2))},
		want: []string{"size gcra/a.go"}},
	{name: "exceptions that are not needed", change: func(h *house) {
		h.oversized["gcra/doc.go"], h.oversized["gcra/none.go:f"], h.large["*.png"] = "a table", "a table", "a picture"
	}, want: []string{"size gcra/doc.go", "size gcra/none.go:f", "files *.png"}},
	{name: "data at the limit", files: map[string]string{"server/data": strings.Repeat(".", maxFileBytes)}},
	{name: "data past the limit", files: map[string]string{"server/data": strings.Repeat(".", maxFileBytes+1)},
		want: []string{"files server/data"}},
	{name: "binary files", files: map[string]string{"server/nul": "\x00", "server/latin1": "\xe9"},
		want: []string{"files server/latin1", "files server/nul"}},
}

var commentCases = []ruleCase{
	{name: "package without doc.go", files: map[string]string{"gcra/doc.go": "", "gcra/a.go": "package gcra\n"},
		want: []string{"package gcra"}},
	{name: "package comment too short", files: map[string]string{"gcra/doc.go": "// Package gcra counts.\n// It does.\npackage gcra\n"},
		want: []string{"package gcra"}},
	{name: "second package comment", files: map[string]string{"gcra/a.go": docOf("Package gcra counts.") + "package gcra\n"},
		want: []string{"package gcra/a.go"}},
	{name: "command without a comment", files: map[string]string{"cmd/c/main.go": "package main\n\nfunc main() {}\n"},
		want: []string{"package cmd/c"}},
	{name: "undocumented names", files: map[string]string{"gcra/a.go": source(
		"func F() {}\n\ntype T struct{}\n\nfunc (*T) M() {}\n\nconst C = 1\n\nvar (\n\tV = 1\n\tW = 2 // at the end\n)\n\n" +
			"func f() {}\n\ntype t struct{}\n\nfunc (t) M() {}\n\nfunc (T) String() string { return \"\" }")},
		want: []string{"exported gcra/a.go:3", "exported gcra/a.go:5", "exported gcra/a.go:7", "exported gcra/a.go:9", "exported gcra/a.go:12"}},
	{name: "comments that begin otherwise", files: map[string]string{"gcra/a.go": source(
		"// This is F.\nfunc F() {}\n\n// Great T.\ntype T[P any] struct{}\n\n// Calls M.\nfunc (*T[P]) M() {}\n\n// The one.\nconst C = 1")},
		want: []string{"exported gcra/a.go:4", "exported gcra/a.go:7", "exported gcra/a.go:10", "exported gcra/a.go:13"}},
	{name: "documented names", files: map[string]string{"gcra/a.go": source(
		"// F is.\nfunc F() {}\n\n// A T is.\ntype T struct{}\n\n// Both are.\nconst (\n\tA = 1\n\tB = 2\n)\n\nconst (\n\t// C and D are.\n\tC = 1\n\tD = 2\n)")}},
	{name: "marks of unfinished work", files: map[string]string{
		"gcra/a.go":      source("// TODO: count\nvar s = \"TODO\""),
		"gcra/a_test.go": source("var n = 1 /* FIXME */"),
		"Makefile":       "# XXX\n",
		"notes.md":       "XXXX HACKED\n"},
		want: []string{"comments gcra/a.go:3", "comments gcra/a_test.go:3", "comments Makefile"}},
	{name: "code commented out", files: map[string]string{"gcra/a.go": source(
		"func f() {\n\t// x := f()\n\t// t.Fatal(1)\n\t// if x > 1 {\n}")},
		want: []string{"comments gcra/a.go:4", "comments gcra/a.go:5", "comments gcra/a.go:6"}},
	{name: "prose and formulas", files: map[string]string{"gcra/a.go": source(
		"// f is called so:\n// x := f()\nfunc f() {\n\t// new = tat + inc\n\t// Returns: f(x)\n\t// return early\n\t//\n\t//\tx := f()\n}")}},
}

var documentCases = []ruleCase{
	{name: "no document of claims", files: map[string]string{"docs/COMPATIBILITY.md": "", "README.md": "-\n", "docs/x": "-\n"},
		want: []string{"compat docs/COMPATIBILITY.md"}},
	{name: "document without claims", files: map[string]string{"docs/COMPATIBILITY.md": "| ID | test |\n| --- | --- |\n"},
		want: []string{"compat docs/COMPATIBILITY.md"}},
	{name: "bad claims", files: map[string]string{"docs/COMPATIBILITY.md": "| ID | test |\n| --- | --- |\n" +
		"| C-1 | `TestClaim` |\n| C-1 | `TestClaim` |\n| no ID | `TestClaim` |\n| C-2 | `TestNone/sub` |\n| C-3 | TestClaim |\n"},
		want: []string{"compat docs/COMPATIBILITY.md:4", "compat docs/COMPATIBILITY.md:5", "compat docs/COMPATIBILITY.md:6", "compat docs/COMPATIBILITY.md:7"}},
	{name: "dead links", files: map[string]string{"docs/x.md": "[a](none.md) and [b](../server)\n\n```\n[c](in code)\n```\n`[d](e)`\n[f]: ../none\n[g](#here)\n"},
		want: []string{"links docs/x.md:1", "links docs/x.md:7"}},
}

// TestRules proves of each rule that it can fail, where it should and only there.
func TestRules(t *testing.T) {
	for _, c := range ruleCases {
		t.Run(c.name, func(t *testing.T) {
			checkout := fstest.MapFS{}
			files := maps.Clone(soundTree)
			maps.Copy(files, c.files)
			for name, content := range files {
				if content != "" {
					checkout[name] = &fstest.MapFile{Data: []byte(content)}
				}
			}
			policy := soundHouse()
			if c.change != nil {
				c.change(&policy)
			}
			findings, err := check(checkout, policy)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, finding := range findings {
				got = append(got, fmt.Sprintf("%s %s", finding.Rule, finding.Place))
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(c.want))
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q\n%v", got, want, findings)
			}
		})
	}
}

// TestEveryRuleCanFail wants a case for each rule.
func TestEveryRuleCanFail(t *testing.T) {
	for _, rule := range rules {
		if !slices.ContainsFunc(ruleCases, func(c ruleCase) bool {
			return slices.ContainsFunc(c.want, func(want string) bool { return strings.HasPrefix(want, rule.name+" ") })
		}) {
			t.Errorf("no case makes rule %s fail", rule.name)
		}
	}
}

// TestUnreadableTrees are errors, not clean trees.
func TestUnreadableTrees(t *testing.T) {
	for name, checkout := range map[string]fstest.MapFS{
		"empty":     {},
		"broken Go": {".gitignore": {}, "gcra/a.go": {Data: []byte("package")}},
	} {
		if _, err := check(checkout, soundHouse()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
