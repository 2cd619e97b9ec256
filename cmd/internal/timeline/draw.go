package timeline

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/picture"
)

// Options configure the drawing of a chart.
type Options struct {
	Width float64 // in pixels; 0 means 1000; at least 320
	// Until limits the drawing to events up to this time, on the axis of the whole run.
	// 0 means no limit.
	Until time.Duration
}

// Draw draws the chart. The picture is as high as its rows need.
func (c *Chart) Draw(o Options) *picture.Picture { return c.draw(o).p }

func (c *Chart) draw(o Options) *drawing {
	if o.Width == 0 {
		o.Width = 1000
	}
	d := &drawing{chart: c, options: o, p: &picture.Picture{Width: max(o.Width, 320)}}
	d.p.Title, d.p.Desc = c.Title(), c.describe()
	d.measure()
	d.ground()
	d.head()
	d.axes()
	for i := range c.Rows {
		d.row(&c.Rows[i], d.tops[i], d.tops[i+1])
	}
	d.marks()
	d.now()
	return d
}

// describe returns the chart as text, for readers who cannot see it.
func (c *Chart) describe() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Timeline of a Job, a row for each %s. %s.", c.rowName(), c.Summary())
	for i, m := range c.Marks {
		if i == 10 {
			fmt.Fprintf(&text, " And %d marks more.", len(c.Marks)-i)
			break
		}
		fmt.Fprintf(&text, " At %s: %s.", human.Wait(m.At), m.Detail)
	}
	return text.String()
}

func (c *Chart) rowName() string {
	switch {
	case c.Grouped():
		return "index, or group of indexes"
	case c.Indexed:
		return "index"
	}
	return "lane of pods"
}

// Grouped reports whether some rows are groups.
func (c *Chart) Grouped() bool { return len(c.Rows) < c.Indexes }

// drawing is a picture in progress.
type drawing struct {
	chart   *Chart
	options Options
	p       *picture.Picture

	left, right, top float64 // of the area with the rows
	tops             []float64
	title, summary   []string // lines
	legend           []legendLine
	lanes            []markLane
	tallest          float64   // pods at the same time in a strip
	bars             []float64 // place and true width of each bar in order
}

const (
	margin   = 14
	fontSize = 11
	lineStep = 15

	titleStep  = 17
	legendStep = 17
)

// Styles of texts and lines.
var (
	styleTitle  = picture.Style{Fill: picture.Text, Size: 15, Bold: true}
	styleText   = picture.Style{Fill: picture.Text, Size: fontSize}
	styleFaint  = picture.Style{Fill: picture.Faint, Size: fontSize}
	styleTick   = picture.Style{Fill: picture.Faint, Size: fontSize, Anchor: picture.Middle}
	styleRow    = picture.Style{Fill: picture.Text, Size: 10, Anchor: picture.End}
	styleGrid   = picture.Style{Stroke: picture.Grid, Width: 1}
	styleAxis   = picture.Style{Stroke: picture.Faint, Width: 1}
	styleWait   = picture.Style{Stroke: picture.Faint, Width: 1.2}
	styleMark   = picture.Style{Stroke: picture.Text, Width: 1, Dash: 4}
	styleNow    = picture.Style{Stroke: picture.Text, Width: 1.5}
	styleGround = picture.Style{Fill: picture.Ground}
	// Restarts in a pod are drawn on its bar.
	styleRestart = picture.Style{Stroke: picture.Text, Width: 1.5}
)

// outcomeStyles distinguish the outcomes by colour, pattern and outline.
var outcomeStyles = [OutcomeCount]picture.Style{
	OutcomeSucceeded:  {Fill: picture.BluishGreen},
	OutcomeFailed:     {Fill: picture.Vermillion, Pattern: picture.Rising, Ink: picture.RGB(0xffd9bd)},
	OutcomeIgnored:    {Fill: picture.Orange, Pattern: picture.Dotted, Ink: picture.RGB(0x4a3200)},
	OutcomeLast:       {Fill: picture.Vermillion, Stroke: picture.Text, Width: 1, Pattern: picture.Crossed, Ink: picture.RGB(0x4a1500)},
	OutcomeTerminated: {Fill: picture.SkyBlue, Pattern: picture.Falling, Ink: picture.RGB(0x0b4f7a)},
	OutcomeUnfinished: {Fill: picture.Ground, Stroke: picture.Blue, Width: 1, Dash: 3},
}

// x returns the place of a time.
func (d *drawing) x(at time.Duration) float64 {
	return d.left + (d.right-d.left)*float64(at)/float64(d.chart.Length)
}

