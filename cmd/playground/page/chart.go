package page

import (
	"fmt"
	"math"
	"time"

	"github.com/restartkit/restart/cmd/internal/chart"
	"github.com/restartkit/restart/cmd/internal/picture"
)

// diagram is a picture of values over time, a line for each policy.
type diagram struct {
	title, desc string
	yName       string
	whole       bool // the values are whole numbers
	end         time.Duration
	lines       []chart.Line
}

// The restarts of a pod are drawn one by one, up to mostDrawn of them; beyond that, and
// for rates, there are so many samples.
const (
	mostDrawn = 500
	samples   = 240
)

// restartPicture draws the restarts of one pod.
func (s Settings) restartPicture(all []curve, window time.Duration, width float64) *Picture {
	d := diagram{
		title: "Restarts of one pod",
		desc:  fmt.Sprintf("Restarts of a pod that fails after runs of %s, up to %s.", s.Run, picture.Duration(window)),
		yName: "restarts", whole: true, end: window, lines: lines(all),
	}
	for i, one := range all {
		d.lines[i].Points = one.points(window)
		d.desc += fmt.Sprintf(" %s: %s.", one.name, picture.Number(one.restarts(-1, window)))
	}
	return d.draw(width, "restarts")
}

// lines returns the looks and names of curves.
func lines(all []curve) (list []chart.Line) {
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	for i, style := range chart.Styles(names) {
		list = append(list, chart.Line{Name: names[i], Style: style})
	}
	return list
}

// points returns the number of restarts over time.
func (c curve) points(window time.Duration) (points []picture.Point) {
	points = append(points, picture.Point{})
	if c.restarts(-1, window) > mostDrawn {
		for i := range samples {
			at := window / samples * time.Duration(i+1)
			points = append(points, picture.Point{X: at.Seconds(), Y: c.restarts(-1, at)})
		}
		return points
	}
	n, most := 0.0, float64(c.limit.Restarts(c.policy, c.run))
	for at := range c.policy.Timeline(func(int) time.Duration { return c.run }) {
		if at > window || n == most {
			break
		}
		points = append(points, picture.Point{X: at.Seconds(), Y: n}, picture.Point{X: at.Seconds(), Y: n + 1})
		n++
	}
	return append(points, picture.Point{X: window.Seconds(), Y: n})
}

// requestPicture draws what all pods of a node ask of the API server.
func (s Settings) requestPicture(all []curve, window time.Duration, width float64) *Picture {
	d := diagram{
		title: "Requests per second of the node",
		desc:  fmt.Sprintf("%d pods that fail at the same times, %s for each restart, as the average of %s.", s.Pods, count(s.Requests, "request"), picture.Duration(min(bucket(window), window))),
		yName: "requests per second", end: window, lines: lines(all),
	}
	for i, one := range all {
		d.lines[i].Points = s.rates(one, window)
	}
	return d.draw(width, "requests")
}

// bucket is the length of the parts of a window over which rates are averaged. The last
// one can be shorter.
func bucket(window time.Duration) time.Duration { return max(window/samples, 10*time.Second) }

// rates returns the requests per second of all pods over time.
func (s Settings) rates(c curve, window time.Duration) (points []picture.Point) {
	for from := time.Duration(0); from < window; from += bucket(window) {
		to := min(from+bucket(window), window)
		begin := from
		if from == 0 {
			begin = -1 // the first part has its beginning
		}
		rate := c.restarts(begin, to) * s.perRestart(c) / (to - from).Seconds()
		points = append(points, picture.Point{X: from.Seconds(), Y: rate}, picture.Point{X: to.Seconds(), Y: rate})
	}
	return points
}

// perRestart is the number of requests that a restart of all pods makes.
func (s Settings) perRestart(c curve) float64 {
	if c.outside {
		return 0
	}
	return float64(s.Pods) * float64(s.Requests)
}

const (
	chartMargin = 12
	nameSpace   = 0.3 // of the width, for the names of lines, at most
)

// The styles of texts.
var (
	chartTitle = picture.Style{Fill: picture.Text, Size: 15, Bold: true}
	chartFaint = picture.Style{Fill: picture.Faint, Size: 12}
)

// draw returns the diagram. It is low enough for two to stand above each other on a screen.
func (d *diagram) draw(width float64, prefix string) *Picture {
	p := &picture.Picture{Width: width, Title: d.title, Desc: d.desc}
	height := min(max(width*0.4, 150), 300)
	area := chart.Panel{P: p, Top: 60}
	area.Bottom = area.Top + height
	p.Height = area.Bottom + 46
	var names []string
	for _, l := range d.lines {
		names = append(names, l.Name)
	}
	room := chart.NameRoom(names, nameSpace*width)
	y := d.values(area.Bottom, area.Top)
	values := chart.ValueTicks(y, d.whole)
	for _, t := range values {
		area.Left = max(area.Left, chartMargin+8+picture.Width(t.Label, 11))
	}
	area.Right = width - chartMargin - max(room, 10)
	x := chart.Axis{High: d.end.Seconds(), From: area.Left, To: area.Right}
	times := chart.TimeTicks(x)

	p.Rect(0, 0, width, p.Height, picture.Style{Fill: picture.Ground}, "")
	p.Text(chartMargin, chartMargin+12, chartTitle, d.title)
	name := d.yName
	if y.Log() {
		name += " (logarithmic above " + chart.ValueLabel(y.Low) + ")"
	}
	p.Text(chartMargin, area.Top-14, chartFaint, name)
	area.Grid(x, times, y, values)
	area.TimeLabels(x, times)
	area.Lines(x, y, d.lines, room)
	p.Text(area.Left, area.Bottom+36, chartFaint, "time since the first start")
	return drawn(p, prefix)
}

// values returns the axis of the values.
func (d *diagram) values(bottom, top float64) chart.Axis {
	highest, lowest, least := 0.0, math.Inf(1), math.Inf(1) // of the lines' highest ones; least: above 0
	for _, line := range d.lines {
		peak := 0.0
		for _, p := range line.Points {
			peak = max(peak, p.Y)
			if p.Y > 0 {
				least = min(least, p.Y)
			}
		}
		highest = max(highest, peak)
		if peak > 0 {
			lowest = min(lowest, peak)
		}
	}
	if highest == 0 {
		return chart.Axis{High: 1, From: bottom, To: top}
	}
	a := chart.Axis{High: highest * 1.05, From: bottom, To: top}
	if highest/lowest >= chart.AutoLog {
		a.Low, a.Band = max(chart.Decade(least), chart.Decade(highest)*1e-6), 16
	}
	return a
}
