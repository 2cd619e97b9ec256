package chart

import (
	"math"
	"time"

	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// Figure shows curves over time in stacked panels.
type Figure struct {
	Title, Desc string
	Width       float64 // in pixels
	Curves      []Curve // at most MostLines
	End         time.Duration
	LogTime     bool
	Panels      []Panel
	Legend      []string // text for each curve; nil means no legend
}

// Panel has one line for each curve of its figure.
type Panel struct {
	Title  string
	Height float64
	Whole  bool // the values are whole numbers
	Scale  Scale
	Lines  [][]picture.Point // seconds and values, in order of time
}

// Scale is the scale of a panel's values.
type Scale uint8

// Scales.
const (
	Automatic Scale = iota // logarithmic if a linear scale would flatten the lowest line
	Linear
	Logarithmic
)

// autoLog is the ratio of the highest to the lowest line above which the automatic
// scale is logarithmic.
const autoLog = 20

// Spaces in and around panels, in pixels.
const (
	margin       = 16
	textLine     = 18
	legendIndent = 26
	nameSpace    = 0.3 // maximal part of the width for the names of lines
)

// Lengths in pixels of the linear parts of logarithmic axes, with room for two labels.
const (
	timeBand  = tickWidth / 2
	valueBand = 16
)

// Styles of texts.
var (
	styleTitle = picture.Style{Fill: picture.Text, Size: 16, Bold: true}
	styleText  = picture.Style{Fill: picture.Text, Size: 12}
	styleFaint = picture.Style{Fill: picture.Faint, Size: 12}
)

// Draw draws the title, the panels, the time axis and the legend, from top to bottom.
func (f *Figure) Draw() *picture.Picture {
	p := &picture.Picture{Width: f.Width, Title: f.Title, Desc: f.Desc}
	p.Rect(0, 0, f.Width, 0, picture.Style{Fill: picture.Ground}, "")
	y := margin + 12.0
	p.Text(margin, y, styleTitle, picture.Fit(f.Title, styleTitle.Size*picture.BoldWidth, f.Width-2*margin))
	var names []string
	for _, c := range f.Curves {
		names = append(names, c.Name)
	}
	styles, room := stylesOf(names), nameRoom(names, nameSpace*f.Width)
	area := area{p: p, left: margin + f.labelSpace(), right: f.Width - margin - max(room, 10)}
	x := Axis{Low: f.leastTime(), High: f.End.Seconds(), From: area.left, To: area.right, Band: timeBand}
	times := timeTicks(x)
	for i := range f.Panels {
		panel := &f.Panels[i]
		var lines []line
		for j, points := range panel.Lines {
			lines = append(lines, line{names[j], styles[j], points})
		}
		area.top = write(p, margin, y+textLine, panel.Title+logText(panel.axis(1, 0), valueLabel), f.Width-2*margin) + 10
		area.bottom = area.top + panel.Height
		values := panel.axis(area.bottom, area.top)
		area.grid(x, times, values, valueTicks(values, panel.Whole))
		area.lines(x, values, lines, room)
		y = area.bottom + 0.9*textLine
	}
	area.timeLabels(x, times)
	y += 1.1 * textLine
	p.Text(area.left, y, styleFaint, "Time since the first start"+logText(x, func(s float64) string { return TimeLabel(time.Duration(s * float64(time.Second))) }))
	for i, text := range f.Legend {
		y += textLine
		p.Line(styles[i], "", picture.Point{X: area.left, Y: y - 4}, picture.Point{X: area.left + 20, Y: y - 4})
		y = write(p, area.left+legendIndent, y, text, f.Width-margin-area.left-legendIndent)
	}
	p.Height = math.Ceil(y + margin)
	p.Shapes[0].Points[1].Y = p.Height // the background is as high as its content
	return p
}

// write writes a wrapped text from y on and returns the place of its last line.
func write(p *picture.Picture, x, y float64, text string, width float64) float64 {
	for i, line := range picture.Wrap(text, styleText.Size, width) {
		if i > 0 {
			y += textLine - 2
		}
		p.Text(x, y, styleText, line)
	}
	return y
}

// labelSpace returns the room needed for value labels beside the panels.
func (f *Figure) labelSpace() (space float64) {
	for i := range f.Panels {
		panel := &f.Panels[i]
		for _, t := range valueTicks(panel.axis(panel.Height, 0), panel.Whole) {
			space = max(space, 8+picture.Width(t.Label, styleValue.Size))
		}
	}
	return space
}

// logText returns a note on the start of a logarithmic axis, or "" for a linear one.
func logText(a Axis, label func(float64) string) string {
	if !a.Log() {
		return ""
	}
	return " (logarithmic above " + label(a.Low) + ")"
}

// axis returns the axis of the panel's values.
func (p *Panel) axis(bottom, top float64) Axis {
	highest, lowest, least := 0.0, math.Inf(1), math.Inf(1) // peaks of the highest and lowest line; least positive value
	for _, line := range p.Lines {
		peak := 0.0
		for _, at := range line {
			peak = max(peak, at.Y)
			if at.Y > 0 {
				least = min(least, at.Y)
			}
		}
		highest = max(highest, peak)
		if peak > 0 {
			lowest = min(lowest, peak)
		}
	}
	if highest == 0 {
		highest, lowest, least = 1, 1, 1
	}
	a := Axis{High: 1.05 * highest, From: bottom, To: top}
	if p.Scale == Logarithmic || p.Scale == Automatic && highest/lowest > autoLog {
		a.Low, a.Band = decade(least), valueBand
		if !p.Whole { // rates have no lower bound
			a.Low = max(a.Low, decade(highest)*1e-6)
		}
		a.High = max(a.High, 10*a.Low)
	}
	return a
}

// leastTime returns the first decade of a logarithmic time axis, which is the power of
// ten at or before the first restart. For a linear axis it returns 0.
func (f *Figure) leastTime() float64 {
	if !f.LogTime {
		return 0
	}
	least := f.End / 10
	for _, c := range f.Curves {
		for _, g := range c.Groups {
			for at := range c.Policy.Timeline(func(int) time.Duration { return g.Run }) {
				if at > 0 { // free restarts may have no delay
					least = min(least, at)
					break
				}
			}
		}
	}
	return decade(least.Seconds())
}
