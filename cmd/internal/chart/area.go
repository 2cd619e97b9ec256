package chart

import (
	"cmp"
	"slices"

	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// area is a region with axes for lines.
type area struct {
	p                        *picture.Picture
	left, right, top, bottom float64
}

// line is a named line through values over time.
type line struct {
	name   string
	style  picture.Style
	points []picture.Point // seconds and values, in order of time
}

// Styles of axes.
var (
	styleTime  = picture.Style{Fill: picture.Faint, Size: 11, Anchor: picture.Middle}
	styleValue = picture.Style{Fill: picture.Faint, Size: 11, Anchor: picture.End}
	styleGrid  = picture.Style{Stroke: picture.Grid, Width: 1}
	styleFrame = picture.Style{Stroke: picture.Faint, Width: 1}
)

// grid draws the grid lines, and the labels of the vertical axis.
func (a *area) grid(x Axis, times []Tick, y Axis, values []Tick) {
	for _, t := range times {
		at := x.Place(t.Value)
		a.p.Line(styleGrid, "", picture.Point{X: at, Y: a.top}, picture.Point{X: at, Y: a.bottom})
	}
	for _, t := range values {
		at := y.Place(t.Value)
		a.p.Line(styleGrid, "", picture.Point{X: a.left, Y: at}, picture.Point{X: a.right, Y: at})
		if t.Label != "" {
			a.p.Text(a.left-6, at+4, styleValue, t.Label)
		}
	}
	a.p.Line(styleFrame, "", picture.Point{X: a.left, Y: a.top}, picture.Point{X: a.left, Y: a.bottom}, picture.Point{X: a.right, Y: a.bottom})
}

// timeLabels writes the labels of the time axis below the panel.
func (a *area) timeLabels(x Axis, times []Tick) {
	for _, t := range times {
		if t.Label != "" {
			a.p.Text(x.Place(t.Value), a.bottom+16, styleTime, t.Label)
		}
	}
}

// lines draws lines and writes their names at their ends, in at most room pixels.
func (a *area) lines(x, y Axis, lines []line, room float64) {
	for _, l := range lines {
		var points []picture.Point
		for _, p := range l.points {
			points = append(points, picture.Point{X: x.Place(p.X), Y: y.Place(p.Y)})
		}
		a.p.Line(l.style, l.name, points...)
	}
	a.names(y, lines, room)
}

// Sizes of the names of lines, in pixels.
const (
	nameSize   = 11
	nameHeight = 13
	nameGap    = 7 // between a line's end and its name
)

// nameRoom returns the room needed for names beside a panel, at most most.
func nameRoom(names []string, most float64) float64 {
	room := 0.0
	for _, name := range names {
		room = max(room, picture.Width(name, nameSize))
	}
	return min(nameGap+room, most)
}

// names writes the names of lines, each as close to its line's end as the others allow.
func (a *area) names(y Axis, lines []line, room float64) {
	type end struct {
		line line
		at   float64 // of the line's end, later of the middle of the name
	}
	var ends []end
	for _, l := range lines {
		if n := len(l.points); n > 0 {
			ends = append(ends, end{l, y.Place(l.points[n-1].Y)})
		}
	}
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	free := a.top - nameHeight/2 // upper edge of the next name
	for i := range ends {
		ends[i].at = max(ends[i].at, free+nameHeight/2.0)
		free = ends[i].at + nameHeight/2.0
	}
	free = a.bottom + nameHeight/2
	for i := len(ends) - 1; i >= 0; i-- {
		ends[i].at = min(ends[i].at, free-nameHeight/2.0)
		free = ends[i].at - nameHeight/2.0
	}
	for _, e := range ends {
		style := picture.Style{Fill: e.line.style.Stroke, Size: nameSize}
		a.p.Text(a.right+nameGap, e.at+4, style, picture.Fit(e.line.name, nameSize, room-nameGap))
	}
}
