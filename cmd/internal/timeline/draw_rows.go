package timeline

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/picture"
)

// label returns the label of a row.
func (c *Chart) label(r *Row) string {
	if r.Indexes == 1 {
		return fmt.Sprint(r.First)
	}
	if r.Failed {
		return fmt.Sprintf("%s failed of %d–%d", human.Thousands(r.Indexes), r.First, r.Last)
	}
	return fmt.Sprintf("%s of %d–%d, %s", human.Thousands(r.Indexes), r.First, r.Last, perIndex(r))
}

// perIndex returns the number of attempts per index of a group.
func perIndex(r *Row) string {
	if r.Attempts%r.Indexes == 0 {
		return fmt.Sprintf("%d×", r.Attempts/r.Indexes)
	}
	return fmt.Sprintf("%.1f×", float64(r.Attempts)/float64(r.Indexes))
}

// row draws one row.
func (d *drawing) row(r *Row, top, bottom float64) {
	height := bottom - top
	d.rowLabel(r, top, bottom)
	middle := (top + bottom) / 2
	if r.Strip == nil {
		for _, w := range r.Waits {
			d.wait(w, middle)
		}
		for i := range r.Bars {
			d.bar(r, &r.Bars[i], top+height*0.14, height*0.72)
		}
		return
	}
	d.strip(r, top, bottom)
}

func (d *drawing) rowLabel(r *Row, top, bottom float64) {
	height := bottom - top
	label := d.chart.label(r)
	if height < 10 && r.First%5 != 0 {
		return // too little room for every label
	}
	d.p.Text(d.left-8, (top+bottom)/2+3.5, styleRow, picture.Fit(label, styleRow.Size, d.left-8-margin/2))
}

func (d *drawing) wait(w Wait, y float64) {
	from, to := d.x(w.From), d.x(min(w.To, d.until()))
	if to <= from {
		return
	}
	d.p.Line(styleWait, fmt.Sprintf("%s – %s: %s", human.Wait(w.From), human.Wait(w.To), w.Detail), picture.Point{X: from, Y: y}, picture.Point{X: to, Y: y})
}

// leastBar is the width of the shortest bar, wide enough to show pattern and outline.
const leastBar = 4

// bar draws a pod.
func (d *drawing) bar(r *Row, b *Bar, top, height float64) {
	until := d.until()
	if b.From > until || b.From == until && until < d.chart.Length {
		return
	}
	outcome, to := b.Outcome, b.To
	if to > until {
		outcome, to = OutcomeUnfinished, until
	}
	style := outcomeStyles[outcome]
	x, width := d.span(b.From, to)
	d.bars = append(d.bars, d.x(b.From), d.x(to)-d.x(b.From))
	inset := style.Width / 2
	d.p.Rect(x+inset, top+inset, width-style.Width, height-style.Width, style, d.hover(r, b))
	for _, w := range b.Restarts {
		if w.From <= until {
			end := min(d.x(min(w.To, until)), x+width)
			drawRestart(d.p, min(d.x(w.From), x+width), end, top, height, human.Wait(w.From)+": "+w.Detail)
		}
	}
}

// span returns the place of a bar, wide enough to see and within the axis.
func (d *drawing) span(from, to time.Duration) (x, width float64) {
	x = d.x(from)
	width = max(d.x(to)-x, leastBar)
	return min(x, d.right-width), width
}

// drawRestart draws the end of a container and the wait for its restart on the bar of
// its pod.
func drawRestart(p *picture.Picture, from, to, top, height float64, hover string) {
	if to > from {
		wait := styleRestart
		wait.Width = math.Round(height*0.28*2) / 2
		p.Line(wait, hover, picture.Point{X: from, Y: top + height/2}, picture.Point{X: to, Y: top + height/2})
	}
	p.Line(styleRestart, hover, picture.Point{X: from, Y: top}, picture.Point{X: from, Y: top + height})
}

// hover returns the hover text of a bar.
func (d *drawing) hover(r *Row, b *Bar) string {
	var s strings.Builder
	if d.chart.Indexed {
		fmt.Fprintf(&s, "index %d, attempt %d", r.First, b.Attempt)
	}
	if b.Pod != "" {
		if s.Len() > 0 {
			s.WriteString(", ")
		}
		s.WriteString("pod " + b.Pod)
	}
	fmt.Fprintf(&s, "\n%s – %s (%s): %s", human.Wait(b.From), human.Wait(b.To), human.Wait(b.To-b.From), b.Outcome)
	if b.Detail != "" {
		s.WriteString("\n" + b.Detail)
	}
	if n := len(b.Restarts); n > 0 {
		s.WriteString("\n" + human.Count(n, "restart") + " in its pod")
	}
	return s.String()
}
