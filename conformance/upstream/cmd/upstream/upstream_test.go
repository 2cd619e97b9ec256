package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpectedFailuresQuoteTheDifferences(t *testing.T) {
	e, err := readExpected("../../expected.txt", "../../../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(e["cache"]) == 0 {
		t.Error("no failures are read")
	}
}

// A test left out counts as a failure, so the list has to name it.
func TestWhatIsLeftOutIsExpectedToFail(t *testing.T) {
	e, err := readExpected("../../expected.txt", "../../../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range suites {
		for _, name := range s.allLeftOut() {
			n++
			if e.reason(s.name, name) == "" {
				t.Errorf("%s: %s is left out, but not expected to fail", s.name, name)
			}
		}
	}
	if n == 0 {
		t.Error("nothing is left out")
	}
}

func TestExpectationsThatCannotBeMetAreRefused(t *testing.T) {
	page := write(t, "# Differences\n\n| **A b\nc.** |\n")
	for text, want := range map[string]string{
		"cache TestA\n":         "want SUITE TEST REASON",
		"\n\ncaches TestA x\n":  ":3: there is no suite",
		"cache TestA **A d**\n": "does not say",
		"cache TestA because\n": "does not say",
	} {
		if _, err := readExpected(write(t, text), page); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
	if _, err := readExpected(write(t, "# x\ncache TestA **A b c.**\n"), page); err != nil {
		t.Error(err)
	}
}

func TestOutputIsJudgedByItsLeaves(t *testing.T) {
	r := results{}
	r.read([]byte(`=== RUN   TestA
--- PASS: TestA (0.01s)
    --- PASS: TestA/one (0.00s)
    --- PASS: TestA/two (0.00s)
--- FAIL: TestB (0.01s)
    --- PASS: TestB/one (0.00s)
    --- FAIL: TestB/two (0.00s)
some log line--- SKIP: TestC (0.00s)
--- FAIL: TestD (0.01s)
    --- PASS: TestD/one (0.00s)
panic: x
`), []string{"TestA", "TestB", "TestC", "TestD", "TestE"}, true)
	pass, fail, skip := r.count()
	if pass != 4 || fail != 3 || skip != 1 {
		t.Errorf("%d pass, %d fail, %d skip, want 4, 3 and 1: %v", pass, fail, skip, r.leaves())
	}
	e := expectations{"s": {"TestB/*": "reason", "TestA/one": "reason", "TestX": "reason"}}
	got := e.compare("s", r, regexp.MustCompile("Test[A-F]"))
	want := []string{
		"UNEXPECTED: TestA/one does not fail; take it from expected.txt",
		"UNEXPECTED: TestD fails",
		"UNEXPECTED: TestE fails",
		"as expected, TestB/two fails: reason",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestProcessThatFailsBehindItsTestsIsAFailure(t *testing.T) {
	for _, names := range [][]string{{"TestA"}, {"TestA", "TestB"}} {
		output := []byte("--- PASS: TestA (0.01s)\n--- PASS: TestB (0.01s)\nPASS\nfound unexpected goroutines\n")
		r := results{}
		r.read(output, names, false)
		if _, fail, _ := r.count(); fail != 0 {
			t.Errorf("%v, a process that ends well: %v", names, r)
		}
		r = results{}
		r.read(output, names, true)
		if _, fail, _ := r.count(); fail != 1 {
			t.Errorf("%v, a process that fails: %v", names, r)
		}
	}
}

func TestFunctionsAreCutWithTheirImports(t *testing.T) {
	path := write(t, `package p

import (
	"a/kept"
	"b/gone"
	other "c/named"
	"d/version/v2"
)

// F uses more than G.
func F() { gone.X(); kept.X(); other.X() }

func G() { kept.Y(version.Z) }
`)
	if err := rewrite(path, func(f *file) error { f.cut([]string{"F"}); return nil }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"package", "p", "import", "(", `"a/kept"`, `"d/version/v2"`, ")", "func", "G()", "{", "kept.Y(version.Z)", "}"}
	if d := cmp.Diff(want, strings.Fields(string(text))); d != "" {
		t.Error(d)
	}
	err = rewrite(path, func(f *file) error { f.cut([]string{"G", "H"}); return nil })
	if err == nil || !strings.Contains(err.Error(), "no function H") {
		t.Errorf("what is not there is not named: %v", err)
	}
}

func TestEditsStandWhereTheyShould(t *testing.T) {
	path := write(t, `package p

import (
	"x/flow"
	"time"
)

type T struct {
	a int
}

func New() *T { return &T{} }

func (t *T) Run(d time.Duration, b flow.B, c flow.C) {
	var flow2 flow.B
}
`)
	if err := rewrite(path, func(f *file) error {
		f.startOf("", "New", "before()")
		f.startOf("T", "Run", "if t.ours { return }")
		f.addField("T", "ours bool")
		return f.requalify("x/flow", "y/flow", "B")
	}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `package p

import (
	restartflowcontrol "y/flow"
	"x/flow"
	"time"
)

type T struct {
	ours bool

	a int
}

func New() *T {
	before()
	return &T{}
}

func (t *T) Run(d time.Duration, b restartflowcontrol.B, c flow.C) {
	if t.ours {
		return
	}

	var flow2 restartflowcontrol.B
}
`
	squeeze := func(s string) []string {
		lines := slices.DeleteFunc(strings.Split(s, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
		slices.Sort(lines[2:min(5, len(lines))]) // the formatter sorts imports
		return lines
	}
	if d := cmp.Diff(squeeze(want), squeeze(string(text))); d != "" {
		t.Error(d)
	}
	err = rewrite(path, func(f *file) error {
		f.startOf("", "Run", "x()")
		f.addField("U", "x int")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "no function Run, no struct U") {
		t.Errorf("what is not there is not named: %v", err)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
