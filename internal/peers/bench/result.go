package bench

import (
	"fmt"
	"io"
	"strings"
)

// Result is a row with what every run measured.
type Result struct {
	Row  Row
	runs []measurement
}

// Run measures the rows one after the other, all of them o.Runs times. It reports
// each row to started before it measures it, and its result so far to finished.
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

// verdict is how one goal of a row came out.
type verdict struct {
	Ours, Theirs string // names where needed, medians
	Figure       string // what was judged; the range over the runs if it differs
	Goal         string
	Missed, Runs int
}

// Met reports whether every run met the goal.
func (v verdict) Met() bool { return v.Missed == 0 }

func (v verdict) String() string {
	switch {
	case v.Met():
		return "met"
	case v.Runs == 1:
		return "MISSED"
	}
	return fmt.Sprintf("MISSED in %d of %d", v.Missed, v.Runs)
}

// verdicts judges every goal of the row.
func (r Result) verdicts() []verdict {
	all := make([]verdict, len(r.Row.Goals))
	for i, g := range r.Row.Goals {
		all[i] = r.judge(g)
	}
	return all
}

// judge is the verdict on one goal.
func (r Result) judge(g Goal) verdict {
	v := verdict{
		Ours: r.show(r.Row.index(g.of), g.of != ""),
		Goal: g.text(r.Row.unit()),
		Runs: len(r.runs),
	}
	switch {
	case g.relative():
		v.Theirs = r.show(r.Row.index(g.against), true)
	case g.kind != allocsAtMost: // for orientation
		v.Theirs = r.showAllBut(r.Row.index(g.of))
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

// show prints a candidate's medians over the runs.
func (r Result) show(i int, named bool) string {
	var values, allocs []float64
	for _, m := range r.runs {
		values = append(values, m.value(i))
		allocs = append(allocs, m.allocs(i))
	}
	var b strings.Builder
	if named {
		b.WriteString(r.Row.Candidates[i].name + ": ")
	}
	b.WriteString(r.Row.unit().format(median(values)))
	if r.Row.unit() == timePerOp {
		b.WriteString(", " + formatAllocs(median(allocs)))
	}
	return b.String()
}

// showAllBut prints the medians of all other candidates.
func (r Result) showAllBut(i int) string {
	var others []string
	for j := range r.Row.Candidates {
		if j != i {
			others = append(others, r.show(j, true))
		}
	}
	return strings.Join(others, "; ")
}

// WriteText prints the row's verdicts as lines of plain text.
func (r Result) WriteText(w io.Writer) {
	fmt.Fprintln(w, r.Row.ID())
	for _, v := range r.verdicts() {
		fmt.Fprintf(w, "    %-10s %s (%s)   %s", v, v.Figure, v.Goal, v.Ours)
		if v.Theirs != "" {
			fmt.Fprintf(w, "   %s", v.Theirs)
		}
		fmt.Fprintln(w)
	}
}
