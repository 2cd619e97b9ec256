package main

import (
	"fmt"
	"io"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/chart"
	"github.com/restartkit/restart/cmd/internal/picture"
	"github.com/restartkit/restart/cmd/internal/preset"
	"github.com/restartkit/restart/cmd/internal/terminal"
)

// printFigure prints the tables of a figure.
func printFigure(w io.Writer, f *figure) {
	title := f.title
	if f.name != "" {
		title = fmt.Sprintf("KEP-4603, %s: %s", f.name, f.title)
	}
	fmt.Fprintln(w, title)
	t := &table{columns: len(f.curves)}
	t.row("", func(i int) string { return f.curves[i].name })
	t.row("delays", func(i int) string { return f.curves[i].describe() })
	f.runRows(t)
	t.print(w)

	fmt.Fprintf(w, "\n%s%s\n", f.counted(), f.excessTitle())
	t = &table{columns: len(f.curves)}
	f.windowRows(t, func(c curve, from, to time.Duration) float64 { return f.shown(c).restarts(from, to) })
	t.row("in the long run", func(i int) string { return f.steadyText(f.curves[i]) })
	t.print(w)
	if !f.api {
		return
	}

	fmt.Fprintf(w, "\nAPI requests of %d pods, %d per restart%s\n", f.pods, f.requests, f.excessTitle())
	t = &table{columns: len(f.curves)}
	f.windowRows(t, func(c curve, from, to time.Duration) float64 { return f.requestsOf(c) * c.restarts(from, to) })
	t.row("busiest 10s", func(i int) string {
		return f.cell(i, func(c curve) float64 { return f.requestsOf(c) * c.busiest(10*second) })
	})
	t.row("in the long run, per second", func(i int) string {
		return picture.Number(f.requestsOf(f.curves[i]) * f.curves[i].steadyRate())
	})
	t.print(w)
}

// counted says what is counted.
func (f *figure) counted() string {
	if f.mixed {
		return fmt.Sprintf("Restarts of all %d pods", f.pods)
	}
	return "Restarts of one pod"
}

func (f *figure) excessTitle() string {
	if len(f.curves) < 2 {
		return ""
	}
	return fmt.Sprintf("; in brackets the excess over %q", f.curves[f.baseline].name)
}

// runRows says how long the runs of each curve last, if that is not 0 for all.
func (f *figure) runRows(t *table) {
	if f.mixed {
		for g, what := range []string{"crash at once", "end with success"} {
			t.row(what, func(i int) string {
				group := f.curves[i].groups[g]
				return fmt.Sprintf("%d pods, runs of %s", group.pods, picture.Duration(group.run))
			})
		}
		return
	}
	for _, c := range f.curves {
		if c.groups[0].run != 0 {
			t.row("runs of", func(i int) string { return picture.Duration(f.curves[i].groups[0].run) })
			return
		}
	}
}

// windowRows counts something of each curve, per window.
func (f *figure) windowRows(t *table, count func(c curve, from, to time.Duration) float64) {
	from := time.Duration(-1) // the first window includes its start
	row := func(name string, from, to time.Duration) {
		t.row(name, func(i int) string {
			return f.cell(i, func(c curve) float64 { return count(c, from, to) })
		})
	}
	for _, to := range f.windows {
		row(fmt.Sprintf("%s to %s", picture.Duration(max(from, 0)), picture.Duration(to)), from, to)
		from = to
	}
	if len(f.windows) > 1 {
		row("0s to "+picture.Duration(from), -1, from)
	}
}

// cell is a count of a curve, with its excess over the baseline.
func (f *figure) cell(i int, count func(curve) float64) string {
	n := count(f.curves[i])
	if i == f.baseline {
		return picture.Number(n)
	}
	return fmt.Sprintf("%s (%s)", picture.Number(n), signed(n-count(f.curves[f.baseline])))
}

// steadyText says how often a curve's pods are restarted in the long run.
func (f *figure) steadyText(c curve) string {
	switch {
	case f.mixed:
	case c.givenUp(c.groups[0]):
		return "never: it has given up"
	default:
		return "every " + picture.Duration(c.steady(c.groups[0]))
	}
	return fmt.Sprintf("%s per second", picture.Number(c.steadyRate()))
}

// describe is the policy of a curve in a few words.
func (c curve) describe() string {
	p := c.policy
	text := picture.Duration(p.Initial) + " to " + picture.Duration(p.Max)
	if p.Initial == p.Max {
		text = "always " + picture.Duration(p.Max)
	}
	if p.Factor != 0 && p.Factor != 2 && p.Initial != p.Max {
		text += ", factor " + chart.Digits(p.Factor)
	}
	if p.FreeFailures > 0 {
		text += fmt.Sprintf(", %d free", p.FreeFailures)
	}
	switch reset := p.ResetThreshold(); reset {
	case backoff.CrashLoop().ResetAfter:
	case preset.Never:
		text += ", never reset"
	default:
		text += ", reset after " + picture.Duration((reset + 1).Round(time.Millisecond)) // one less than a round number is "not below it"
	}
	if c.limit.Starts > 0 {
		text += fmt.Sprintf(", gives up after %d starts in %s", c.limit.Starts, picture.Duration(c.limit.Within))
	}
	return text
}

func signed(n float64) string {
	if n < 0 {
		return "-" + picture.Number(-n)
	}
	return "+" + picture.Number(n)
}

// table gathers rows of a name and a cell per column, and aligns them.
type table struct {
	columns int
	rows    [][]string
}

func (t *table) row(name string, cell func(i int) string) {
	cells := []string{"  " + name}
	for i := range t.columns {
		cells = append(cells, cell(i))
	}
	t.rows = append(t.rows, cells)
}

func (t *table) print(w io.Writer) {
	for _, line := range terminal.Align(t.rows, 3) {
		fmt.Fprintln(w, line)
	}
}
