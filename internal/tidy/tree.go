package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"path"
	"strconv"
	"strings"
)

// tree is the checked files, read once. Paths are slash-separated and relative to the root.
type tree struct {
	house
	contents map[string][]byte // by path
	paths    []string          // of all files, sorted
	folders  map[string]bool   // that hold a file, at any depth
	goFiles  []*goFile         // sorted by path, testdata excepted
	fset     *token.FileSet
}

// goFile is one Go source file.
type goFile struct {
	path    string
	folder  string
	isTest  bool
	syntax  *ast.File
	imports map[string]string // local name -> import path
}

// load reads all files but those of version control and those that .gitignore in the root leaves out of it.
func load(checkout fs.FS, policy house) (*tree, error) {
	t := &tree{house: policy, contents: map[string][]byte{}, folders: map[string]bool{".": true}, fset: token.NewFileSet()}
	ignored, err := ignoredPatterns(checkout)
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(checkout, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || ignored.match(name+"/")):
			return fs.SkipDir
		case entry.IsDir() || !entry.Type().IsRegular() || ignored.match(name):
			return nil
		}
		return t.add(checkout, name)
	})
	return t, err
}

func (t *tree) add(checkout fs.FS, name string) error {
	content, err := fs.ReadFile(checkout, name)
	if err != nil {
		return err
	}
	t.contents[name] = content
	t.paths = append(t.paths, name)
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		t.folders[folder] = true
	}
	if path.Ext(name) != ".go" || strings.Contains("/"+name, "/testdata/") {
		return nil
	}
	syntax, err := parser.ParseFile(t.fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	file := &goFile{path: name, folder: path.Dir(name), isTest: strings.HasSuffix(name, "_test.go"), syntax: syntax}
	file.imports = localNames(syntax)
	t.goFiles = append(t.goFiles, file)
	return nil
}

// at is the place of a syntax node.
func (t *tree) at(position token.Pos) string {
	p := t.fset.Position(position)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// lines counts the lines that a syntax node spans.
func (t *tree) lines(node ast.Node) int {
	return t.fset.Position(node.End()).Line - t.fset.Position(node.Pos()).Line + 1
}

// programFiles are the Go files that are no tests.
func (t *tree) programFiles() iter.Seq[*goFile] {
	return func(yield func(*goFile) bool) {
		for _, file := range t.goFiles {
			if !file.isTest && !yield(file) {
				return
			}
		}
	}
}

// localNames maps the names by which a file calls its imports to their paths. Where the file gives no name it is taken to be
// the last element of the path that is no version, which is a convention and holds for what the rules ask about.
func localNames(syntax *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range syntax.Imports {
		imported := importPath(spec)
		name := path.Base(imported)
		if strings.HasPrefix(name, "v") && strings.Trim(name[1:], "0123456789") == "" {
			name = path.Base(path.Dir(imported))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
	}
	return names
}

func importPath(spec *ast.ImportSpec) string {
	unquoted, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic("tidy: the parser let a bad import through: " + spec.Path.Value)
	}
	return unquoted
}

// selections are the uses of imported names in a file: time.Now is path "time" and name "Now".
func (f *goFile) selections() iter.Seq2[*ast.SelectorExpr, string] {
	return func(yield func(*ast.SelectorExpr, string) bool) {
		for node := range ast.Preorder(f.syntax) {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				continue
			}
			if name, ok := selector.X.(*ast.Ident); ok && f.imports[name.Name] != "" && !yield(selector, f.imports[name.Name]) {
				return
			}
		}
	}
}

// patterns are lines of a .gitignore: path.Match patterns, for names in any folder or, with a leading slash, in the root. With a
// slash at its end a pattern is for folders alone.
type patterns []string

func ignoredPatterns(checkout fs.FS) (patterns, error) {
	content, err := fs.ReadFile(checkout, ".gitignore")
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(content)), nil
}

// match tells whether a file's name, or a folder's with a slash at its end, is to be ignored.
func (p patterns) match(name string) bool {
	name, isFolder := strings.CutSuffix(name, "/")
	for _, pattern := range p {
		pattern, foldersOnly := strings.CutSuffix(pattern, "/")
		if foldersOnly && !isFolder {
			continue
		}
		against := path.Base(name)
		if rooted, ok := strings.CutPrefix(pattern, "/"); ok {
			pattern, against = rooted, name
		}
		if matched, _ := path.Match(pattern, against); matched {
			return true
		}
	}
	return false
}
