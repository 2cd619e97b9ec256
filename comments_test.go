package restart_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// packages are those that others import.
var packages = []string{
	"backoff", "backoff/lint", "field", "indexset", "jobpolicy", "jobpolicy/batch", "jobpolicy/jobtest", "jobpolicy/lint",
	"pleg", "pleg/plegtest", "pleg/statuscache",
}

// docs/packages.md says under "Time and concurrency" where a reader finds how a type may
// be shared.
func TestCommentsSayHowTypesAreShared(t *testing.T) {
	hiding, interfaces := 0, 0
	for _, path := range packages {
		for _, typ := range exportedTypes(t, path) {
			need := map[string]*regexp.Regexp{"how it may be shared": regexp.MustCompile(`goroutine|concurrent`)}
			switch {
			case typ.isInterface():
				interfaces++
			case typ.hidesFields():
				hiding++
				need["what its zero value is"] = regexp.MustCompile(`zero value`)
			default:
				continue // a plain value
			}
			for what, pattern := range need {
				if !pattern.MatchString(typ.comment) {
					t.Errorf("the comment of %s.%s does not say %s", path, typ.name, what)
				}
			}
		}
	}
	if hiding < 8 || interfaces < 3 {
		t.Errorf("only %d types that hide fields and %d interfaces were found", hiding, interfaces)
	}
}

// A reader of pkg.go.dev has to scroll sideways for a comment behind a long field, so a
// long one stands above it.
func TestFieldsFitOnAScreen(t *testing.T) {
	const widest = 120 // columns, a tab being four
	fields := 0
	for _, path := range packages {
		for _, typ := range exportedTypes(t, path) {
			for line := range strings.Lines(typ.text) {
				fields++
				if n := utf8.RuneCountInString(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")); n > widest {
					t.Errorf("%s.%s: %d columns: %s", path, typ.name, n, strings.TrimSpace(line))
				}
			}
		}
	}
	if fields < 500 {
		t.Errorf("only %d lines of types were found", fields)
	}
}

// exportedType is an exported type with its comment and its lines.
type exportedType struct {
	name, comment, text string
	is                  ast.Expr
}

// exportedTypes returns the exported types of a package.
func exportedTypes(t *testing.T, path string) (types []exportedType) {
	files, err := filepath.Glob(filepath.Join(path, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range decl.Specs {
				if spec, ok := s.(*ast.TypeSpec); ok && spec.Name.IsExported() {
					comment := strings.Fields(decl.Doc.Text() + spec.Doc.Text())
					text := string(source[spec.Pos()-file.FileStart : spec.End()-file.FileStart])
					types = append(types, exportedType{spec.Name.Name, strings.Join(comment, " "), text, spec.Type})
				}
			}
		}
	}
	return types
}

func (e exportedType) isInterface() bool {
	_, ok := e.is.(*ast.InterfaceType)
	return ok
}

func (e exportedType) hidesFields() bool {
	s, ok := e.is.(*ast.StructType)
	return ok && slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool {
		hidden := func(name *ast.Ident) bool { return !name.IsExported() }
		embedded, ok := f.Type.(*ast.Ident)
		return slices.ContainsFunc(f.Names, hidden) || len(f.Names) == 0 && ok && hidden(embedded)
	})
}
