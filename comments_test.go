package restart_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// packages are the importable packages.
var packages = []string{
	"backoff", "backoff/lint", "field", "indexset", "jobpolicy", "jobpolicy/batch", "jobpolicy/jobtest", "jobpolicy/lint",
	"pleg", "pleg/plegtest", "pleg/statuscache", "statefile", "supervise",
}

// pkg.go.dev does not wrap long lines, so the comment of a long field stands above it.
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

// exportedType is an exported type with its lines.
type exportedType struct{ name, text string }

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
					text := string(source[spec.Pos()-file.FileStart : spec.End()-file.FileStart])
					types = append(types, exportedType{spec.Name.Name, text})
				}
			}
		}
	}
	return types
}
