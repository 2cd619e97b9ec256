// Package bench measures candidates against one another in one process and
// judges the results by goals that a program can check.
//
// A [Row] is one thing to measure. Its candidates, ours first, take turns: each
// round samples every candidate once, in an order that shifts by one per round.
// The judged figure is the median over the rounds of the ratio within a round,
// because within a round both sides had the same neighbours on the machine. The
// report prints the medians of the absolute values beside it for orientation.
//
// To add a row:
//
//  1. Write a function that returns a []bench.Row (in package peers:
//     backoffRows and its like) and list it in peers.Rows.
//  2. Give the row its Package, a Name that a regular expression can pick, and
//     candidates of one kind: [Time], [Parallel] or [Fresh] for ns/op and
//     allocations, [Heap] for bytes held, [Stall] for the longest stall of a
//     concurrent call, [Value] for any other number.
//  3. A candidate's setup is not timed and returns the function to sample. It gets
//     short=true under -short: use smaller sizes then.
//  4. Give it goals: [Ratio] and [Times] against a named candidate, [AtMost] and
//     [Allocs] for our own figures, [Within] to show that a peer measures what it
//     should; Goal.For judges another candidate.
//  5. If a goal may be missed, name the limit that stands in the way and what was
//     tried in the row's Note. The report prints it if the goal is missed.
//  6. go run ./cmd/peerbench -short -only 'the name'
package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Row is one thing to measure.
type Row struct {
	Package    string      // the package of ours that it measures
	Name       string      // unique within the package
	Candidates []Candidate // ours first, all of one unit
	Goals      []Goal
	Note       string // printed if a goal is missed: which limit stands in the way, and what was tried
	Rounds     int    // at most so many rounds, for rows whose rounds are slow and steady; 0: as many as asked for
}

// ID is the package and the name, which -list prints and patterns select by.
func (r Row) ID() string { return r.Package + "/" + r.Name }

// String is the row's ID and its goals.
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

// Validate reports mistakes that would make the row's measurement meaningless.
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

// unit is the unit of all the row's candidates.
func (r Row) unit() Unit {
	if len(r.Candidates) == 0 {
		return ""
	}
	return r.Candidates[0].unit
}

// index is the position of the candidate of that name, -1 if there is none. The
// empty name is the first candidate.
func (r Row) index(name string) int {
	if name == "" {
		return 0
	}
	return slices.IndexFunc(r.Candidates, func(c Candidate) bool { return c.name == name })
}
