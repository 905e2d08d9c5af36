package script

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// chunkName is what scripts are called in their errors.
const chunkName = "user_script"

// The hidden functions, under names that no script can write.
const (
	concatName = "\x00concat"
	lengthName = "\x00length"
)

// maxConcatArgs is how many operands one call of the hidden concatenation takes; a longer chain is cut.
const maxConcatArgs = 100

// compile turns a body into code, or says what is wrong with it in the words of Lua: "name:line: text".
func compile(body []byte, name string) (proto *lua.FunctionProto, err error) {
	if len(body) > MaxBodyBytes {
		return nil, fmt.Errorf("%s:1: script is longer than %d bytes", name, MaxBodyBytes)
	}
	defer func() {
		if bug := recover(); bug != nil {
			proto, err = nil, fmt.Errorf("%s:1: %v", name, bug)
		}
	}()
	chunk, err := parseSource(body, name)
	if err != nil {
		return nil, err
	}
	r := rewriter{name: name}
	r.block(chunk)
	if r.err != nil {
		return nil, r.err
	}
	proto, err = lua.Compile(chunk, name)
	if err != nil {
		return nil, syntaxError(err, body, name)
	}
	proto.IsVarArg &^= lua.VarArgNeedsArg // a script has no table arg, and making one would be half of the cost of a run
	trim(proto)
	return proto, nil
}

// parseSource makes a syntax tree. What is wrong before an escape sequence that is too large is told first, as in Lua.
func parseSource(source []byte, name string) ([]ast.Stmt, error) {
	start, length, isWrong := largeEscape(source)
	end := len(source)
	if isWrong {
		end = start
	}
	chunk, err := parse.Parse(bytes.NewReader(source[:end]), name)
	var parsing *parse.Error
	switch {
	case isWrong && (err == nil || errors.As(err, &parsing) && parsing.Pos.Line == parse.EOF):
		text := source[start : start+length]
		return nil, fmt.Errorf("%s:%d: escape sequence too large near '%s'", name, lineAt(source, start+length), text)
	case err != nil:
		return nil, syntaxError(err, source, name)
	}
	return chunk, nil
}

// trim gives back what the compiler has reserved, a few kilobytes for each function, and what only debuggers and stack traces
// use: neither exists here.
func trim(code *lua.FunctionProto) {
	code.Code, code.DbgSourcePositions = slices.Clone(code.Code), slices.Clone(code.DbgSourcePositions)
	code.Constants, code.FunctionPrototypes = slices.Clone(code.Constants), slices.Clone(code.FunctionPrototypes)
	code.DbgLocals, code.DbgCalls, code.DbgUpvalues = nil, nil, nil
	for _, inner := range code.FunctionPrototypes {
		trim(inner)
	}
}

// sizeOf is about the memory that code takes after trim.
func sizeOf(code *lua.FunctionProto) int {
	const (
		function    = 320 + 32*16 // what describes it, and the list of strings that the machine keeps to itself: for 32 at least
		instruction = 4 + 8       // and its line
		constant    = 3 * 16      // in both lists, and what the first points to
	)
	n := function + len(code.Code)*instruction + len(code.Constants)*constant
	for _, v := range code.Constants {
		if text, ok := v.(lua.LString); ok {
			n += len(text)
		}
	}
	for _, inner := range code.FunctionPrototypes {
		n += sizeOf(inner)
	}
	return n
}

func syntaxError(err error, body []byte, name string) error {
	var parsing *parse.Error
	var compiling *lua.CompileError
	switch {
	case errors.As(err, &parsing) && parsing.Pos.Line == parse.EOF:
		return fmt.Errorf("%s:%d: unexpected symbol near '<eof>'", name, lineAt(body, len(body)))
	case errors.As(err, &parsing) && parsing.Message == "syntax error":
		return fmt.Errorf("%s:%d: unexpected symbol near '%s'", name, parsing.Pos.Line, parsing.Token)
	case errors.As(err, &parsing) && (parsing.Message == "unterminated string" || parsing.Token == "\n"):
		line := parsing.Pos.Line - 1 // the parser has gone past the end of the line
		return fmt.Errorf("%s:%d: %s near '%s'", name, line, parsing.Message, parsing.Token)
	case errors.As(err, &parsing):
		return fmt.Errorf("%s:%d: %s near '%s'", name, parsing.Pos.Line, parsing.Message, parsing.Token)
	case errors.As(err, &compiling):
		return fmt.Errorf("%s:%d: %s", name, compiling.Line, compiling.Message)
	}
	return fmt.Errorf("%s:1: %v", name, err)
}

// rewriter replaces operators by calls of hidden functions, and refuses what would take the compiler too long or too deep.
type rewriter struct {
	name      string
	depth     int
	constants int
	functions int
	err       error
}

// enter goes one level down and tells whether that is allowed.
func (r *rewriter) enter(line int) bool {
	if r.depth++; r.depth > maxSyntaxDepth {
		r.fail(line, "chunk has too many syntax levels")
	}
	return r.err == nil
}

func (r *rewriter) leave() { r.depth-- }

func (r *rewriter) fail(line int, text string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s:%d: %s", r.name, line, text)
	}
}

func (r *rewriter) block(statements []ast.Stmt) {
	for _, s := range statements {
		if !r.enter(s.Line()) {
			return
		}
		r.statement(s)
		r.leave()
	}
}

