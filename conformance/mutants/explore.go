package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// exploreLimit bounds the exploration of a mutant with a number of faults.
const exploreLimit = 5 * time.Minute

// explorers are the packages whose mutants are explored, with the document that holds
// their table, and the function that returns the cells of a row.
var explorers = []struct {
	document, head string
	packages       []string
	explore        func(m mutation, pkg string) (cells string, err error)
}{
	{"conformance/explore/README.md", "| broken | invariant | faults | steps |\n|---|---|---|---|\n", []string{"jobpolicy"}, mutation.exploreJobs},
	{"conformance/explore/pleg.md", "| broken | guarantee | steps |\n|---|---|---|\n", []string{"pleg", "pleg/statuscache"}, mutation.exploreTest},
}

// exploreChosen explores the chosen mutations of the packages, all if there are none,
// and prints a table.
func exploreChosen(packages []string, _ draw, what string, write bool) error {
	if err := explorable(packages); err != nil {
		return err
	}
	for _, e := range explorers {
		var table strings.Builder
		for _, pkg := range e.packages {
			if len(packages) > 0 && !slices.Contains(packages, pkg) {
				continue
			}
			mutations, err := readMutations(listOf("conformance/mutants", pkg))
			if err != nil {
				return err
			}
			for _, m := range mutations {
				if strings.Contains(m.file, "/") || !strings.Contains(m.what, what) {
					continue // of another package
				}
				cells, err := e.explore(m, pkg)
				if err != nil {
					return fmt.Errorf("%s: %w", m.what, err)
				}
				if table.Len() == 0 {
					fmt.Print(e.head)
				}
				row := fmt.Sprintf("| %s (`%s`) | %s |\n", m.what, m.file, cells)
				fmt.Print(row)
				table.WriteString(row)
			}
		}
		if write && table.Len() > 0 {
			if err := insert(e.document, e.head+table.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// explorable returns an error if the mutants of a package cannot be explored.
func explorable(packages []string) error {
	var all []string
	for _, e := range explorers {
		all = append(all, e.packages...)
	}
	for _, pkg := range packages {
		if !slices.Contains(all, pkg) {
			return fmt.Errorf("-explore: no mutants of %q to explore, only those of %s", pkg, strings.Join(all, ", "))
		}
	}
	return nil
}

// breach is a broken invariant, "" for none, after a number of steps.
type breach struct {
	invariant string
	steps     int
}

// shortest returns the breach with the fewest steps among the matches of a pattern,
// whose groups are an invariant and a number of steps.
func shortest(pattern *regexp.Regexp, out []byte) (found breach) {
	for _, m := range pattern.FindAllSubmatch(out, -1) {
		if steps, _ := strconv.Atoi(string(m[2])); found.invariant == "" || steps < found.steps {
			found = breach{string(m[1]), steps}
		}
	}
	return found
}

// exploreJobs explores Jobs under a mutation of package jobpolicy.
func (m mutation) exploreJobs(pkg string) (cells string, err error) {
	path, mutated, err := m.mutated(pkg)
	if err != nil {
		return "", err
	}
	overlayFile, remove, err := overlay(path, mutated)
	if err != nil {
		return "", err
	}
	defer remove()
	program := filepath.Join(filepath.Dir(overlayFile), "explore")
	if out, err := exec.Command("go", "build", "-overlay", overlayFile, "-o", program, "./conformance/explore").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w:\n%s", errBuild, out)
	}
	for faults := range 3 {
		found, err := exploreWith(program, faults)
		if err != nil {
			return "", err
		}
		if found.invariant != "" {
			return fmt.Sprintf("%s | %d | %d", found.invariant, faults, found.steps), nil
		}
	}
	return "none | | ", nil
}

var testBreach = regexp.MustCompile(`(?m)^\s+\w+\.go:\d+: (G\d+): .*, after (\d+) steps:$`)

// exploreTest explores the worlds of the package's test TestExplorations, each up to
// ten times as many states as that test does by default.
func (m mutation) exploreTest(pkg string) (cells string, err error) {
	path, mutated, err := m.mutated(pkg)
	if err != nil {
		return "", err
	}
	_, out, err := notice(path, mutated, exploreLimit, "./"+pkg, "-failfast=false", "-run", "^TestExplorations$", "-"+filepath.Base(pkg)+".states=5000")
	if err != nil {
		return "", err
	}
	if found := shortest(testBreach, out); found.invariant != "" {
		return fmt.Sprintf("%s | %d", found.invariant, found.steps), nil
	}
	return "none | ", nil
}

var breachRow = regexp.MustCompile(`\| \*\*(.*)\*\* after (\d+) steps \|`)

// exploreWith explores the Jobs of the table with at most two completions, and returns
// the breach with the fewest steps. With two faults it visits no Job completely.
func exploreWith(program string, faults int) (found breach, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), exploreLimit)
	defer cancel()
	args := []string{"-faults", strconv.Itoa(faults), "-completions", "2"}
	if faults > 1 {
		args = append(args, "-first", "-states", "150000") // the whole table takes minutes
	}
	out, err := exec.CommandContext(ctx, program, args...).Output()
	found = shortest(breachRow, out)
	var exit *exec.ExitError
	switch {
	case found.invariant != "" || err == nil || ctx.Err() != nil:
		return found, nil
	case errors.As(err, &exit):
		return found, fmt.Errorf("%w:\n%s", err, exit.Stderr)
	}
	return found, err
}
