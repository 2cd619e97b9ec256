package main

import (
	"math"

	"github.com/restartkit/restart/examples/internal/picture"
	"github.com/restartkit/restart/examples/internal/picture/bitmap"
)

// The size of one figure, of its parts, and of the space around them, in pixels.
const (
	figureWidth  = 640
	margin       = 20
	panelHeight  = 240
	ratesHeight  = 110
	textLine     = 18
	axisSpace    = 48 // left of a panel, for the labels of its axis
	legendIndent = 26
	pixels       = 2 // per pixel in each direction, of a PNG
)

// render draws the figures side by side, as a file of that format, svg or png.
func render(figures []figure, format string) ([]byte, error) {
	columns := int(math.Ceil(math.Sqrt(float64(len(figures)))))
	p := &picture.Picture{Width: float64(columns) * figureWidth, Title: "Restarts under a backoff"}
	if len(figures) == 1 {
		p.Title = figures[0].title
	}
	rows := (len(figures) + columns - 1) / columns
	heights := make([]float64, rows)
	for i := range figures {
		heights[i/columns] = max(heights[i/columns], figures[i].height())
		p.Desc += figures[i].describe() + "\n"
	}
	for _, h := range heights {
		p.Height += h
	}
	p.Rect(0, 0, p.Width, p.Height, picture.Style{Fill: picture.Ground}, "")
	top := 0.0
	for i := range figures {
		if i > 0 && i%columns == 0 {
			top += heights[i/columns-1]
		}
		figures[i].draw(p, float64(i%columns)*figureWidth, top)
	}
	if format == "png" {
		return bitmap.PNG(p, pixels)
	}
	return p.SVG(picture.SVGOptions{Prefix: "cc"}), nil
}

// height is how high a figure is.
func (f *figure) height() float64 {
	h := 2*margin + 4.2*textLine + panelHeight + float64(len(f.curves))*textLine
	if f.api {
		h += ratesHeight + 2.6*textLine
	}
	return h
}

// The styles of texts and lines.
var (
	styleTitle = picture.Style{Fill: picture.Text, Size: 16, Bold: true}
	styleText  = picture.Style{Fill: picture.Text, Size: 12}
	styleFaint = picture.Style{Fill: picture.Faint, Size: 12}
	styleTime  = picture.Style{Fill: picture.Faint, Size: 11, Anchor: picture.Middle}
	styleValue = picture.Style{Fill: picture.Faint, Size: 11, Anchor: picture.End}
	styleGrid  = picture.Style{Stroke: picture.Grid, Width: 1}
	styleFrame = picture.Style{Stroke: picture.Faint, Width: 1}
)

// draw draws one figure, from top to bottom: the title, what is counted, the curves,
// the requests that they make, the time, and the legend, which covers no curve.
func (f *figure) draw(p *picture.Picture, left, top float64) {
	width := float64(figureWidth - 2*margin)
	left += margin
	y := top + margin + 12
	p.Text(left, y, styleTitle, picture.Fit(f.title, styleTitle.Size*picture.BoldWidth, width))
	y += textLine
	p.Text(left, y, styleText, picture.Fit(f.subtitle()+logarithmic(f.logCount), styleText.Size, width))
	y += 10

	area := panel{p: p, left: left + axisSpace, right: left + width - 10, top: y, bottom: y + panelHeight}
	x, times := f.timeAxis(area.left, area.right)
	count, counts := f.countAxis(area.bottom, area.top)
	area.grid(x, times, count, counts)
	for i, c := range f.curves {
		points, steps := f.shown(c).points(f.end, f.logTime)
		area.line(x, count, f.outline(points, steps), lineStyle(i), c.name)
	}
	if f.api {
		y = area.bottom + 1.9*textLine + 6
		all := make([][]rate, len(f.curves))
		for i, c := range f.curves {
			all[i] = f.rates(c)
		}
		area.top, area.bottom = y+10, y+10+ratesHeight
		perSecond, values := f.rateAxis(all, area.bottom, area.top)
		p.Text(left, y, styleText, picture.Fit(f.requestsTitle()+logarithmic(perSecond.log), styleText.Size, width))
		area.grid(x, times, perSecond, values)
		for i, c := range f.curves {
			area.line(x, perSecond, f.rateOutline(all[i]), lineStyle(i), c.name)
		}
	}
	area.timeLabels(x, times)
	y = area.bottom + 2*textLine
	p.Text(area.left, y, styleFaint, "Time since the first start"+logarithmic(f.logTime))
	for i, c := range f.curves {
		y += textLine
		p.Line(lineStyle(i), "", picture.Point{X: area.left, Y: y - 4}, picture.Point{X: area.left + 20, Y: y - 4})
		p.Text(area.left+legendIndent, y, styleText, picture.Fit(f.legend(c), styleText.Size, area.right-area.left-legendIndent))
	}
}

