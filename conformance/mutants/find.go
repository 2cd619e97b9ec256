package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// mutant is a replacement at one place in a file.
type mutant struct {
	file     string // its name within the package's folder
	text     []byte // of the file
	from, to int    // the bytes replaced …
	put      string // … by these
	kind     string
	function string // "" outside of functions
}

func (m mutant) mutated() []byte {
	return slices.Concat(m.text[:m.from], []byte(m.put), m.text[m.to:])
}

// line returns the number of the first line that changes.
func (m mutant) line() int { return bytes.Count(m.text[:m.from], []byte("\n")) + 1 }

// find returns all mutants of a file, in the order of its text.
func find(file string, text []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := finder{file: file, text: text, start: fset.File(tree.FileStart).Base()}
	ast.PreorderStack(tree, nil, func(n ast.Node, stack []ast.Node) bool {
		f.function, f.results = enclosing(stack)
		f.visit(n)
		return true
	})
	slices.SortStableFunc(f.found, func(a, b mutant) int { return a.from - b.from })
	return f.found, nil
}

// enclosing returns the name of the declared function around a node, and the results of
// the innermost function, which may be a literal.
func enclosing(stack []ast.Node) (name string, results *ast.FieldList) {
	for _, n := range stack {
		switch n := n.(type) {
		case *ast.FuncDecl:
			name, results = n.Name.Name, n.Type.Results
			if n.Recv != nil {
				name = receiver(n.Recv.List[0].Type) + "." + name
			}
		case *ast.FuncLit:
			results = n.Type.Results
		}
	}
	return name, results
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return "(*" + receiver(t.X) + ")"
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

type finder struct {
	file     string
	text     []byte
	start    int // position of the text's first byte
	function string
	results  *ast.FieldList
	found    []mutant
}

// operators maps each operator to its replacements, with the opposite first.
var operators = map[token.Token][]token.Token{
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LSS: {token.GEQ, token.LEQ}, token.GEQ: {token.LSS, token.GTR},
	token.GTR: {token.LEQ, token.GEQ}, token.LEQ: {token.GTR, token.LSS},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.INC: {token.DEC}, token.DEC: {token.INC},
	token.BREAK: {token.CONTINUE}, token.CONTINUE: {token.BREAK},
}

func (f *finder) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.operator(n.OpPos, n.Op)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			f.replace("negated", n.OpPos, n.X.Pos(), "")
		}
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.AssignStmt:
		f.operator(n.TokPos, n.Tok)
	case *ast.IncDecStmt:
		f.operator(n.TokPos, n.Tok)
	case *ast.BranchStmt:
		f.operator(n.TokPos, n.Tok)
	case *ast.ReturnStmt:
		f.zero(n)
	case *ast.BlockStmt:
		f.drop(n.List)
	case *ast.CaseClause:
		f.drop(n.Body)
	case *ast.CommClause:
		f.drop(n.Body)
	}
}

func (f *finder) operator(at token.Pos, op token.Token) {
	for _, other := range operators[op] {
		f.replace(op.String()+" to "+other.String(), at, at+token.Pos(len(op.String())), other.String())
	}
}

// negate negates a condition unless replacing its operator already does.
func (f *finder) negate(cond ast.Expr) {
	switch e := cond.(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return
		}
	case *ast.BinaryExpr:
		if e.Op != token.LAND && e.Op != token.LOR {
			return
		}
	}
	f.replace("negated", cond.Pos(), cond.End(), "!("+f.source(cond)+")")
}

// zero replaces each returned value with a zero value, unless it is written as one.
func (f *finder) zero(n *ast.ReturnStmt) {
	if f.results == nil || len(n.Results) != f.results.NumFields() {
		return // returns the values of one call
	}
	i := 0
	for _, field := range f.results.List {
		for range max(1, len(field.Names)) {
			value := n.Results[i]
			switch zero := f.zeroOf(field.Type); f.source(value) {
			case zero, f.source(field.Type) + "{}", "0": // 0 covers all numeric types
			default:
				f.replace("returned value zeroed", value.Pos(), value.End(), zero)
			}
			i++
		}
	}
}

func (f *finder) zeroOf(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.InterfaceType:
		return "nil"
	case *ast.ArrayType:
		if t.Len == nil {
			return "nil"
		}
	case *ast.Ident:
		switch t.Name {
		case "error", "any":
			return "nil"
		case "string":
			return `""`
		case "bool":
			return "false"
		case "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64",
			"uintptr", "byte", "rune", "float32", "float64":
			return "0"
		}
	}
	return "*new(" + f.source(t) + ")"
}

// drop drops each of the statements or cases, with the lines they leave empty.
func (f *finder) drop(list []ast.Stmt) {
	for _, s := range list {
		kind := "statement dropped"
		switch s.(type) {
		case *ast.CaseClause, *ast.CommClause:
			kind = "case dropped"
		case *ast.EmptyStmt, *ast.BlockStmt, *ast.DeclStmt, *ast.LabeledStmt:
			continue
		}
		from, to := f.offset(s.Pos()), f.offset(s.End())
		before := f.text[bytes.LastIndexByte(f.text[:from], '\n')+1 : from]
		after, _, _ := bytes.Cut(f.text[to:], []byte("\n"))
		rest := strings.TrimSpace(string(after))
		if len(bytes.TrimSpace(before)) == 0 && (rest == "" || strings.HasPrefix(rest, "//")) {
			from, to = from-len(before), to+len(after)+1
		}
		f.add(kind, from, to, "")
	}
}

func (f *finder) replace(kind string, from, to token.Pos, put string) {
	f.add(kind, f.offset(from), f.offset(to), put)
}

func (f *finder) add(kind string, from, to int, put string) {
	f.found = append(f.found, mutant{
		file: f.file, text: f.text, from: from, to: to, put: put, kind: kind, function: f.function,
	})
}

func (f *finder) source(n ast.Node) string {
	return string(f.text[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *finder) offset(p token.Pos) int { return int(p) - f.start }
