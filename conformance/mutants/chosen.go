package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// chosenLimit bounds one run of the tests over a chosen mutation.
const chosenLimit = 2 * time.Minute

// listed returns the packages with chosen mutations.
func listed() ([]string, error) {
	lists, err := filepath.Glob("conformance/mutants/*.txt")
	if err != nil || len(lists) == 0 {
		return nil, fmt.Errorf("no mutations in conformance/mutants (%v); run this in the repository's root", err)
	}
	var packages []string
	for _, list := range lists {
		packages = append(packages, strings.ReplaceAll(strings.TrimSuffix(filepath.Base(list), ".txt"), "-", "/"))
	}
	return packages, nil
}

// listOf returns the file for a package in a folder of lists.
func listOf(folder, pkg string) string {
	return filepath.Join(folder, strings.ReplaceAll(pkg, "/", "-")+".txt")
}

// tryChosen tries the chosen mutations of the packages whose description contains what,
// and prints a table.
func tryChosen(packages []string, what string, write bool) error {
	var table strings.Builder
	table.WriteString("| package | broken | noticed by |\n|---|---|---|\n")
	survivors := 0
	for _, pkg := range packages {
		list := listOf("conformance/mutants", pkg)
		mutations, err := readMutations(list)
		if err != nil {
			return err
		}
		for _, m := range mutations {
			if !strings.Contains(m.what, what) {
				continue
			}
			noticed, err := m.try(pkg)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", list, m.what, err)
			}
			if noticed == "" {
				noticed = "**nothing**"
				survivors++
			}
			row := fmt.Sprintf("| %s | %s (`%s`) | `%s` |\n", pkg, m.what, m.file, noticed)
			fmt.Print(row)
			table.WriteString(row)
		}
	}
	if write {
		if err := insert("conformance/mutants/README.md", table.String()); err != nil {
			return err
		}
	}
	if survivors > 0 {
		return fmt.Errorf("%d mutations survive", survivors)
	}
	return nil
}

// mutation replaces some lines of one file.
type mutation struct {
	what, file, before, after string

	test   string // the test that must notice; "" for any
	output string // text it must print
}

// readMutations reads a list of mutations in the form described in the package comment.
func readMutations(list string) ([]mutation, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var all []mutation
	for block := range strings.SplitSeq(strings.Trim(string(text), "\n"), "\n\n") {
		m, ok := parseMutation(block)
		if !ok {
			return nil, fmt.Errorf("%s: not a mutation:\n%s", list, block)
		}
		all = append(all, m)
	}
	return all, nil
}

func parseMutation(block string) (mutation, bool) {
	lines := strings.Split(block, "\n")
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "# ") {
		return mutation{}, false
	}
	m := mutation{what: lines[0][2:], file: lines[1]}
	lines = lines[2:]
	if required, ok := strings.CutPrefix(lines[0], "? "); ok {
		m.test, m.output, _ = strings.Cut(required, " ")
		lines = lines[1:]
	}
	for _, line := range lines {
		if line == "" {
			return mutation{}, false
		}
		switch text := line[1:] + "\n"; line[0] {
		case ' ':
			m.before += text
			m.after += text
		case '-':
			m.before += text
		case '+':
			m.after += text
		default:
			return mutation{}, false
		}
	}
	return m, m.before != m.after
}

// apply returns the text of the file with the lines replaced.
func (m mutation) apply(text []byte) ([]byte, error) {
	whole := []byte("\n" + m.before)
	if n := bytes.Count(text, whole); n != 1 {
		return nil, fmt.Errorf("these lines stand %d times in %s, not once:\n%s", n, m.file, m.before)
	}
	return bytes.Replace(text, whole, []byte("\n"+m.after), 1), nil
}

// mutated returns the path of the mutation's file in a package, and its mutated text.
func (m mutation) mutated(pkg string) (path string, mutated []byte, err error) {
	path = filepath.Join(pkg, m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	mutated, err = m.apply(text)
	return path, mutated, err
}

// try returns the test that notices the mutation, or "".
func (m mutation) try(pkg string) (string, error) {
	path, mutated, err := m.mutated(pkg)
	if err != nil {
		return "", err
	}
	if m.test == "" {
		packages, err := drawing(pkg)
		if err != nil {
			return "", err
		}
		noticed, _, err := notice(path, mutated, chosenLimit, append(packages, "-rapid.nofailfile")...)
		return noticed, err
	}
	noticed, out, err := notice(path, mutated, chosenLimit, "./"+pkg, "-run", "^"+m.test+"$",
		"-rapid.nofailfile", "-rapid.checks=2000", "-rapid.shrinktime=1s")
	if noticed != "" && !bytes.Contains(out, []byte(m.output)) {
		return "", fmt.Errorf("%s fails without saying %q:\n%.3000s", m.test, m.output, out)
	}
	return noticed, err
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

// drawing returns pkg and the packages below it whose tests use rapid. Other tests
// reject rapid's flags.
func drawing(pkg string) (packages []string, err error) {
	err = filepath.WalkDir(pkg, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		p, err := build.ImportDir(path, 0)
		var none *build.NoGoError
		if errors.As(err, &none) {
			return nil
		}
		if err == nil && usesRapid(p) {
			packages = append(packages, "./"+path)
		}
		return err
	})
	return packages, err
}

// usesRapid reports whether the tests of a package use rapid.
func usesRapid(p *build.Package) bool {
	return slices.Contains(append(p.TestImports, p.XTestImports...), "pgregory.net/rapid")
}
