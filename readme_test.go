package restart_test

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	// What the programs use: no result of the test is kept when these change.
	_ "github.com/restartkit/restart/backoff"
	_ "github.com/restartkit/restart/indexset"
	_ "github.com/restartkit/restart/jobpolicy"
	_ "github.com/restartkit/restart/pleg"
)

var (
	goSnippet = regexp.MustCompile("(?s)```go\n(.*?)```(?:\n\n```\n(.*?)```)?")
	ended     = regexp.MustCompile(`(?s)<begin (\d+)>\n(.*?)\n<end (\d+)>`)
)

// The programs in README.md and docs/packages.md compile, come to an end and print what
// stands below them, also on a clock so coarse that it does not move while they run: that
// of a synctest bubble. A program that waits for ever is a deadlock there, at once.
func TestReadmeProgramsPrintWhatStandsBelow(t *testing.T) {
	args := []string{"test"}
	dir := t.TempDir()
	var outputs []string
	for _, page := range []string{"README.md", "docs/packages.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, snippet := range goSnippet.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\r\n", "\n"), -1) {
			i := len(outputs)
			outputs = append(outputs, snippet[2])
			if snippet[2] == "" {
				t.Errorf("%s: a program has no output below it:\n%s", page, snippet[1])
			}
			source := renamed(t, snippet[1], i) + fmt.Sprintf(`
				func TestProgram%d(t *testing.T) {
					fmt.Println("<begin %[1]d>")
					synctest.Test(t, func(*testing.T) { main%[1]d() })
					fmt.Println("\n<end %[1]d>")
				}`, i)
			file := filepath.Join(dir, fmt.Sprintf("program%d_test.go", i))
			if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, file)
		}
	}
	if len(outputs) < 6 {
		t.Fatalf("%d programs, less than two in README.md and one for each package", len(outputs))
	}
	out, err := exec.Command("go", append(args, "-v")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := ended.FindAllStringSubmatch(string(out), -1)
	if len(printed) != len(outputs) {
		t.Fatalf("%d of %d programs have ended:\n%s", len(printed), len(outputs), out)
	}
	for i, p := range printed {
		if got, want := strings.TrimSpace(p[2]), strings.TrimSpace(outputs[i]); p[1] != fmt.Sprint(i) || got != want {
			t.Errorf("program %s prints\n%s\nbelow it stands\n%s", p[1], got, want)
		}
	}
}

// renamed returns a program as a part of a package that has others: what it declares
// ends with its number, and it imports what its test needs.
func renamed(t *testing.T, source string, number int) string {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.ParseComments)
	if err != nil {
		t.Fatalf("%v in\n%s", err, source)
	}
	declared := map[string]bool{}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			declared[d.Name.Name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.ValueSpec); ok {
					declared[s.Names[0].Name] = true
				}
			}
		}
	}
	packageName := file.Name
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id != packageName && declared[id.Name] {
			id.Name += fmt.Sprint(number)
		}
		return true
	})
	var text strings.Builder
	if err := format.Node(&text, files, file); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(text.String(), "package main\n", "package main\n\nimport (\n\t\"testing\"\n\t\"testing/synctest\"\n)\n", 1)
}
