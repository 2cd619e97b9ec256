package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// exploreLimit bounds the exploration of a mutant with a number of faults.
const exploreLimit = 5 * time.Minute

// exploreChosen explores the Jobs of conformance/explore under each chosen mutation of
// package jobpolicy, and prints a table.
func exploreChosen(packages []string, _ draw, what string, write bool) error {
	if len(packages) > 0 {
		return errors.New("-explore takes no packages: it tries jobpolicy")
	}
	mutations, err := readMutations(listOf("conformance/mutants", "jobpolicy"))
	if err != nil {
		return err
	}
	var table strings.Builder
	table.WriteString("| broken | invariant | faults | steps |\n|---|---|---|---|\n")
	fmt.Print(table.String())
	for _, m := range mutations {
		if strings.Contains(m.file, "/") || !strings.Contains(m.what, what) {
			continue // of another package
		}
		row, err := m.explore()
		if err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		fmt.Print(row)
		table.WriteString(row)
	}
	if write {
		return insert("conformance/explore/README.md", table.String())
	}
	return nil
}

// explore returns the row of the mutation.
func (m mutation) explore() (string, error) {
	path := filepath.Join("jobpolicy", m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	mutated, err := m.apply(text)
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
			return fmt.Sprintf("| %s (`%s`) | %s | %d | %d |\n", m.what, m.file, found.invariant, faults, found.steps), nil
		}
	}
	return fmt.Sprintf("| %s (`%s`) | none | | |\n", m.what, m.file), nil
}

// breach is a broken invariant, "" for none, after a number of steps.
type breach struct {
	invariant string
	steps     int
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
	for _, row := range breachRow.FindAllSubmatch(out, -1) {
		if steps, _ := strconv.Atoi(string(row[2])); found.invariant == "" || steps < found.steps {
			found = breach{string(row[1]), steps}
		}
	}
	var exit *exec.ExitError
	switch {
	case found.invariant != "" || err == nil || ctx.Err() != nil:
		return found, nil
	case errors.As(err, &exit):
		return found, fmt.Errorf("%w:\n%s", err, exit.Stderr)
	}
	return found, err
}
