package timeline

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/picture"
)

// A strip shows the number of running pods over time by outcome, instead of bars. All
// strips of a chart share one scale.

// column is one pixel column of a strip, with the average number of its pods.
type column struct {
	pods  [OutcomeCount]float64
	seen  [OutcomeCount]bool // even if only for an instant
	waits bool
}

func (c *column) running() (n float64) {
	for _, pods := range c.pods {
		n += pods
	}
	return n
}

// columnWidth is the width of a column in pixels.
const columnWidth = 2

// stripOrder lists the outcomes from the bottom up. Failures are at the bottom, where
// even a few are visible.
var stripOrder = [OutcomeCount]Outcome{OutcomeLast, OutcomeFailed, OutcomeIgnored, OutcomeTerminated, OutcomeUnfinished, OutcomeSucceeded}

// columns returns the columns of a strip, or nil for a row with bars.
func (d *drawing) columns(r *Row) []column {
	if r.Strip == nil {
		return nil
	}
	all := make([]column, max(int((d.right-d.left)/columnWidth), 1))
	until := d.until()
	for _, b := range r.Strip {
		if b.From > until {
			continue
		}
		outcome, to := b.Outcome, b.To
		if to > until {
			outcome, to = OutcomeUnfinished, until
		}
		d.spread(all, b.From, to, func(c *column, part float64) {
			c.pods[outcome] += part
			c.seen[outcome] = true
		})
	}
	for _, w := range r.Waits {
		if w.From <= until {
			d.spread(all, w.From, min(w.To, until), func(c *column, _ float64) { c.waits = true })
		}
	}
	return all
}

// spread calls add for each column in a period, with the fraction of the column covered
// by the period.
func (d *drawing) spread(all []column, from, to time.Duration, add func(c *column, part float64)) {
	scale := float64(len(all)) / float64(d.chart.Length)
	a, b := float64(from)*scale, float64(to)*scale
	first, last := min(int(a), len(all)-1), min(int(b), len(all)-1)
	for i := first; i <= last; i++ {
		add(&all[i], min(b, float64(i+1))-max(a, float64(i)))
	}
}

// strip draws the strip of a row.
func (d *drawing) strip(r *Row, top, bottom float64) {
	columns := d.columns(r)
	height := bottom - top - 2
	ground := make([]float64, len(columns))
	d.stripWaits(columns, bottom-1)
	hover := d.stripHover(r)
	for _, o := range stripOrder {
		level := make([]float64, len(columns))
		for i := range columns {
			level[i] = ground[i]
			if columns[i].seen[o] {
				h := columns[i].pods[o] / max(d.tallest, 1) * height
				level[i] = min(ground[i]+max(h, 1), height)
			}
		}
		style := outcomeStyles[o]
		if style.Pattern != picture.Plain {
			style.Stroke, style.Width = picture.Colour{}, 0 // outlines would hide low areas
		}
		d.stripArea(style, hover, ground, level, bottom-1)
		ground = level
	}
}

// stripArea draws the area between two levels above the row's lower edge.
func (d *drawing) stripArea(s picture.Style, hover string, ground, level []float64, bottom float64) {
	for i := 0; i < len(level); {
		from := i
		for i < len(level) && level[i] > ground[i] {
			i++
		}
		if i == from {
			i++
			continue
		}
		var outline []picture.Point
		for j := from; j < i; j++ {
			outline = append(outline, picture.Point{X: d.column(j), Y: bottom - level[j]}, picture.Point{X: d.column(j + 1), Y: bottom - level[j]})
		}
		for j := i - 1; j >= from; j-- {
			outline = append(outline, picture.Point{X: d.column(j + 1), Y: bottom - ground[j]}, picture.Point{X: d.column(j), Y: bottom - ground[j]})
		}
		d.p.Area(s, hover, outline...)
	}
}

// column returns the left edge of a column.
func (d *drawing) column(i int) float64 { return min(d.left+float64(i*columnWidth), d.right) }

// stripWaits draws a line below the columns with waits.
func (d *drawing) stripWaits(columns []column, y float64) {
	for i := 0; i < len(columns); i++ {
		from := i
		for i < len(columns) && columns[i].waits {
			i++
		}
		if i > from {
			d.p.Line(styleWait, "", picture.Point{X: d.column(from), Y: y}, picture.Point{X: d.column(i), Y: y})
		}
	}
}

// stripHover returns the hover text of a strip.
func (d *drawing) stripHover(r *Row) string {
	var outcomes [OutcomeCount]int
	for _, b := range r.Strip {
		outcomes[b.Outcome]++
	}
	s := fmt.Sprintf("index %d", r.First)
	if r.Indexes > 1 {
		s = fmt.Sprintf("%s, between %d and %d", human.Count(r.Indexes, "index"), r.First, r.Last)
	}
	s += "\n" + human.Count(r.Attempts, "attempt")
	for o, n := range outcomes {
		if n > 0 {
			s += fmt.Sprintf("\n%s %s", human.Thousands(n), Outcome(o))
		}
	}
	if len(r.Waits) > 0 {
		s += "\n" + human.Count(len(r.Waits), "wait")
	}
	return s
}
