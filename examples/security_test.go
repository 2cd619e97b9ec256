package examples_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// forTests are the packages of the library that only tests import.
var forTests = []string{"internal/jobruns", "internal/rapidseed", "internal/scenario", "internal/search", "internal/states", "internal/vectors", "internal/vectors/shape"}

// SECURITY.md says which side effects the packages have. Their source has no others.
func TestSideEffectsAreThoseOfSecurity(t *testing.T) {
	t.Chdir("..")
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	prose := strings.Join(strings.Fields(string(text)), " ")
	for _, promise := range []string{
		"The library opens no connection, starts no process, reads no environment variable, writes no log and uses no `unsafe`.",
		"Only `statefile` opens files.",
		"Only `pleg.Generator` and `supervise.Supervisor` start goroutines.",
	} {
		if !strings.Contains(prose, promise) {
			t.Errorf("SECURITY.md does not say: %s", promise)
		}
	}
	effects := make(map[string]bool) // such as "pleg: go"
	files := 0
	for _, root := range []string{"backoff", "field", "indexset", "internal", "jobpolicy", "pleg", "statefile", "supervise"} {
		err := fs.WalkDir(os.DirFS("."), root, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "testdata" || slices.Contains(forTests, name)):
				return fs.SkipDir
			case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			files++
			for _, effect := range effectsOf(t, name) {
				effects[path.Dir(name)+": "+effect] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for effect := range effects {
		got = append(got, effect)
	}
	slices.Sort(got)
	want := []string{
		"backoff: import syscall", // for the type of a process's signal
		"pleg: go",
		"statefile: os.O_CREATE", "statefile: os.O_EXCL", "statefile: os.O_WRONLY",
		"statefile: os.OpenRoot", "statefile: os.ReadFile", "statefile: os.Root",
		"supervise: go",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the packages have the effects\n%q, want\n%q", got, want)
	}
	if files < 50 {
		t.Errorf("only %d files were read", files)
	}
}

// effectsOf returns what a file does beside computing: goroutines that it starts, and what
// it uses of the operating system.
func effectsOf(t *testing.T, name string) (effects []string) {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		top, _, _ := strings.Cut(imported, "/")
		switch {
		case top == "log" || top == "net" || top == "syscall" || top == "plugin" || top == "C",
			imported == "os/exec", imported == "os/signal", imported == "unsafe", imported == "io/ioutil":
			effects = append(effects, "import "+imported)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			effects = append(effects, "go")
		case *ast.SelectorExpr:
			switch of, _ := n.X.(*ast.Ident); {
			case n.Sel.Name == "Go" || n.Sel.Name == "AfterFunc": // of a WaitGroup, and of time or context
				effects = append(effects, "go")
			case of != nil && of.Name == "os" && !strings.HasPrefix(n.Sel.Name, "Err") && n.Sel.Name != "ProcessState":
				effects = append(effects, "os."+n.Sel.Name)
			}
		}
		return true
	})
	return effects
}
