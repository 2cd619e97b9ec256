// Package suture runs the tests of github.com/thejerf/suture/v4 with supervise in place of
// suture, and one program with either of them.
package suture

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Each of suture's tests passes over testdata/suture.go, unless expected.txt says why it
// does not. Suture's test files are copied from the module cache into a temporary module.
func TestSuturesOwnTests(t *testing.T) {
	binary := build(t)
	expected := readExpected(t)
	names := strings.Fields(output(t, filepath.Dir(binary), binary, "-test.list", "."))
	if len(names) < 25 {
		t.Fatalf("suture has only %d tests", len(names))
	}
	seen, passed, reach := map[string]bool{}, 0, 0
	for _, name := range names {
		seen[name] = true
		text, err := runOne(t, binary, name)
		for try := 1; try < 3 && err != nil && expected[name] == ""; try++ {
			text, err = runOne(t, binary, name) // some have time limits of milliseconds
		}
		if strings.Contains(text, "coverage: ") && !strings.Contains(text, "coverage: 0.0%") {
			reach++
		}
		switch reason, fails := expected[name]; {
		case err == nil && fails:
			t.Errorf("%s passes, but expected.txt says that it fails: %s", name, reason)
		case err == nil:
			passed++
			t.Log("pass", name)
		case fails:
			t.Log("FAIL", name, "as expected:", reason)
		default:
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	for name := range expected {
		if !seen[name] {
			t.Errorf("expected.txt names %s, which suture does not have", name)
		}
	}
	t.Logf("%d tests, %d pass; %d reach supervise before they end", len(names), passed, reach)
	if reach < 20 {
		t.Error("too few of the tests call supervise")
	}
}

// runOne runs one test in a process of its own, since it may leave goroutines behind.
func runOne(t *testing.T, binary, name string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	text, err := exec.CommandContext(ctx, binary, "-test.run", "^"+name+"$", "-test.timeout", "50s").CombinedOutput()
	return string(text), err
}

// build compiles suture's tests with the adapter and returns the program.
func build(t *testing.T) string {
	dir := t.TempDir()
	theirs := strings.TrimSpace(output(t, ".", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/thejerf/suture/v4"))
	tests, err := filepath.Glob(filepath.Join(theirs, "*_test.go"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests in %s: %v", theirs, err)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(tests, "testdata/suture.go", filepath.Join(root, "go.mod"), filepath.Join(root, "go.sum")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	output(t, dir, "go", "mod", "edit", "-module=github.com/thejerf/suture/v4",
		"-require=github.com/restartkit/restart@v0.0.0", "-replace=github.com/restartkit/restart="+root)
	binary := filepath.Join(dir, "suture.test")
	output(t, dir, "go", "test", "-c", "-vet=off", "-cover", "-coverpkg=github.com/restartkit/restart/supervise", "-o", binary, ".")
	return binary
}

func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	command := exec.Command(name, args...)
	command.Dir = dir
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, out, stderr.String())
	}
	return string(out)
}

// readExpected returns the tests that fail, with the reasons.
func readExpected(t *testing.T) map[string]string {
	text, err := os.ReadFile("expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	expected := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, reason, _ := strings.Cut(line, " ")
		if reason == "" {
			t.Errorf("expected.txt gives no reason for %s", name)
		}
		expected[name] = reason
	}
	return expected
}
