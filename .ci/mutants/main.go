// Command mutants breaks the library one line at a time and shows which test
// notices. Run it in the root of the repository:
//
//	go run ./.ci/mutants            every mutation of every package
//	go run ./.ci/mutants backoff    those of one package
//	go run ./.ci/mutants -w         and write the table into CONTRIBUTING.md
//
// The mutations of package p stand in .ci/mutants/p.txt, separated by blank
// lines:
//
//	# what it breaks, in a few words
//	file.go
//	-	the line as it is
//	+	the line as it would be
//
// No file is changed: the mutated one is laid over the original for one run of
// the package's tests. The exit code is 1 if a mutation survives.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	write := flag.Bool("w", false, "write the table into CONTRIBUTING.md")
	flag.Parse()
	if err := run(flag.Args(), *write); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// mutation is one line of one file replaced.
type mutation struct {
	pkg, what, file, old, new string
}

func run(packages []string, write bool) error {
	lists, err := filepath.Glob(".ci/mutants/*.txt")
	if err != nil || len(lists) == 0 {
		return fmt.Errorf("no mutations in .ci/mutants (%v); run this in the repository's root", err)
	}
	var table strings.Builder
	table.WriteString("| package | broken | noticed by |\n|---|---|---|\n")
	survivors := 0
	for _, list := range lists {
		pkg := strings.TrimSuffix(filepath.Base(list), ".txt")
		if len(packages) > 0 && !slices.Contains(packages, pkg) {
			continue
		}
		mutations, err := read(list, pkg)
		if err != nil {
			return err
		}
		for _, m := range mutations {
			noticed, err := m.try()
			if err != nil {
				return fmt.Errorf("%s: %s: %w", list, m.what, err)
			}
			if noticed == "" {
				noticed = "**nothing**"
				survivors++
			}
			row := fmt.Sprintf("| %s | %s (`%s`) | `%s` |\n", m.pkg, m.what, m.file, noticed)
			fmt.Print(row)
			table.WriteString(row)
		}
	}
	if write {
		if err := insert("CONTRIBUTING.md", table.String()); err != nil {
			return err
		}
	}
	if survivors > 0 {
		return fmt.Errorf("%d mutations survive", survivors)
	}
	return nil
}

func read(list, pkg string) ([]mutation, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var all []mutation
	for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		lines := strings.Split(block, "\n")
		if len(lines) != 4 || !strings.HasPrefix(lines[0], "# ") || !strings.HasPrefix(lines[2], "-") || !strings.HasPrefix(lines[3], "+") {
			return nil, fmt.Errorf("%s: not a mutation:\n%s", list, block)
		}
		all = append(all, mutation{pkg: pkg, what: lines[0][2:], file: lines[1], old: lines[2][1:], new: lines[3][1:]})
	}
	return all, nil
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// try runs the package's tests over the mutated file and returns the first that
// failed, "" if none did.
func (m mutation) try() (string, error) {
	path, err := filepath.Abs(filepath.Join(m.pkg, m.file))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := bytes.Count(text, []byte(m.old+"\n")); n != 1 {
		return "", fmt.Errorf("the line stands %d times in %s, not once: %s", n, path, m.old)
	}
	scratch, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	mutated := filepath.Join(scratch, "mutated.go")
	if err := os.WriteFile(mutated, bytes.Replace(text, []byte(m.old+"\n"), []byte(m.new+"\n"), 1), 0o644); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: mutated}})
	if err != nil {
		return "", err
	}
	overlayFile := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o644); err != nil {
		return "", err
	}
	// No failed input of a mutant is to be kept for the original.
	test := exec.Command("go", "test", "-overlay", overlayFile, "-timeout", "120s", "./"+m.pkg+"/...", "-rapid.nofailfile")
	out, err := test.CombinedOutput()
	switch {
	case err == nil:
		return "", nil
	case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
		return "", fmt.Errorf("does not build:\n%s", out)
	}
	if found := failedTest.FindSubmatch(out); found != nil {
		return string(found[1]), nil
	}
	if bytes.Contains(out, []byte("panic: test timed out")) {
		return "the tests' time limit", nil
	}
	return "a crash of the tests", nil
}

// insert puts the table between the two marks of a document.
func insert(path, table string) error {
	const first, last = "<!-- mutants -->\n", "<!-- end of mutants -->"
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(text), first)
	_, tail, ok2 := strings.Cut(rest, last)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the table", path)
	}
	return os.WriteFile(path, []byte(head+first+"\n"+table+"\n"+last+tail), 0o644)
}