func (r *rewriter) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		r.expressions(s.Lhs)
		r.expressions(s.Rhs)
	case *ast.LocalAssignStmt:
		r.expressions(s.Exprs)
	case *ast.FuncCallStmt:
		s.Expr = r.expression(s.Expr)
	case *ast.DoBlockStmt:
		r.block(s.Stmts)
	case *ast.WhileStmt:
		s.Condition = r.expression(s.Condition)
		r.block(s.Stmts)
	case *ast.RepeatStmt:
		s.Condition = r.expression(s.Condition)
		r.block(s.Stmts)
	case *ast.IfStmt:
		s.Condition = r.expression(s.Condition)
		r.block(s.Then)
		r.block(s.Else)
	case *ast.NumberForStmt:
		s.Init, s.Limit = r.expression(s.Init), r.expression(s.Limit)
		if s.Step != nil {
			s.Step = r.expression(s.Step)
		}
		r.block(s.Stmts)
	case *ast.GenericForStmt:
		r.expressions(s.Exprs)
		r.block(s.Stmts)
	case *ast.FuncDefStmt:
		if s.Name.Func != nil {
			s.Name.Func = r.expression(s.Name.Func)
		}
		if s.Name.Receiver != nil {
			s.Name.Receiver = r.expression(s.Name.Receiver)
		}
		r.function(s.Func)
	case *ast.ReturnStmt:
		r.expressions(s.Exprs)
	case *ast.LabelStmt, *ast.GotoStmt:
		r.fail(s.Line(), "unexpected symbol near 'goto'") // Lua 5.1 has none
	}
}

func (r *rewriter) function(f *ast.FunctionExpr) {
	if r.functions++; r.functions > maxFunctions {
		r.fail(f.Line(), "too many functions")
	}
	r.block(f.Stmts)
}

func (r *rewriter) expressions(list []ast.Expr) {
	for i, e := range list {
		list[i] = r.expression(e)
	}
}

// expression rewrites an expression and returns what takes its place.
func (r *rewriter) expression(e ast.Expr) ast.Expr {
	if !r.enter(e.Line()) {
		return e
	}
	defer r.leave()
	switch e := e.(type) {
	case *ast.NumberExpr:
		r.constant(e.Line())
		if n, ok := parseNumber(e.Value); ok {
			e.Value = strconv.FormatFloat(float64(n), 'g', -1, 64) // the machine takes 010 for 8
		} else {
			r.fail(e.Line(), "malformed number near '"+e.Value+"'")
		}
	case *ast.StringExpr:
		r.constant(e.Line())
	case *ast.AttrGetExpr:
		e.Object, e.Key = r.expression(e.Object), r.expression(e.Key)
	case *ast.TableExpr:
		for _, field := range e.Fields {
			if field.Key != nil {
				field.Key = r.expression(field.Key)
			}
			field.Value = r.expression(field.Value)
		}
	case *ast.FuncCallExpr:
		if e.Func != nil {
			e.Func = r.expression(e.Func)
		}
		if e.Receiver != nil {
			e.Receiver = r.expression(e.Receiver)
		}
		r.expressions(e.Args)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = r.expression(e.Lhs), r.expression(e.Rhs)
	case *ast.RelationalOpExpr:
		e.Lhs, e.Rhs = r.expression(e.Lhs), r.expression(e.Rhs)
	case *ast.ArithmeticOpExpr:
		e.Lhs, e.Rhs = r.expression(e.Lhs), r.expression(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		e.Expr = r.expression(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = r.expression(e.Expr)
	case *ast.FunctionExpr:
		r.function(e)
	case *ast.UnaryLenOpExpr:
		return hiddenCall(lengthName, e, r.expression(e.Expr))
	case *ast.StringConcatOpExpr:
		return r.concat(e)
	}
	return e
}

func (r *rewriter) constant(line int) {
	if r.constants++; r.constants > maxConstants {
		r.fail(line, "constant table overflow")
	}
}

// concat makes one call of a chain of concatenations, which to the parser is a..(b..(c..d)).
func (r *rewriter) concat(e *ast.StringConcatOpExpr) ast.Expr {
	operands := []ast.Expr{r.expression(e.Lhs)}
	rest := e.Rhs
	for len(operands) < maxConcatArgs-1 {
		next, more := rest.(*ast.StringConcatOpExpr)
		if !more {
			break
		}
		operands = append(operands, r.expression(next.Lhs))
		rest = next.Rhs
	}
	return hiddenCall(concatName, e, append(operands, r.expression(rest))...)
}

// hiddenCall calls a hidden function with operands of the expression that it replaces. The last gives one value only.
func hiddenCall(name string, replaced ast.Expr, operands ...ast.Expr) ast.Expr {
	switch last := operands[len(operands)-1].(type) {
	case *ast.FuncCallExpr:
		last.AdjustRet = true
	case *ast.Comma3Expr:
		last.AdjustRet = true
	}
	function := &ast.IdentExpr{Value: name}
	call := &ast.FuncCallExpr{Func: function, Args: operands, AdjustRet: true}
	for _, node := range []ast.Expr{function, call} {
		node.SetLine(replaced.Line())
		node.SetLastLine(replaced.LastLine())
	}
	return call
}
