package timeline

import (
	"fmt"
	"math"

	"github.com/restartkit/restart/cmd/internal/picture"
)

// legendLine is one line of the legend.
type legendLine []legendEntry

// legendEntry explains one style.
type legendEntry struct {
	x     float64
	label string
	draw  func(p *picture.Picture, x, y float64)
}

// layLegend selects the legend's entries, only for styles in use, and divides them into
// lines.
func (d *drawing) layLegend() {
	c := d.chart
	var all []legendEntry
	add := func(label string, draw func(p *picture.Picture, x, y float64)) {
		all = append(all, legendEntry{label: label, draw: draw})
	}
	for o, n := range c.Outcomes {
		if n > 0 {
			add(Outcome(o).String(), func(p *picture.Picture, x, y float64) {
				p.Rect(x+0.5, y-8.5, 18, 9, outcomeStyles[o], "")
			})
		}
	}
	if c.Waited {
		add("waits for the next attempt", func(p *picture.Picture, x, y float64) {
			p.Line(styleWait, "", picture.Point{X: x, Y: y - 4}, picture.Point{X: x + 18, Y: y - 4})
		})
	}
	if d.tallest > 0 {
		add(fmt.Sprintf("of a group, up to %.0f pods at once", math.Ceil(d.tallest)), func(p *picture.Picture, x, y float64) {
			p.Area(outcomeStyles[OutcomeSucceeded], "", picture.Point{X: x, Y: y}, picture.Point{X: x + 6, Y: y - 9}, picture.Point{X: x + 12, Y: y - 6}, picture.Point{X: x + 18, Y: y})
		})
	}
	if c.Restarts > 0 {
		add("restarts in its pod", func(p *picture.Picture, x, y float64) {
			p.Rect(x+0.5, y-8.5, 18, 9, outcomeStyles[OutcomeSucceeded], "")
			drawRestart(p, x+5, x+14, y-8.5, 9, "")
		})
	}
	if len(c.Marks) > 0 {
		add("condition of the Job, or the end", func(p *picture.Picture, x, y float64) {
			p.Line(styleMark, "", picture.Point{X: x + 9, Y: y - 10}, picture.Point{X: x + 9, Y: y + 2})
		})
	}
	x := float64(margin)
	var line legendLine
	for _, e := range all {
		width := 24 + picture.Width(e.label, fontSize) + 14
		if len(line) > 0 && x+width > d.p.Width-margin {
			d.legend, line, x = append(d.legend, line), nil, margin
		}
		e.x = x
		e.label = picture.Fit(e.label, fontSize, d.p.Width-2*margin-24)
		line = append(line, e)
		x += width
	}
	if len(line) > 0 {
		d.legend = append(d.legend, line)
	}
}
