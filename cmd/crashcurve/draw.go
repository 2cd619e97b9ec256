package main

import (
	"math"
	"time"

	"github.com/restartkit/restart/cmd/internal/chart"
	"github.com/restartkit/restart/cmd/internal/picture"
)

// The size of one figure, of its parts, and of the space around them, in pixels.
const (
	figureWidth  = 640
	margin       = 20
	panelHeight  = 240
	ratesHeight  = 110
	textLine     = 18
	axisSpace    = 48  // left of a panel, for the labels of its axis
	nameSpace    = 150 // right of a panel, for the names of its lines, at most
	legendIndent = 26
)

// svg draws the figures as an SVG file.
func svg(figures []figure) []byte {
	return compose(figures).SVG(picture.SVGOptions{Prefix: "cc", Dark: true})
}

// compose draws the figures side by side.
func compose(figures []figure) *picture.Picture {
	columns := int(math.Ceil(math.Sqrt(float64(len(figures)))))
	p := &picture.Picture{Width: float64(columns) * figureWidth, Title: "Restarts under a backoff"}
	if len(figures) == 1 {
		p.Title = figures[0].title
	}
	p.Rect(0, 0, p.Width, 0, picture.Style{Fill: picture.Ground}, "")
	top := 0.0
	for i := range figures {
		if i%columns == 0 {
			top = p.Height
		}
		bottom := figures[i].draw(p, float64(i%columns)*figureWidth, top)
		p.Height = max(p.Height, bottom)
		p.Desc += figures[i].describe() + "\n"
	}
	p.Shapes[0].Points[1].Y = p.Height // the ground is as high as what stands on it
	return p
}

// The styles of texts.
var (
	styleTitle = picture.Style{Fill: picture.Text, Size: 16, Bold: true}
	styleText  = picture.Style{Fill: picture.Text, Size: 12}
	styleFaint = picture.Style{Fill: picture.Faint, Size: 12}
)

// draw draws one figure, from top to bottom: the title, what is counted, the curves,
// the requests that they make, the time, and a legend with the policies. It returns
// where the figure ends.
func (f *figure) draw(p *picture.Picture, left, top float64) (bottom float64) {
	width := float64(figureWidth - 2*margin)
	left += margin
	y := top + margin + 12
	p.Text(left, y, styleTitle, picture.Fit(f.title, styleTitle.Size*picture.BoldWidth, width))
	lines, room := f.lines()
	area := chart.Panel{P: p, Left: left + axisSpace, Right: left + width - max(room, 10)}
	x := f.timeAxis(area.Left, area.Right)
	times := chart.TimeTicks(x)

	for i, c := range f.curves {
		points, steps := f.shown(c).points(f.end, f.logTime)
		lines[i].Points = f.outline(points, steps)
	}
	y = f.panel(&area, y+textLine, panelHeight, x, times, f.countAxis, f.subtitle(), true, lines, room)
	if f.api {
		all := make([][]rate, len(f.curves))
		for i, c := range f.curves {
			all[i] = f.rates(c)
			lines[i].Points = f.rateOutline(all[i])
		}
		axis := func(bottom, top float64) chart.Axis { return f.rateAxis(all, bottom, top) }
		y = f.panel(&area, y+1.9*textLine, ratesHeight, x, times, axis, f.requestsTitle(), false, lines, room)
	}
	area.TimeLabels(x, times)

	y += 2 * textLine
	name := "Time since the first start"
	if x.Log() {
		name += " (logarithmic above " + chart.TimeLabel(time.Duration(x.Low*float64(second))) + ")"
	}
	p.Text(area.Left, y, styleFaint, name)
	for i, c := range f.curves {
		y += textLine
		p.Line(lines[i].Style, "", picture.Point{X: area.Left, Y: y - 4}, picture.Point{X: area.Left + 20, Y: y - 4})
		for j, line := range picture.Wrap(f.legend(c), styleText.Size, left+width-area.Left-legendIndent) {
			if j > 0 {
				y += textLine - 2
			}
			p.Text(area.Left+legendIndent, y, styleText, line)
		}
	}
	return math.Ceil(y + 1.2*margin)
}

// panel draws a panel below its title, which begins at y, and returns where it ends.
func (f *figure) panel(area *chart.Panel, y, height float64, x chart.Axis, times []chart.Tick, axis func(bottom, top float64) chart.Axis,
	title string, whole bool, lines []chart.Line, room float64) (bottom float64) {
	left := area.Left - axisSpace
	text := picture.Wrap(title+scale(axis(1, 0)), styleText.Size, figureWidth-2*margin)
	for i, line := range text {
		area.P.Text(left, y+float64(i)*(textLine-2), styleText, line)
	}
	area.Top = y + float64(len(text)-1)*(textLine-2) + 10
	area.Bottom = area.Top + height
	values := axis(area.Bottom, area.Top)
	area.Grid(x, times, values, chart.ValueTicks(values, whole))
	area.Lines(x, values, lines, room)
	return area.Bottom
}

// lines returns the looks and names of the curves, and the room that the names need.
func (f *figure) lines() (lines []chart.Line, room float64) {
	var names, systems []string
	for _, c := range f.curves {
		names = append(names, c.name)
		if c.system == "" {
			c.system = c.name
		}
		systems = append(systems, c.system)
	}
	for i, style := range chart.Styles(systems) {
		lines = append(lines, chart.Line{Name: names[i], Style: style, Hover: names[i]})
	}
	return lines, chart.NameRoom(names, nameSpace)
}

// outline returns the drawn points of a curve, from the beginning of the time axis to
// its end.
func (f *figure) outline(points []point, steps bool) []picture.Point {
	all := []picture.Point{{}}
	add := func(seconds, count float64) {
		if steps || len(all) == 1 { // up to the first restart there is none
			all = append(all, picture.Point{X: seconds, Y: all[len(all)-1].Y})
		}
		all = append(all, picture.Point{X: seconds, Y: count})
	}
	for _, p := range points {
		add(p.at.Seconds(), p.count)
	}
	add(f.end.Seconds(), all[len(all)-1].Y)
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
