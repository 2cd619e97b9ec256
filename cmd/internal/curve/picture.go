package curve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/restartkit/restart/cmd/internal/human"
	"github.com/restartkit/restart/cmd/internal/picture"
)

// Picture draws the restarts of curves over time, with the name of each curve at the end
// of its line. It has colours for light and dark grounds.
type Picture struct {
	Title         string
	Curves        []Curve       // 1 to Most
	End           time.Duration // of the time axis
	Width, Height float64       // in CSS pixels
}

// colours are those of the lines, with enough contrast for their names.
var colours = [Most]picture.Colour{
	picture.Pair(0x0067a3, 0x56b4e9), picture.Pair(0xb34a00, 0xff8f4a), picture.Pair(0x00765a, 0x2fc9a0), picture.Pair(0xa03a78, 0xe79bc6),
	picture.Pair(0x806000, 0xf0c040), picture.Pair(0x5b2fb5, 0xbfa5ff), picture.Text, picture.Faint,
}

// dashes tell neighbouring lines apart without colour.
var dashes = []float64{0, 6, 3, 12}

const (
	margin    = 14
	titleSize = 15
	textSize  = 12
	labelGap  = 6
	nameSpace = 0.36 // largest part of the width for the names
)

// SVG returns the picture as an SVG document.
func (p Picture) SVG() []byte {
	d := &picture.Picture{Width: p.Width, Height: p.Height, Title: "Restarts of one pod over time"}
	if p.Title != "" {
		d.Title = p.Title
	}
	log := p.Logarithmic()
	lines := make([][]picture.Point, len(p.Curves))
	names := make([]string, len(p.Curves))
	highest, room := 1.0, 0.0
	for i, c := range p.Curves {
		lines[i] = p.points(c)
		total := lines[i][len(lines[i])-1].Y
		highest = max(highest, total)
		names[i] = fmt.Sprintf("%s: %s", c.Name, short(total))
		room = max(room, picture.Width(names[i], textSize)+labelGap)
		d.Desc += fmt.Sprintf("%s: %s. ", c.Name, human.Count(int(total), "restart"))
	}
	room = min(room, nameSpace*p.Width)

	d.Rect(0, 0, p.Width, p.Height, picture.Style{Fill: picture.Ground}, "")
	top := p.title(d, log)
	counts := countTicks(1.05*highest, log)
	left, right := 0.0, p.Width-margin-room
	for _, n := range counts {
		left = max(left, margin+picture.Width(short(n), textSize)+labelGap)
	}
	bottom := p.Height - margin - 3*textSize
	x := func(seconds float64) float64 { return left + (right-left)*seconds/p.End.Seconds() }
	y := func(count float64) float64 {
		if log {
			return bottom - (bottom-top)*math.Log1p(count)/math.Log1p(1.05*highest)
		}
		return bottom - (bottom-top)*count/(1.05*highest)
	}
	p.axes(d, top, counts, x, y)

	ends := make([]float64, len(lines))
	for i, line := range lines {
		for at := range line {
			line[at] = picture.Point{X: x(line[at].X), Y: y(line[at].Y)}
		}
		d.Line(picture.Style{Stroke: colours[i], Width: 2, Dash: dashes[i%len(dashes)]}, names[i], line...)
		ends[i] = line[len(line)-1].Y
	}
	for i, at := range spread(ends, 1.25*textSize, top, bottom) {
		d.Text(right+labelGap, at+0.35*textSize, picture.Style{Fill: colours[i], Size: textSize}, picture.Fit(names[i], textSize, room-labelGap))
	}
	return d.SVG(picture.SVGOptions{})
}

// title draws the title, and returns where the chart begins below it.
func (p Picture) title(d *picture.Picture, log bool) (top float64) {
	if p.Title == "" {
		return margin
	}
	title := p.Title
	if log {
		title += " (logarithmic scale)"
	}
	style := picture.Style{Fill: picture.Text, Size: titleSize, Bold: true, Anchor: picture.Middle}
	d.Text(p.Width/2, margin+titleSize, style, picture.Fit(title, titleSize*picture.BoldWidth, p.Width-2*margin))
	return margin + 2*titleSize
}

