package bench

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Result is a row with the measurements of every run.
type Result struct {
	Row  Row
	runs []measurement
}

// Run measures all rows in turn, o.Runs times. It calls started before measuring a row,
// and finished with the row's result so far.
func Run(rows []Row, o Options, started func(run, row int), finished func(run int, r Result)) []Result {
	results := make([]Result, len(rows))
	for run := range max(1, o.Runs) {
		for i, row := range rows {
			started(run, i)
			results[i].Row = row
			results[i].runs = append(results[i].runs, measure(row, o))
			finished(run, results[i])
		}
	}
	return results
}

// verdict is the outcome of one goal of a row.
type verdict struct {
	Ours, Theirs string // names where needed, medians
	Allocs       string // of ours and of theirs, per operation
	Figure       string // the figure judged, or its range if it differs between runs
	Goal         string
	Missed, Runs int
}

// Met reports whether every run met the goal.
func (v verdict) Met() bool { return v.Missed == 0 }

func (v verdict) String() string {
	switch {
	case v.Goal == "":
		return ""
	case v.Met():
		return "met"
	case v.Runs == 1:
		return "MISSED"
	}
	return fmt.Sprintf("MISSED in %d of %d", v.Missed, v.Runs)
}

// verdicts judges all goals of the row.
func (r Result) verdicts() []verdict {
	all := make([]verdict, len(r.Row.Goals))
	for i, g := range r.Row.Goals {
		all[i] = r.judge(g)
	}
	return all
}

// lines returns the verdicts printed as lines. Goals for allocations have no line,
// because the other lines show them in a column. A row without other goals gets one
// line without a judged figure.
func (r Result) lines() []verdict {
	var lines []verdict
	for i, v := range r.verdicts() {
		if r.Row.Goals[i].kind != allocsAtMost {
			lines = append(lines, v)
		}
	}
	if lines == nil {
		lines = []verdict{{Ours: r.show(0, false), Theirs: r.showAllBut(0), Allocs: r.showAllocs(0, min(1, len(r.Row.Candidates)-1))}}
	}
	return lines
}

// judge returns the verdict on one goal.
func (r Result) judge(g Goal) verdict {
	v := verdict{
		Ours: r.show(r.Row.index(g.of), g.of != ""),
		Goal: g.text(r.Row.unit()),
		Runs: len(r.runs),
	}
	of := r.Row.index(g.of)
	switch {
	case g.relative():
		v.Theirs = r.show(r.Row.index(g.against), true)
		v.Allocs = r.showAllocs(of, r.Row.index(g.against))
	case g.kind != allocsAtMost: // others are shown for orientation
		v.Theirs = r.showAllBut(of)
		v.Allocs = r.showAllocs(of, of)
	}
	var best, worst float64
	for run, m := range r.runs {
		figure := g.figure(r.Row, m)
		if !g.met(figure) {
			v.Missed++
		}
		if run == 0 || g.miss(figure) < g.miss(best) {
			best = figure
		}
		if run == 0 || g.miss(figure) > g.miss(worst) {
			worst = figure
		}
	}
	u := r.Row.unit()
	v.Figure = g.format(worst, u)
	if other := g.format(best, u); other != v.Figure {
		v.Figure = other + " … " + v.Figure
	}
	return v
}

// show formats the median over the runs of a candidate's values.
func (r Result) show(i int, named bool) string {
	var values []float64
	for _, m := range r.runs {
		values = append(values, m.value(i))
	}
	text := r.Row.unit().format(median(values))
	if named {
		return r.Row.Candidates[i].name + ": " + text
	}
	return text
}

// showAllocs formats the allocations of candidate i, the limit that a goal sets them,
// in bold if a run exceeded it, and those of candidate j if it is another one.
func (r Result) showAllocs(i, j int) string {
	if r.Row.unit() != timePerOp {
		return ""
	}
	text := r.countAllocs(i)
	for _, g := range r.Row.Goals {
		if g.kind != allocsAtMost || r.Row.index(g.of) != i {
			continue
		}
		if g.limit > 0 {
			text += fmt.Sprintf(" (≤ %v)", g.limit)
		}
		if v := r.judge(g); !v.Met() {
			text = fmt.Sprintf("**%s (≤ %v)**", v.Figure, g.limit)
		}
	}
	if i != j {
		text += " / " + r.countAllocs(j)
	}
	return text
}

// countAllocs formats the median over the runs of a candidate's allocations.
func (r Result) countAllocs(i int) string {
	var allocs []float64
	for _, m := range r.runs {
		allocs = append(allocs, m.allocs(i))
	}
	return strconv.FormatFloat(median(allocs), 'f', 0, 64)
}

// showAllBut formats the medians of all other candidates.
func (r Result) showAllBut(i int) string {
	var others []string
	for j := range r.Row.Candidates {
		if j != i {
			others = append(others, r.show(j, true))
		}
	}
	return strings.Join(others, "; ")
}

// WriteText writes the row's verdicts as lines of plain text.
func (r Result) WriteText(w io.Writer) {
	fmt.Fprintln(w, r.Row.ID())
	for _, v := range r.lines() {
		fmt.Fprintf(w, "    %-10s %s (%s)   %s   %s   allocs %s\n", v, v.Figure, v.Goal, v.Ours, v.Theirs, cmp.Or(v.Allocs, "not counted"))
	}
}
