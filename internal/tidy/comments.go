package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// minPackageCommentLines is too little for most packages, and keeps out "Package x implements x".
const minPackageCommentLines = 3

// checkPackage wants each package explained in doc.go or, for a command, above main. Packages of tests only explain
// themselves by their tests.
func checkPackage(t *tree, report report) {
	explained := map[string]bool{}
	for file := range t.programFiles() {
		isHome := path.Base(file.path) == "doc.go" || file.syntax.Name.Name == "main" && declaresMain(file.syntax)
		comment := strings.TrimSpace(file.syntax.Doc.Text())
		longEnough := strings.Count(comment, "\n")+1 >= minPackageCommentLines
		explained[file.folder] = explained[file.folder] || isHome && longEnough
		if comment != "" && !isHome {
			report(file.path, "the package comment belongs in doc.go, all of it")
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(explained)) {
		if !explained[folder] {
			report(folder, "no package comment of %d lines or more in doc.go: say what it is for and what it guarantees", minPackageCommentLines)
		}
	}
}

func declaresMain(syntax *ast.File) bool {
	return slices.ContainsFunc(syntax.Decls, func(declaration ast.Decl) bool {
		function, ok := declaration.(*ast.FuncDecl)
		return ok && function.Recv == nil && function.Name.Name == "main"
	})
}

// checkExported wants a comment on every exported name at the top level and on the exported methods of exported types.
func checkExported(t *tree, report report) {
	for file := range t.programFiles() {
		for _, declaration := range file.syntax.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if needsDoc(d) {
					wantDoc(t, report, d.Name, d.Doc, false)
				}
			case *ast.GenDecl:
				checkExportedSpecs(t, report, d)
			}
		}
	}
}

// checkExportedSpecs lets other comments stand for a constant's or variable's own: that of its group in parentheses, one at
// the end of the line, or one further up in the group that names it.
func checkExportedSpecs(t *tree, report report, d *ast.GenDecl) {
	grouped := d.Lparen.IsValid()
	var above []string // words of the nearest comment further up
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if !grouped {
				doc = d.Doc
			}
			wantDoc(t, report, s.Name, doc, true)
		case *ast.ValueSpec:
			name := s.Names[0]
			switch {
			case s.Doc != nil:
				above = strings.Fields(s.Doc.Text())
				wantDoc(t, report, name, s.Doc, false)
			case !grouped:
				wantDoc(t, report, name, d.Doc, false)
			case d.Doc == nil && s.Comment == nil && !slices.Contains(above, name.Name):
				wantDoc(t, report, name, nil, false)
			}
		}
	}
}

// selfEvident are the methods whose contract is that of a well-known interface.
var selfEvident = []string{"Error", "String", "Unwrap"}

func needsDoc(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return d.Name.IsExported()
	}
	receiver := d.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r.IsExported() && d.Name.IsExported() && !slices.Contains(selfEvident, d.Name.Name)
		default:
			return false
		}
	}
}

func wantDoc(t *tree, report report, name *ast.Ident, doc *ast.CommentGroup, articleAllowed bool) {
	if !name.IsExported() {
		return
	}
	words := strings.Fields(doc.Text())
	if articleAllowed && len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
		words = words[1:]
	}
	if len(words) == 0 || strings.TrimRight(words[0], ",.:;") != name.Name {
		report(t.at(name.Pos()), "exported %s has no doc comment that begins with its name", name.Name)
	}
}

// unfinished are the marks that people leave where work is left. They are split here because this file is checked too.
var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)

// checkComments looks at the comments of Go files and at all of every other text: an issue is the place for what is left,
// and version control for what is not wanted any more.
func checkComments(t *tree, report report) {
	for _, file := range t.goFiles {
		docs := docComments(file.syntax)
		for _, group := range file.syntax.Comments {
			for _, comment := range group.List {
				if mark := unfinished.FindString(comment.Text); mark != "" {
					report(t.at(comment.Pos()), "%s: finish it, or file an issue", mark)
				}
				if !docs[group] && isCode(comment.Text) {
					report(t.at(comment.Pos()), "code that is commented out: remove it")
				}
			}
		}
	}
	for _, name := range t.paths {
		if path.Ext(name) == ".go" || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		if mark := unfinished.Find(t.contents[name]); mark != nil {
			report(name, "%s: finish it, or file an issue", mark)
		}
	}
}

// docComments are the comments that may quote code: those above declarations and the package clause.
func docComments(syntax *ast.File) map[*ast.CommentGroup]bool {
	docs := map[*ast.CommentGroup]bool{}
	for node := range ast.Preorder(syntax) {
		switch n := node.(type) {
		case *ast.File:
			docs[n.Doc] = true
		case *ast.FuncDecl:
			docs[n.Doc] = true
		case *ast.GenDecl:
			docs[n.Doc] = true
		case *ast.TypeSpec:
			docs[n.Doc] = true
		case *ast.ValueSpec:
			docs[n.Doc] = true
		case *ast.Field:
			docs[n.Doc] = true
		}
	}
	return docs
}

// isCode recognizes the lines that hardly any prose or formula looks like: a short variable declaration, a call of a method or an
// imported function as a whole line, and the head of a block.
func isCode(comment string) bool {
	text, isLine := strings.CutPrefix(comment, "//")
	if !isLine || strings.HasPrefix(text, " \t") || strings.HasPrefix(text, "\t") {
		return false
	}
	text = strings.TrimSpace(text)
	opensBlock := strings.HasSuffix(text, "{")
	if opensBlock {
		text += "}"
	}
	syntax, err := parser.ParseFile(token.NewFileSet(), "", "package p; func f() {\n"+text+"\n}", parser.SkipObjectResolution)
	if err != nil || len(syntax.Decls) != 1 {
		return false
	}
	body := syntax.Decls[0].(*ast.FuncDecl).Body.List
	if len(body) != 1 {
		return false
	}
	switch s := body[0].(type) {
	case *ast.AssignStmt:
		return s.Tok == token.DEFINE
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		_, selects := call.Fun.(*ast.SelectorExpr)
		return selects
	case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt:
		return opensBlock
	}
	return false
}