// legend names a curve, and what it is if its name does not say so.
func (f *figure) legend(c curve) string {
	label := c.name
	if d := describe(c.policy); d != c.name {
		label += " (" + d + ")"
	}
	last := len(c.groups) - 1
	if _, same := f.run(last); !same {
		label += ", runs of " + picture.Duration(c.groups[last].run)
	}
	return label
}

// logarithmic says of an axis that it is.
func logarithmic(log bool) string {
	if log {
		return " (logarithmic scale)"
	}
	return ""
}

// outline returns the drawn points of a curve, from the beginning of the time axis to
// its end. A logarithmic axis of counts has no 0: there a line begins with the first
// restart.
func (f *figure) outline(points []point, steps bool) []picture.Point {
	least := f.leastTime()
	var all []picture.Point
	add := func(seconds, count float64) {
		x := max(seconds, least)
		if n := len(all); steps && n > 0 {
			all = append(all, picture.Point{X: x, Y: all[n-1].Y})
		}
		all = append(all, picture.Point{X: x, Y: count})
	}
	if !f.logCount {
		add(least, 0)
	}
	for _, p := range points {
		add(p.at.Seconds(), p.count)
	}
	if n := len(all); n > 0 {
		add(f.end.Seconds(), all[n-1].Y)
	}
	return all
}

// rateOutline returns the drawn points of rates, as steps.
func (f *figure) rateOutline(rates []rate) []picture.Point {
	var all []picture.Point
	for i, r := range rates {
		to := f.end
		if i+1 < len(rates) {
			to = rates[i+1].from
		}
		all = append(all, picture.Point{X: r.from.Seconds(), Y: r.rate}, picture.Point{X: to.Seconds(), Y: r.rate})
	}
	return all
}

// panel is an area with axes.
type panel struct {
	p                        *picture.Picture
	left, right, top, bottom float64
}

// grid draws the lines of the ticks, and the labels of those of the vertical axis.
func (a *panel) grid(x axis, times []tick, y axis, values []tick) {
	for _, t := range times {
		at := x.place(t.value)
		a.p.Line(styleGrid, "", picture.Point{X: at, Y: a.top}, picture.Point{X: at, Y: a.bottom})
	}
	for _, t := range values {
		at := y.place(t.value)
		a.p.Line(styleGrid, "", picture.Point{X: a.left, Y: at}, picture.Point{X: a.right, Y: at})
		if t.label != "" {
			a.p.Text(a.left-6, at+4, styleValue, t.label)
		}
	}
	a.p.Line(styleFrame, "", picture.Point{X: a.left, Y: a.top}, picture.Point{X: a.left, Y: a.bottom}, picture.Point{X: a.right, Y: a.bottom})
}

// timeLabels writes the labels of the time axis.
func (a *panel) timeLabels(x axis, times []tick) {
	for _, t := range times {
		a.p.Text(x.place(t.value), a.bottom+textLine-2, styleTime, t.label)
	}
}

// line draws a line through points of values. Of points that lie on one place, and of
// those between others of a straight line, it draws one.
func (a *panel) line(x, y axis, points []picture.Point, s picture.Style, hover string) {
	var line []picture.Point
	for _, p := range points {
		at := picture.Point{X: x.place(p.X), Y: y.place(p.Y)}
		n := len(line)
		if n > 0 && math.Abs(line[n-1].X-at.X) < 0.005 && math.Abs(line[n-1].Y-at.Y) < 0.005 {
			continue
		}
		if n > 1 && (line[n-2].X == line[n-1].X && line[n-1].X == at.X && between(line[n-2].Y, line[n-1].Y, at.Y) ||
			line[n-2].Y == line[n-1].Y && line[n-1].Y == at.Y && between(line[n-2].X, line[n-1].X, at.X)) {
			line = line[:n-1]
		}
		line = append(line, at)
	}
	if len(line) > 1 {
		a.p.Line(s, hover, line...)
	}
}

// between reports whether b lies between a and c.
func between(a, b, c float64) bool { return min(a, c) <= b && b <= max(a, c) }

// lineStyle returns how the i-th of eight curves looks. Colour-blind people can
// distinguish the colours, too, and every other line has dashes.
func lineStyle(i int) picture.Style {
	colours := [...]picture.Colour{picture.Text, picture.Vermillion, picture.Blue, picture.BluishGreen,
		picture.ReddishPurple, picture.Orange, picture.SkyBlue, picture.Faint}
	return picture.Style{Stroke: colours[i%len(colours)], Width: 2, Dash: [...]float64{0, 7, 0, 3}[i%4]}
}
