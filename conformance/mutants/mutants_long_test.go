//go:build long

package main

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const source = `package p

type T[K any] struct{ n int }

func (t *T[K]) first(list []int) (found int, err error) {
	for i, n := range list {
		if n == 3 {
			continue
		}
		if i < 2 && !odd(n) {
			t.n += i
			return n, nil
		}
	}
	less := func(a, b int) bool { return a >= b }
	_ = less
	return 7, failure // at the end
}

func kind(n int) string {
	switch {
	case n > 0:
		return "positive"
	default:
		println("other")
	}
	return ""
}

func wait() time.Duration { return 0 }
`

func TestFindsEveryKindOfMutant(t *testing.T) {
	mutants, err := find("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutants {
		line, _, _ := strings.Cut(string(m.mutated()[bytes.LastIndexByte(m.text[:m.from], '\n')+1:]), "\n")
		got = append(got, m.function+": "+m.kind+": "+strings.TrimSpace(line))
	}
	for _, want := range []string{
		"(*T).first: == to !=: if n != 3 {",
		"(*T).first: continue to break: break",
		"(*T).first: < to >=: if i >= 2 && !odd(n) {",
		"(*T).first: < to <=: if i <= 2 && !odd(n) {",
		"(*T).first: && to ||: if i < 2 || !odd(n) {",
		"(*T).first: negated: if i < 2 && odd(n) {",
		"(*T).first: negated: if !(i < 2 && !odd(n)) {",
		"(*T).first: += to -=: t.n -= i",
		"(*T).first: statement dropped: return n, nil",
		"(*T).first: statement dropped: _ = less",
		"(*T).first: statement dropped: }",
		"(*T).first: returned value zeroed: return 0, nil",
		"(*T).first: returned value zeroed: less := func(a, b int) bool { return false }",
		"(*T).first: returned value zeroed: return 0, failure // at the end",
		"(*T).first: returned value zeroed: return 7, nil // at the end",
		"kind: case dropped: default:",
		"kind: case dropped: }",
		"kind: > to >=: case n >= 0:",
		`kind: returned value zeroed: return ""`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("missing: %s", want)
		}
	}
	if slices.ContainsFunc(got, func(m string) bool { return strings.HasPrefix(m, "wait: returned value zeroed") }) {
		t.Error("0 of a named type is replaced")
	}
	if t.Failed() {
		t.Logf("found:\n%s", strings.Join(got, "\n"))
	}
}

// Every tenth mutant of the library is another text, and Go.
func TestMutantsOfTheLibraryParse(t *testing.T) {
	inRoot(t)
	packages, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range packages {
		s := sample{pkg: pkg}
		if err := s.prepare(); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(s.all); i += 10 {
			m := s.all[i]
			if _, err := parser.ParseFile(token.NewFileSet(), m.file, m.mutated(), 0); err != nil || bytes.Equal(m.mutated(), m.text) {
				t.Fatalf("%v: %s", err, m.entry(pkg))
			}
		}
		t.Logf("%s: %d mutants", pkg, len(s.all))
	}
}

func TestListsFitTheLibrary(t *testing.T) {
	inRoot(t)
	packages, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range packages {
		list := listOf("conformance/mutants", pkg)
		chosen, err := readMutations(list)
		if err != nil {
			t.Fatal(err)
		}
		tests := testNames(t, pkg)
		for _, m := range chosen {
			if m.test != "" && !slices.Contains(tests, m.test) {
				t.Errorf("%s: %s: package %s has no %s", list, m.what, pkg, m.test)
			}
			text, err := os.ReadFile(filepath.Join(pkg, m.file))
			if err == nil {
				_, err = m.apply(text)
			}
			if err != nil {
				t.Errorf("%s: %s: %v", list, m.what, err)
			}
		}
		s := sample{pkg: pkg}
		if err := s.prepare(); err != nil {
			t.Fatal(err)
		}
		for _, fault := range s.faults {
			t.Error(fault)
		}
	}
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

func testNames(t *testing.T, pkg string) (names []string) {
	files, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range testFunction.FindAllSubmatch(text, -1) {
			names = append(names, string(found[1]))
		}
	}
	return names
}

// For each guarantee of pleg.Generator there is a mutant that its checker notices.
func TestEveryGuaranteeHasAMutant(t *testing.T) {
	inRoot(t)
	chosen, err := readMutations(listOf("conformance/mutants", "pleg"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 13 {
		if g := fmt.Sprintf("G%d: ", i+1); !slices.ContainsFunc(chosen, func(m mutation) bool {
			return strings.HasPrefix(m.what, g) && m.test != ""
		}) {
			t.Errorf("no mutant of %s", g)
		}
	}
}

func inRoot(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
}

// What is printed of a survivor can be put into the list of equivalents.
func TestEntryReadsBack(t *testing.T) {
	mutants, err := find("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		entry := strings.TrimRight(m.entry("p"), "\n")
		read, ok := parseMutation(entry)
		if !ok {
			t.Fatalf("not read:\n%s", entry)
		}
		if got, err := read.apply(m.text); err != nil || !bytes.Equal(got, m.mutated()) {
			t.Fatalf("%v: of\n%s\ncame\n%s", err, entry, got)
		}
	}
}

// A line that is no more, or stands more than once, is no key to a mutant.
func TestEntryMustStandOnce(t *testing.T) {
	for _, block := range []string{
		"# gone\np.go\n-\tgone\n+\there",
		"# twice\np.go\n-\t\t}\n+\t\t",
		"# the end of a line only\np.go\n-n == 3 {\n+n == 4 {",
	} {
		m, ok := parseMutation(block)
		if !ok {
			t.Fatal(block)
		}
		if _, err := m.apply([]byte(source)); err == nil {
			t.Errorf("applied: %s", block)
		}
	}
}

func TestStaleEquivalentIsReported(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("conformance/mutants/equivalent", 0o755); err != nil {
		t.Fatal(err)
	}
	list := "# fits\np.go\n-\t\tif n == 3 {\n+\t\tif n != 3 {\n\n# not a mutant\np.go\n-\t\tif n == 3 {\n+\t\tif n == 4 {\n\n# of no file\nq.go\n-a\n+b\n"
	if err := os.WriteFile("conformance/mutants/equivalent/p.txt", []byte(list), 0o644); err != nil {
		t.Fatal(err)
	}
	text := []byte(source)
	all, err := find("p.go", text)
	if err != nil {
		t.Fatal(err)
	}
	s := sample{pkg: "p", all: all}
	if err := s.readEquivalent(map[string][]byte{"p.go": text}); err != nil {
		t.Fatal(err)
	}
	if len(s.equivalent) != 1 || len(s.faults) != 2 {
		t.Errorf("%d equivalents, faults %q", len(s.equivalent), s.faults)
	}
}

func TestOnlySomePackagesAreExplored(t *testing.T) {
	for _, packages := range [][]string{nil, {"jobpolicy"}, {"pleg", "pleg/statuscache"}} {
		if err := explorable(packages); err != nil {
			t.Errorf("%q: %v", packages, err)
		}
	}
	if err := explorable([]string{"pleg", "backoff"}); err == nil || !strings.Contains(err.Error(), `"backoff"`) {
		t.Errorf("backoff: %v", err)
	}
}
