package page

import (
	"fmt"
	"math"
	"time"

	"github.com/restartkit/restart/examples/internal/picture"
)

// chart is a diagram of values over time.
type chart struct {
	title, desc string
	yName       string
	end         time.Duration
	lines       []chartLine
	log         bool // the axis of the values is logarithmic

	p                        *picture.Picture
	left, right, top, bottom float64
	low, high                float64
}

type chartLine struct {
	name   string
	points []chartPoint
}

type chartPoint struct {
	at    time.Duration
	value float64
}

// The lines differ by colour, and by dashes for those who cannot see that.
var lineStyles = [mostPolicies]picture.Style{
	{Stroke: picture.Pair(0x0072b2, 0x56b4e9), Width: 2},
	{Stroke: picture.Vermillion, Width: 2, Dash: 7},
	{Stroke: picture.BluishGreen, Width: 2, Dash: 3},
	{Stroke: picture.ReddishPurple, Width: 2, Dash: 12},
}

// The restarts of a pod are drawn one by one, up to mostSteps of them; beyond that, and
// for rates, there are so many samples.
const (
	mostDrawn = 500
	samples   = 240
	// From this ratio of the highest line to the lowest on, the axis is logarithmic:
	// on a linear one the lowest would look flat.
	autoLog = 20
)

// restartPicture draws the restarts of one pod.
func (s Settings) restartPicture(all []curve, window time.Duration, width float64) *Picture {
	c := chart{
		title: "Restarts of one pod",
		desc:  fmt.Sprintf("Restarts of a pod that fails after runs of %s, up to %s.", s.Run, picture.Duration(window)),
		yName: "restarts", end: window,
	}
	for _, one := range all {
		c.lines = append(c.lines, chartLine{one.name, one.points(window)})
		c.desc += fmt.Sprintf(" %s: %s.", one.name, picture.Number(one.restarts(-1, window)))
	}
	return c.draw(width, "restarts")
}

// points returns the number of restarts over time.
func (c curve) points(window time.Duration) (points []chartPoint) {
	points = append(points, chartPoint{0, 0})
	if c.restarts(-1, window) > mostDrawn {
		for i := range samples {
			at := window / samples * time.Duration(i+1)
			points = append(points, chartPoint{at, c.restarts(-1, at)})
		}
		return points
	}
	n := 0.0
	for at := range c.policy.Timeline(func(int) time.Duration { return c.run }) {
		if at > window {
			break
		}
		points = append(points, chartPoint{at, n}, chartPoint{at, n + 1})
		n++
	}
	return append(points, chartPoint{window, n})
}

// requestPicture draws what all pods of a node ask of the API server.
func (s Settings) requestPicture(all []curve, window time.Duration, width float64) *Picture {
	c := chart{
		title: "Requests per second of the node",
		desc:  fmt.Sprintf("%d pods that fail at the same times, %s for each restart, as the average of %s.", s.Pods, count(s.Requests, "request"), picture.Duration(min(bucket(window), window))),
		yName: "requests per second", end: window,
	}
	for _, one := range all {
		c.lines = append(c.lines, chartLine{one.name, s.rates(one, window)})
	}
	return c.draw(width, "requests")
}

// bucket is the length of the parts of a window over which rates are averaged. The last
// one can be shorter.
func bucket(window time.Duration) time.Duration { return max(window/samples, 10*time.Second) }

// rates returns the requests per second of all pods over time.
func (s Settings) rates(c curve, window time.Duration) (points []chartPoint) {
	for from := time.Duration(0); from < window; from += bucket(window) {
		to := min(from+bucket(window), window)
		begin := from
		if from == 0 {
			begin = -1 // the first part has its beginning
		}
		rate := c.restarts(begin, to) * float64(s.Pods) * float64(s.Requests) / (to - from).Seconds()
		points = append(points, chartPoint{from, rate}, chartPoint{to, rate})
	}
	return points
}

const (
	chartMargin = 12
	chartFont   = 12
)

var (
	chartTitle = picture.Style{Fill: picture.Text, Size: 15, Bold: true}
	chartText  = picture.Style{Fill: picture.Text, Size: chartFont}
	chartFaint = picture.Style{Fill: picture.Faint, Size: chartFont}
	chartGrid  = picture.Style{Stroke: picture.Grid, Width: 1}
	chartAxis  = picture.Style{Stroke: picture.Faint, Width: 1}
)

