// Package bench measures candidates against one another in one process and judges the
// results by goals.
//
// A [Row] is one measurement. Its candidates, ours first, take turns. Each round
// samples every candidate once, in an order that shifts by one per round. Goals judge
// the median of the ratios within each round, because both sides of a round share the
// same load on the machine. The report also prints the medians of the absolute values.
//
// To add a row:
//
//  1. Write a function that returns a []bench.Row, like backoffRows in package peers, and
//     list it in peers.Rows.
//  2. Give the row its Package, a Name that a regular expression can select, and
//     candidates of one kind: [Time], [Parallel] or [Fresh] for ns/op and
//     allocations, [Heap] for bytes held, [Stall] for the longest stall of a
//     concurrent call, [Value] for any other number.
//  3. A candidate's setup is not timed and returns the function to sample. If short is
//     set, by -short, use smaller sizes.
//  4. Give it goals: [Ratio] and [Times] against a named candidate, [AtMost] and
//     [Allocs] for our own figures, [Within] to show that a peer measures as expected.
//     Goal.For judges another candidate.
//  5. If a goal may be missed, explain the limit and the attempts in the row's Note, which
//     the report then prints.
//  6. Run go run ./cmd/peerbench -short -only 'the name'
package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Row is one measurement.
type Row struct {
	Package    string      // the package measured
	Name       string      // unique within the package
	Candidates []Candidate // ours first, all with one unit
	Goals      []Goal
	Note       string // printed if a goal is missed; explains the limit and lists attempts
	Rounds     int    // limit on rounds, for rows with slow and steady rounds; 0 means no limit
}

// ID returns the package and the name, which -list prints and patterns select by.
func (r Row) ID() string { return r.Package + "/" + r.Name }

// String returns the row's ID and its goals.
func (r Row) String() string {
	demands := make([]string, len(r.Goals))
	for i, g := range r.Goals {
		demands[i] = g.text(r.unit())
		if g.relative() {
			demands[i] += " " + g.against
		}
		if g.of != "" {
			demands[i] = g.of + " " + demands[i]
		}
	}
	return r.ID() + ": " + strings.Join(demands, "; ")
}

// Validate returns mistakes that would make the row meaningless.
func (r Row) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("bench: row %q: %s", r.ID(), fmt.Sprintf(format, args...)))
	}
	if r.Package == "" || r.Name == "" {
		bad("package or name is empty")
	}
	if len(r.Candidates) == 0 {
		bad("no candidates")
	}
	if len(r.Goals) == 0 {
		bad("no goals")
	}
	for i, c := range r.Candidates {
		if c.unit != r.unit() {
			bad("candidate %q is measured in %s, the first in %s", c.name, c.unit, r.unit())
		}
		if r.index(c.name) != i {
			bad("two candidates are named %q", c.name)
		}
	}
	for _, g := range r.Goals {
		for _, name := range []string{g.of, g.against} {
			if name != "" && r.index(name) < 0 {
				bad("goal %s names %q, which is no candidate", g.text(r.unit()), name)
			}
		}
		if g.relative() && g.against == "" {
			bad("goal %s compares with nobody", g.text(r.unit()))
		}
		if g.kind == allocsAtMost && r.unit() != timePerOp {
			bad("only timed rows count allocations")
		}
	}
	return errors.Join(errs...)
}

// unit returns the unit of the row's candidates.
func (r Row) unit() Unit {
	if len(r.Candidates) == 0 {
		return ""
	}
	return r.Candidates[0].unit
}

// index returns the position of the named candidate, or -1 if it is missing. The empty
// name means the first candidate.
func (r Row) index(name string) int {
	if name == "" {
		return 0
	}
	return slices.IndexFunc(r.Candidates, func(c Candidate) bool { return c.name == name })
}