// until returns the time up to which the chart is drawn.
func (d *drawing) until() time.Duration {
	if d.options.Until <= 0 {
		return d.chart.Length
	}
	return min(d.options.Until, d.chart.Length)
}

// measure computes the layout of the drawing.
func (d *drawing) measure() {
	c := d.chart
	labels := 0.0
	for i := range c.Rows {
		labels = max(labels, picture.Width(c.label(&c.Rows[i]), styleRow.Size))
	}
	if c.Grouped() {
		labels = max(labels, 80)
	}
	d.left = margin + min(max(labels, 24), 0.4*d.p.Width) + 8
	d.right = d.p.Width - margin - 6
	for i := range c.Rows {
		for _, column := range d.columns(&c.Rows[i]) {
			d.tallest = max(d.tallest, column.running())
		}
	}
	width := d.p.Width - 2*margin
	d.title = picture.Wrap(c.Title(), styleTitle.Size*picture.BoldWidth, width)
	d.summary = picture.Wrap(strings.ReplaceAll(c.Summary(), " ·", "\u00a0·"), fontSize, width)
	d.layLegend()
	d.layMarks()
	d.top = 2*margin + 6 + float64(len(d.title))*titleStep + float64(len(d.summary))*lineStep + float64(len(d.legend))*legendStep + float64(len(d.lanes))*13
	y := d.top
	for i := range c.Rows {
		d.tops = append(d.tops, y)
		y += c.height(&c.Rows[i])
	}
	d.tops = append(d.tops, y)
	d.p.Height = math.Ceil(y + 3*lineStep + margin)
}

// height returns the height of a row, which depends on the number of rows.
func (c *Chart) height(r *Row) float64 {
	switch n := len(c.Rows); {
	case c.Grouped() && r.Strip != nil:
		return 16
	case c.Grouped():
		return 11
	case n <= 24:
		return 20
	case n <= 60:
		return 14
	case n <= 120:
		return 11
	}
	return 7
}

func (d *drawing) ground() { d.p.Rect(0, 0, d.p.Width, d.p.Height, styleGround, "") }

// head writes the title, the summary and the legend.
func (d *drawing) head() {
	y := float64(margin + 12)
	for _, line := range d.title {
		d.p.Text(margin, y, styleTitle, line)
		y += titleStep
	}
	for _, line := range d.summary {
		d.p.Text(margin, y, styleFaint, line)
		y += lineStep
	}
	y += 3
	for _, line := range d.legend {
		for _, e := range line {
			e.draw(d.p, e.x, y)
			d.p.Text(e.x+24, y, styleText, e.label)
		}
		y += legendStep
	}
}

// axes draws the time axis and the names of both axes.
func (d *drawing) axes() {
	c := d.chart
	bottom := d.tops[len(d.tops)-1]
	for _, at := range picture.Times(c.Length, d.right-d.left) {
		x := d.x(at)
		d.p.Line(styleGrid, "", picture.Point{X: x, Y: d.top}, picture.Point{X: x, Y: bottom})
		style := styleTick
		label := picture.TimeLabel(at)
		if half := picture.Width(label, style.Size) / 2; x+half > d.p.Width-2 {
			style.Anchor, x = picture.End, d.p.Width-2
		}
		d.p.Text(x, bottom+lineStep, style, label)
	}
	d.p.Line(styleAxis, "", picture.Point{X: d.left, Y: bottom}, picture.Point{X: d.right, Y: bottom})
	name := "time since " + c.Begin.UTC().Format("2006-01-02 15:04:05") + " UTC"
	if c.Paused > 0 {
		name += ", without " + human.Wait(c.Paused) + " between runs"
		if c.Killed {
			name += " (a killed run ends at its last event)"
		}
	}
	d.p.Text(d.left, bottom+2*lineStep+3, styleFaint, picture.Fit(name, fontSize, d.right-d.left))
	rows := styleRow
	rows.Fill = picture.Faint
	axis := "index"
	if !c.Indexed {
		axis = "lane"
	}
	if c.Grouped() {
		axis += ", attempts"
	}
	d.p.Text(d.left-8, d.top-5, rows, axis)
}

// now marks the time up to which the chart is drawn, unless it is the end.
func (d *drawing) now() {
	if d.until() < d.chart.Length {
		x := d.x(d.until())
		d.p.Line(styleNow, "", picture.Point{X: x, Y: d.top}, picture.Point{X: x, Y: d.tops[len(d.tops)-1]})
	}
}