// draw returns the chart.
func (c *chart) draw(width float64, prefix string) *Picture {
	c.scale()
	c.p = &picture.Picture{Width: width, Title: c.title, Desc: c.desc}
	height := min(max(width*0.45, 260), 620)
	ground := len(c.p.Shapes)
	c.p.Text(chartMargin, chartMargin+12, chartTitle, c.title)
	y := c.legend(chartMargin + 12 + 22)
	name := c.yName
	if c.log {
		name += " (logarithmic)"
	}
	c.p.Text(chartMargin, y+6, chartFaint, name)
	c.top = y + 18
	c.bottom, c.p.Height = c.top+height, c.top+height+46
	c.left, c.right = chartMargin+8, width-chartMargin-8
	for _, v := range c.ticks() {
		c.left = max(c.left, chartMargin+8+picture.Width(picture.Number(v), chartFont))
	}
	c.axes()
	for i, line := range c.lines {
		points := make([]picture.Point, len(line.points))
		for j, p := range line.points {
			points[j] = picture.Point{X: c.x(p.at), Y: c.y(p.value)}
		}
		c.p.Line(lineStyles[i], "", points...)
	}
	back := picture.Shape{Kind: picture.Rectangle, Points: []picture.Point{{}, {X: width, Y: c.p.Height}}, Style: picture.Style{Fill: picture.Ground}}
	c.p.Shapes = append(c.p.Shapes[:ground:ground], append([]picture.Shape{back}, c.p.Shapes[ground:]...)...)
	return drawn(c.p, prefix)
}

// scale finds the range of the values.
func (c *chart) scale() {
	least := math.Inf(1) // of the lines' highest values
	c.low = math.Inf(1)  // above 0
	for _, line := range c.lines {
		top := 0.0
		for _, p := range line.points {
			top = max(top, p.value)
			if p.value > 0 {
				c.low = min(c.low, p.value)
			}
		}
		least, c.high = min(least, top), max(c.high, top)
	}
	c.high = max(c.high, 1e-9)
	c.log = least > 0 && c.high/least >= autoLog
	if !c.log {
		c.low = 0
	}
}

// legend names the lines, and returns the place below.
func (c *chart) legend(y float64) float64 {
	x := float64(chartMargin)
	for i, line := range c.lines {
		need := 36 + picture.Width(line.name, chartFont) + 16
		if x > chartMargin && x+need > c.p.Width-chartMargin {
			x, y = chartMargin, y+18
		}
		c.p.Line(lineStyles[i], "", picture.Point{X: x, Y: y - 4}, picture.Point{X: x + 28, Y: y - 4})
		c.p.Text(x+36, y, chartText, picture.Fit(line.name, chartFont, c.p.Width-2*chartMargin-36))
		x += need
	}
	return y + 14
}

func (c *chart) x(at time.Duration) float64 {
	return c.left + (c.right-c.left)*float64(at)/float64(c.end)
}

func (c *chart) y(value float64) float64 {
	part := value / c.high
	if c.log {
		part = math.Log(max(value, c.low)/c.low) / max(math.Log(c.high/c.low), 1e-9)
	}
	return c.bottom - (c.bottom-c.top)*part
}

func (c *chart) axes() {
	for _, v := range c.ticks() {
		y := c.y(v)
		c.p.Line(chartGrid, "", picture.Point{X: c.left, Y: y}, picture.Point{X: c.right, Y: y})
		style := chartFaint
		style.Anchor = picture.End
		c.p.Text(c.left-6, y+4, style, picture.Number(v))
	}
	last := -1000.0
	for _, at := range timeTicks(c.end, int((c.right-c.left)/60)) {
		x := c.x(at)
		c.p.Line(chartGrid, "", picture.Point{X: x, Y: c.top}, picture.Point{X: x, Y: c.bottom})
		style := chartFaint
		label := picture.Duration(at)
		half := picture.Width(label, chartFont) / 2
		style.Anchor = picture.Middle
		if x+half > c.p.Width-2 {
			style.Anchor, x = picture.End, c.p.Width-2
		}
		if x-half > last+4 {
			c.p.Text(x, c.bottom+17, style, label)
			last = x + half
		}
	}
	c.p.Line(chartAxis, "", picture.Point{X: c.left, Y: c.top}, picture.Point{X: c.left, Y: c.bottom}, picture.Point{X: c.right, Y: c.bottom})
	c.p.Text(c.left, c.bottom+36, chartFaint, picture.Fit("time since the first start", chartFont, c.right-c.left))
}

// ticks returns round values of the axis.
func (c *chart) ticks() (all []float64) {
	if c.log {
		for v := math.Pow(10, math.Floor(math.Log10(c.low))); v <= c.high && len(all) < 20; v *= 10 {
			if v >= c.low {
				all = append(all, v)
			}
		}
		if len(all) > 1 {
			return all
		}
		return []float64{c.low, c.high}
	}
	step := math.Pow(10, math.Floor(math.Log10(c.high/4)))
	for _, digit := range []float64{1, 2, 5, 10} {
		if c.high/(step*digit) <= 6 {
			step *= digit
			break
		}
	}
	for i := 0.0; i*step <= c.high*1.0001; i++ {
		all = append(all, math.Round(i*step*1e9)/1e9)
	}
	return all
}

// timeTicks returns round times in 0..end, at most about that many.
func timeTicks(end time.Duration, most int) (all []time.Duration) {
	step := end
	for _, s := range []time.Duration{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400} {
		if end/(s*time.Second) <= time.Duration(max(most, 2)) {
			step = s * time.Second
			break
		}
	}
	if step == end {
		step = max(end/5, 1)
	}
	for at := time.Duration(0); at <= end && len(all) < 50; at += step {
		all = append(all, at)
	}
	return all
}
