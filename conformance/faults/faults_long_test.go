//go:build long

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// Every fault has a command, and every command runs a test.
func TestEveryCommandRunsATest(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	rows := read(text)
	if len(rows) < 60 {
		t.Fatalf("%d rows", len(rows))
	}
	declared := map[string][]string{}
	for _, r := range rows {
		if len(r.commands) == 0 || len(r.commands) != strings.Count(r.text, "`go ") {
			t.Errorf("commands are missing or have another form: %s", r.text)
		}
		for _, c := range r.commands {
			folder := filepath.Join(root, c.module, c.pkg)
			if declared[folder] == nil {
				declared[folder] = testsIn(t, folder)
			}
			if !slices.Contains(declared[folder], c.test) {
				t.Errorf("%s has no test %s: %s", folder, c.test, r.text)
			}
		}
	}
}

// testsIn returns the tests that the files of a folder declare.
func testsIn(t *testing.T, folder string) (names []string) {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}

// A row is read with each of its commands.
func TestRowsAreReadWithTheirCommands(t *testing.T) {
	rows := read([]byte("text\n\n| fault | a | b |\n|---|---|---|\n| x | `go -C kube test ./y -run '^TestZ$'` | `go test ./v -run '^TestW$'` |\n| none | | `go vet` |\n"))
	if len(rows) != 2 || !slices.Equal(rows[0].commands, []command{{"kube", "./y", "TestZ"}, {".", "./v", "TestW"}}) || rows[1].commands != nil {
		t.Errorf("%+v", rows)
	}
}