// axes draws the grid, the axes and their labels.
func (p Picture) axes(d *picture.Picture, top float64, counts []float64, x, y func(float64) float64) {
	left, right, bottom := x(0), x(p.End.Seconds()), y(0)
	grid, axis := picture.Style{Stroke: picture.Grid, Width: 1}, picture.Style{Stroke: picture.Faint, Width: 1}
	label := picture.Style{Fill: picture.Faint, Size: textSize, Anchor: picture.Middle}
	for _, at := range picture.Times(p.End, right-left) {
		place := x(at.Seconds())
		d.Line(grid, "", picture.Point{X: place, Y: top}, picture.Point{X: place, Y: bottom})
		d.Text(place, bottom+1.4*textSize, label, picture.TimeLabel(at))
	}
	d.Text((left+right)/2, bottom+2.9*textSize, label, "time since the first start")
	label.Anchor = picture.End
	for _, n := range counts {
		d.Line(grid, "", picture.Point{X: left, Y: y(n)}, picture.Point{X: right, Y: y(n)})
		d.Text(left-labelGap, y(n)+0.35*textSize, label, short(n))
	}
	d.Line(axis, "", picture.Point{X: left, Y: top}, picture.Point{X: left, Y: bottom}, picture.Point{X: right, Y: bottom})
}

// Logarithmic reports whether the scale is logarithmic, because a linear one would flatten
// the lowest line.
func (p Picture) Logarithmic() bool {
	lowest, highest := math.MaxInt, 0
	for _, c := range p.Curves {
		n := c.Restarts(-1, p.End)
		highest = max(highest, n)
		if n > 0 {
			lowest = min(lowest, n)
		}
	}
	return highest/20 > lowest
}

// countTicks are 0 and the powers of ten up to high, or about six multiples of a round
// whole number.
func countTicks(high float64, log bool) []float64 {
	ticks := []float64{0}
	if log {
		for at := 1.0; at <= high; at *= 10 {
			ticks = append(ticks, at)
		}
		return ticks
	}
	step := 1.0
	for i := 0; high/step > 6; i++ {
		step *= [...]float64{2, 2.5, 2}[i%3] // 1, 2, 5, 10, 20, …
	}
	for at := step; at <= high; at += step {
		ticks = append(ticks, at)
	}
	return ticks
}

// mostSteps is the largest number of restarts that a line shows as steps. Lines with more
// restarts show the counts at mostSteps instants.
const mostSteps = 500

// points returns the line of a curve, with seconds as X and restarts as Y.
func (p Picture) points(c Curve) []picture.Point {
	line := []picture.Point{{}}
	total := c.Restarts(-1, p.End)
	if total > mostSteps {
		for i := range mostSteps {
			at := p.End / mostSteps * time.Duration(i+1)
			line = append(line, picture.Point{X: at.Seconds(), Y: float64(c.Restarts(-1, at))})
		}
		return append(line, picture.Point{X: p.End.Seconds(), Y: float64(total)})
	}
	count := 0.0
	for at := range c.Policy.Timeline(func(int) time.Duration { return c.Run }) {
		if at > p.End || int(count) == total {
			break
		}
		line = append(line, picture.Point{X: at.Seconds(), Y: count}, picture.Point{X: at.Seconds(), Y: count + 1})
		count++
	}
	return append(line, picture.Point{X: p.End.Seconds(), Y: count})
}

// spread moves places apart until neighbours have a distance, within low and high if there
// is enough room.
func spread(places []float64, apart, low, high float64) []float64 {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(places[a], places[b]) })
	moved := slices.Clone(places)
	least := low
	for _, i := range order {
		moved[i] = max(moved[i], least)
		least = moved[i] + apart
	}
	most := high
	for _, i := range slices.Backward(order) {
		moved[i] = min(moved[i], most)
		most = moved[i] - apart
	}
	return moved
}

// short returns a count such as 250, 2.5k or 10M.
func short(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= unit.size {
			return strconv.FormatFloat(n/unit.size, 'g', 3, 64) + unit.name
		}
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}
