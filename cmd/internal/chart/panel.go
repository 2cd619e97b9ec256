package chart

import (
	"cmp"
	"math"
	"slices"

	"github.com/restartkit/restart/cmd/internal/picture"
)

// Panel is an area with axes, on which lines are drawn.
type Panel struct {
	P                        *picture.Picture
	Left, Right, Top, Bottom float64
}

// Line is a line through values over time, and what it is called.
type Line struct {
	Name   string
	Style  picture.Style
	Points []picture.Point // seconds and values, in the order of their times
	Hover  string
}

// The styles of axes.
var (
	styleTime  = picture.Style{Fill: picture.Faint, Size: 11, Anchor: picture.Middle}
	styleValue = picture.Style{Fill: picture.Faint, Size: 11, Anchor: picture.End}
	styleGrid  = picture.Style{Stroke: picture.Grid, Width: 1}
	styleFrame = picture.Style{Stroke: picture.Faint, Width: 1}
)

// Grid draws the lines of the ticks, and the labels of those of the vertical axis.
func (a *Panel) Grid(x Axis, times []Tick, y Axis, values []Tick) {
	for _, t := range times {
		at := x.Place(t.Value)
		a.P.Line(styleGrid, "", picture.Point{X: at, Y: a.Top}, picture.Point{X: at, Y: a.Bottom})
	}
	for _, t := range values {
		at := y.Place(t.Value)
		a.P.Line(styleGrid, "", picture.Point{X: a.Left, Y: at}, picture.Point{X: a.Right, Y: at})
		if t.Label != "" {
			a.P.Text(a.Left-6, at+4, styleValue, t.Label)
		}
	}
	a.P.Line(styleFrame, "", picture.Point{X: a.Left, Y: a.Top}, picture.Point{X: a.Left, Y: a.Bottom}, picture.Point{X: a.Right, Y: a.Bottom})
}

// TimeLabels writes the labels of the axis of time, below the panel.
func (a *Panel) TimeLabels(x Axis, times []Tick) {
	for _, t := range times {
		if t.Label != "" {
			a.P.Text(x.Place(t.Value), a.Bottom+16, styleTime, t.Label)
		}
	}
}

// Lines draws lines, and writes the name of each at its end, as far as there is room up
// to that place.
func (a *Panel) Lines(x, y Axis, lines []Line, room float64) {
	for _, l := range lines {
		a.line(x, y, l)
	}
	a.names(y, lines, room)
}

// line draws one line. Of points at one place, and of those between others of a straight
// line, it draws one.
func (a *Panel) line(x, y Axis, l Line) {
	var line []picture.Point
	for _, p := range l.Points {
		at := picture.Point{X: x.Place(p.X), Y: y.Place(p.Y)}
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
		a.P.Line(l.Style, l.Hover, line...)
	}
}

// between reports whether b lies between a and c.
func between(a, b, c float64) bool { return min(a, c) <= b && b <= max(a, c) }

// The names of lines.
const (
	nameSize   = 11
	nameHeight = 13
	nameGap    = 7 // between the end of a line and its name
)

// NameRoom returns how much room the names of lines need beside a panel, but not more
// than most.
func NameRoom(names []string, most float64) float64 {
	room := 0.0
	for _, name := range names {
		room = max(room, picture.Width(name, nameSize))
	}
	return min(nameGap+room, most)
}

// names writes the names of lines, each as near to its line's end as the others let it.
func (a *Panel) names(y Axis, lines []Line, room float64) {
	type end struct {
		line Line
		at   float64 // of its end, and then of the middle of its name
	}
	var ends []end
	for _, l := range lines {
		if n := len(l.Points); n > 0 {
			ends = append(ends, end{l, y.Place(l.Points[n-1].Y)})
		}
	}
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	free := a.Top - nameHeight/2 // the upper edge of the next name
	for i := range ends {
		ends[i].at = max(ends[i].at, free+nameHeight/2.0)
		free = ends[i].at + nameHeight/2.0
	}
	free = a.Bottom + nameHeight/2
	for i := len(ends) - 1; i >= 0; i-- {
		ends[i].at = min(ends[i].at, free-nameHeight/2.0)
		free = ends[i].at - nameHeight/2.0
	}
	for _, e := range ends {
		style := picture.Style{Fill: e.line.Style.Stroke, Size: nameSize}
		a.P.Text(a.Right+nameGap, e.at+4, style, picture.Fit(e.line.Name, nameSize, room-nameGap))
	}
}
