// Package owntests runs the tests of another module with an adapter to this library in
// place of that module's code.
package owntests

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Suite is a module whose tests are run. They are copied from the module cache into a
// temporary folder.
type Suite struct {
	Module   string   // path; go.mod has its version
	Adapter  string   // folder of the Go files that replace those of the module's root
	Expected string   // file with a line "TEST REASON" for each test that fails; # begins a comment
	Covers   string   // the package that the adapter calls
	Env      []string // added to the environment of the tests
}

// tries is how often a test may fail that should pass, because tests of retries tend to
// limit the time that they take.
const tries = 3

// Run runs each top-level test in a process of its own. It fails t unless exactly the
// tests in s.Expected fail, and logs every outcome. It returns the number of tests that
// passed and of those that called s.Covers.
func (s Suite) Run(t *testing.T) (passed, reached int) {
	expected, err := readExpected(s.Expected)
	if err != nil {
		t.Fatal(err)
	}
	all := outcomes{}
	for _, b := range s.build(t) {
		for name := range strings.FieldsSeq(s.run(t, b.dir, b.path, "-test.list=.")) {
			result, reach := s.test(t, b, name, expected)
			all.add(result)
			if reach {
				reached++
			}
		}
	}
	for _, line := range all.compare(expected) {
		if strings.HasPrefix(line, "UNEXPECTED") {
			t.Error(line)
		} else {
			t.Log(line)
		}
	}
	for _, outcome := range all {
		if outcome == "PASS" {
			passed++
		}
	}
	t.Logf("%s: %d tests, %d pass; of the top-level tests %d call package %s", s.Module, len(all), passed, reached, path.Base(s.Covers))
	return passed, reached
}

// binary is the compiled tests of a package.
type binary struct{ path, dir, prefix string }

// build compiles the tests of every package of the module, with the versions of this
// module's dependencies.
func (s Suite) build(t *testing.T) (all []binary) {
	dir := t.TempDir()
	module, mod := filepath.Join(dir, "module"), filepath.Join(dir, "peers.mod")
	s.copyModule(t, module)
	main := strings.TrimSpace(s.run(t, ".", "go", "env", "GOMOD"))
	copyFile(t, mod, main)
	copyFile(t, filepath.Join(dir, "peers.sum"), strings.TrimSuffix(main, ".mod")+".sum")
	s.run(t, ".", "go", "mod", "edit", "-replace="+s.Module+"="+module, mod)
	packages := s.run(t, ".", "go", "list", "-mod=mod", "-modfile="+mod,
		"-f={{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}", s.Module+"/...")
	for line := range strings.Lines(packages) {
		pkg, source, _ := strings.Cut(strings.TrimSpace(line), " ")
		b := binary{path: filepath.Join(dir, fmt.Sprint(len(all), ".test")), dir: source, prefix: strings.TrimPrefix(pkg+"/", s.Module+"/")}
		s.run(t, ".", "go", "test", "-c", "-vet=off", "-mod=mod", "-modfile="+mod, "-cover", "-coverpkg="+s.Covers, "-o", b.path, pkg)
		all = append(all, b)
	}
	return all
}

// copyModule copies the tests and the adapter. The adapter needs the language version of
// this module.
func (s Suite) copyModule(t *testing.T, to string) {
	var downloaded struct{ Dir, GoMod string }
	if err := json.Unmarshal([]byte(s.run(t, ".", "go", "mod", "download", "-json", s.Module)), &downloaded); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(downloaded.Dir, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, "_test.go") {
			copyFile(t, filepath.Join(to, strings.TrimPrefix(file, downloaded.Dir)), file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	adapter, err := filepath.Glob(filepath.Join(s.Adapter, "*.go"))
	if err != nil || len(adapter) == 0 {
		t.Fatalf("no adapter in %s: %v", s.Adapter, err)
	}
	for _, file := range adapter {
		copyFile(t, filepath.Join(to, filepath.Base(file)), file)
	}
	copyFile(t, filepath.Join(to, "go.mod"), downloaded.GoMod)
	s.run(t, to, "go", "mod", "edit", "-go=1.26.0")
}

// test runs a top-level test, again if it fails unexpectedly, and reports whether it
// called the package covered.
func (s Suite) test(t *testing.T, b binary, name string, expected map[string]string) (result outcomes, reached bool) {
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		cmd := exec.CommandContext(ctx, b.path, "-test.v", "-test.run=^"+name+"$", "-test.timeout=20s")
		cmd.Dir, cmd.Env = b.dir, append(os.Environ(), s.Env...)
		output, err := cmd.CombinedOutput()
		cancel()
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
		result = readOutcomes(output, b.prefix, name, err != nil)
		reached = bytes.Contains(output, []byte("coverage: ")) && !bytes.Contains(output, []byte("coverage: 0.0%"))
		unexpected := slices.ContainsFunc(result.compare(nil), func(line string) bool {
			return expected[strings.TrimSuffix(strings.TrimPrefix(line, "UNEXPECTED: "), " fails")] == ""
		})
		if unexpected {
			t.Logf("%s: try %d failed", name, try)
		}
		switch {
		case err == nil, !unexpected:
			return result, reached
		case try == tries:
			t.Logf("%s: %v\n%s", name, err, output)
			return result, reached
		}
	}
}

// run returns the output of a command that must succeed.
func (s Suite) run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, output, stderr.String())
	}
	return string(output)
}

func copyFile(t *testing.T, to, from string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
