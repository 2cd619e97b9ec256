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
	"slices"
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

// The programs in README.md and docs/packages.md are those of examples/. They come to an
// end and print what stands below them, also on a clock so coarse that it does not move
// while they run: that of a synctest bubble. A program that waits for ever is a deadlock
// there, at once.
func TestReadmeProgramsPrintWhatStandsBelow(t *testing.T) {
	args := []string{"test"}
	sources := map[string]bool{}
	for _, file := range exampleFiles(t) {
		_, source, _ := strings.Cut(readText(t, file), "\npackage main\n")
		sources["package main\n"+source] = true
	}
	dir := t.TempDir()
	var outputs []string
	for _, page := range []string{"README.md", "docs/packages.md"} {
		for _, snippet := range goSnippet.FindAllStringSubmatch(readText(t, page), -1) {
			i := len(outputs)
			if !sources[snippet[1]] {
				t.Errorf("%s: this program is not in examples/:\n%s", page, snippet[1])
			}
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

// README shows a part of examples/supervisor as it is.
func TestReadmeShowsTheSupervisor(t *testing.T) {
	flat := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	_, rest, _ := strings.Cut(readText(t, "README.md"), "```golang\n")
	core, _, _ := strings.Cut(rest, "```")
	if program := readText(t, "examples/supervisor/main.go"); len(core) < 100 || !strings.Contains(flat(program), flat(core)) {
		t.Errorf("not in examples/supervisor/main.go:\n%s", core)
	}
}

// Every example is one short file, and prints what its comment says.
func TestExamplesPrintWhatTheySay(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./examples/...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, file := range exampleFiles(t) {
		name := filepath.Base(filepath.Dir(file))
		text := readText(t, file)
		if n := strings.Count(text, "\n"); n >= 80 {
			t.Errorf("%s has %d lines, too many to be read at a glance", file, n)
		}
		comment, _, _ := strings.Cut(text, "\npackage main\n")
		if !strings.HasPrefix(comment, "// Command "+name+" ") {
			t.Errorf("%s does not begin with what the command %s does", file, name)
		}
		var want strings.Builder
		for line := range strings.Lines(comment) {
			if shown, ok := strings.CutPrefix(line, "//\t"); ok {
				want.WriteString(shown)
			}
		}
		program := exec.Command(filepath.Join(dir, name))
		got, err := program.CombinedOutput()
		if got := strings.TrimSpace(string(got)); err != nil || want.Len() == 0 || got != strings.TrimSpace(want.String()) {
			t.Errorf("%s: %v; it prints\n%s\nand says\n%s", name, err, got, want.String())
		}
	}
}

// exampleFiles returns the main file of each example without tests of its own.
func exampleFiles(t *testing.T) []string {
	files, err := filepath.Glob("examples/*/main.go")
	files = slices.DeleteFunc(files, func(file string) bool {
		tests, _ := filepath.Glob(filepath.Dir(file) + "/*_test.go")
		return len(tests) > 0
	})
	if err != nil || len(files) < 6 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	return files
}

// readText returns the text of a file with the line ends that it has in the repository.
func readText(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
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
