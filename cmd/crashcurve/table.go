package main

import (
	"fmt"
	"io"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/chart"
	"github.com/restartkit/restart/cmd/internal/preset"
	"github.com/restartkit/restart/cmd/internal/terminal"
	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// printFigure prints the tables of a figure.
func printFigure(w io.Writer, f *figure) {
	fmt.Fprintln(w, title)
	t := &table{columns: len(f.curves)}
	t.row("", func(i int) string { return f.curves[i].Name })
	t.row("delays", func(i int) string { return describe(f.curves[i]) })
	f.runRows(t)
	t.print(w)

	fmt.Fprintf(w, "\n%s%s\n", f.counted(), f.excessTitle())
	t = &table{columns: len(f.curves)}
	f.windowRows(t, func(c chart.Curve, from, to time.Duration) float64 { return f.shown(c).Restarts(from, to) })
	t.row("in the long run", func(i int) string { return f.steadyText(f.curves[i]) })
	t.print(w)

	fmt.Fprintf(w, "\nAPI requests of %d pods, %d per restart%s\n", f.pods, f.requests, f.excessTitle())
	t = &table{columns: len(f.curves)}
	f.windowRows(t, func(c chart.Curve, from, to time.Duration) float64 {
		return c.Requests(f.requests) * c.Restarts(from, to)
	})
	t.row("busiest 10s", func(i int) string {
		return f.cell(i, func(c chart.Curve) float64 { return c.Requests(f.requests) * c.Busiest(10*second) })
	})
	t.row("in the long run, per second", func(i int) string {
		return picture.Number(f.curves[i].Requests(f.requests) * f.curves[i].SteadyRate())
	})
	t.print(w)
}

// counted returns the title of the restarts table.
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
	return fmt.Sprintf("; in brackets the excess over %q", f.curves[f.baseline].Name)
}

// runRows adds the length of each curve's runs, unless it is 0 for all.
func (f *figure) runRows(t *table) {
	if f.mixed {
		for g, end := range []string{"crash at once", "end with success"} {
			t.row(end, func(i int) string {
				group := f.curves[i].Groups[g]
				return fmt.Sprintf("%d pods, runs of %s", group.Pods, picture.Duration(group.Run))
			})
		}
		return
	}
	for _, c := range f.curves {
		if c.Groups[0].Run != 0 {
			t.row("runs of", func(i int) string { return picture.Duration(f.curves[i].Groups[0].Run) })
			return
		}
	}
}

// windowRows adds one row per window with the curves' counts.
func (f *figure) windowRows(t *table, count func(c chart.Curve, from, to time.Duration) float64) {
	from := time.Duration(-1) // the first window includes its start
	row := func(name string, from, to time.Duration) {
		t.row(name, func(i int) string {
			return f.cell(i, func(c chart.Curve) float64 { return count(c, from, to) })
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

// cell returns the count of a curve, with its excess over the baseline.
func (f *figure) cell(i int, count func(chart.Curve) float64) string {
	n := count(f.curves[i])
	if i == f.baseline {
		return picture.Number(n)
	}
	return fmt.Sprintf("%s (%s)", picture.Number(n), signed(n-count(f.curves[f.baseline])))
}

// steadyText returns how often a curve's pods restart in the long run.
func (f *figure) steadyText(c chart.Curve) string {
	switch {
	case f.mixed:
	case c.GivenUp(c.Groups[0]):
		return "never: it has given up"
	default:
		return "every " + picture.Duration(c.Steady(c.Groups[0]))
	}
	return fmt.Sprintf("%s per second", picture.Number(c.SteadyRate()))
}

// describe returns the policy of a curve in a few words.
func describe(c chart.Curve) string {
	p := c.Policy
	text := chart.Delays(p)
	if p.FreeFailures > 0 {
		text += fmt.Sprintf(", %d free", p.FreeFailures)
	}
	switch reset := p.ResetThreshold(); reset {
	case backoff.CrashLoop().ResetAfter:
	case preset.Never:
		text += ", never reset"
	default:
		text += ", reset after " + picture.Duration((reset + 1).Round(time.Millisecond)) // the threshold is just below a round number
	}
	if c.Limit.Starts > 0 {
		text += fmt.Sprintf(", gives up after %d starts in %s", c.Limit.Starts, picture.Duration(c.Limit.Within))
	}
	return text
}

func signed(n float64) string {
	if n < 0 {
		return "-" + picture.Number(-n)
	}
	return "+" + picture.Number(n)
}

// table collects rows and aligns them. Each row has a name and one cell per column.
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
