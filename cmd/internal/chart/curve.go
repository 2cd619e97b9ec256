package chart

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/picture"
	"github.com/restartkit/restart/cmd/internal/preset"
)

// Curve is a backoff, and the pods that restart under it.
type Curve struct {
	Name    string
	Policy  backoff.Policy
	Limit   preset.StartLimit
	Outside bool    // no kubelet restarts the pods, so restarts make no API requests
	Groups  []Group // one at least
}

// Group is a number of pods whose runs last equally long.
type Group struct {
	Pods int
	Run  time.Duration
}

// PerPod returns the curve of a single pod of the first group.
func (c Curve) PerPod() Curve {
	c.Groups = []Group{{Pods: 1, Run: c.Groups[0].Run}}
	return c
}

// Restarts counts the restarts in (from, to]. It is exact up to 2^53.
func (c Curve) Restarts(from, to time.Duration) float64 {
	total := 0.0
	for _, g := range c.Groups {
		total += float64(g.Pods) * float64(c.restartsOf(g, backoff.Interval{From: from, To: to}))
	}
	return total
}

// restartsOf counts the restarts of one pod of a group.
func (c Curve) restartsOf(g Group, in backoff.Interval) int {
	return c.Limit.Count(c.Policy, g.Run, in)
}

// Requests returns how many API requests a restart makes, if one by a kubelet makes n.
func (c Curve) Requests(n int) float64 {
	if c.Outside {
		return 0
	}
	return float64(n)
}

// GivenUp reports whether a group's pods are not restarted any more in the long run.
func (c Curve) GivenUp(g Group) bool { return c.Limit.Restarts(c.Policy, g.Run) != math.MaxInt }

// Busiest returns the highest number of restarts within a window of that length, if the
// pods of all groups are busiest at the same time. Delays never shrink, so each pod is
// busiest from its first restart on.
func (c Curve) Busiest(window time.Duration) float64 {
	total := 0.0
	for _, g := range c.Groups {
		first := g.Run + c.Policy.Delay(1)
		total += float64(g.Pods) * float64(c.restartsOf(g, backoff.Interval{From: first - 1, To: first - 1 + window}))
	}
	return total
}

// Steady returns the time between two restarts of a group's pods in the long run, unless
// they are given up.
func (c Curve) Steady(g Group) time.Duration {
	if g.Run > c.Policy.ResetThreshold() {
		return g.Run + c.Policy.Delay(1)
	}
	return g.Run + c.Policy.Delay(math.MaxInt)
}

// SteadyRate returns the number of restarts per second in the long run.
func (c Curve) SteadyRate() float64 {
	rate := 0.0
	for _, g := range c.Groups {
		if !c.GivenUp(g) {
			rate += float64(g.Pods) / c.Steady(g).Seconds()
		}
	}
	return rate
}

// Delays returns the delays of a policy in a few words.
func Delays(p backoff.Policy) string {
	text := picture.Duration(p.Initial) + " to " + picture.Duration(p.Max)
	switch {
	case p.Initial == p.Max:
		return "always " + picture.Duration(p.Max)
	case p.Factor != 0 && p.Factor != 2:
		text += ", factor " + digits(p.Factor)
	}
	return text
}

// A line shows every restart of a curve as a step, up to mostSteps restarts of a group.
// Beyond that it shows the count at as many instants.
const mostSteps = 500

// Counts returns the restarts of a curve as the points of a line, from the first start to
// the figure's end.
func (f *Figure) Counts(c Curve) []picture.Point {
	for _, g := range c.Groups {
		if c.restartsOf(g, backoff.Interval{From: -1, To: f.End}) > mostSteps {
			return f.samples(c)
		}
	}
	var steps []picture.Point
	for _, g := range c.Groups {
		left := c.Limit.Restarts(c.Policy, g.Run)
		for at := range c.Policy.Timeline(func(int) time.Duration { return g.Run }) {
			if at > f.End || g.Pods == 0 || left == 0 {
				break
			}
			left--
			steps = append(steps, picture.Point{X: at.Seconds(), Y: float64(g.Pods)})
		}
	}
	slices.SortStableFunc(steps, func(a, b picture.Point) int { return cmp.Compare(a.X, b.X) })
	line, count := []picture.Point{{}}, 0.0
	for _, s := range steps {
		line = append(line, picture.Point{X: s.X, Y: count}, picture.Point{X: s.X, Y: count + s.Y})
		count += s.Y
	}
	return append(line, picture.Point{X: f.End.Seconds(), Y: count})
}

// samples returns the restarts up to each of many instants. On a logarithmic axis of time
// they lie denser at the beginning.
func (f *Figure) samples(c Curve) []picture.Point {
	line := []picture.Point{{}}
	for i := range mostSteps {
		part := float64(i+1) / mostSteps
		at := time.Duration(part * float64(f.End))
		if f.LogTime {
			at = time.Duration(math.Pow(float64(f.End), part))
		}
		if i == mostSteps-1 {
			at = f.End
		}
		line = append(line, picture.Point{X: at.Seconds(), Y: c.Restarts(-1, at)})
	}
	return line
}

// mostBins is the highest number of parts of the time axis over which rates are
// averaged. On a linear axis each part is a round time, so that regular restarts do not
// beat with the parts.
const mostBins = 120

// Rates returns how much the restarts of a curve make per second, if each makes n, as the
// points of a line. On a logarithmic axis of time the parts over which they are averaged
// grow with it.
func (f *Figure) Rates(c Curve, n float64) (line []picture.Point) {
	edges := f.edges()
	for i, to := range edges[1:] {
		from := edges[i]
		before := from
		if i == 0 {
			before = -1 // restarts at the first start are in the first part
		}
		rate := n * c.Restarts(before, to) / (to - from).Seconds()
		line = append(line, picture.Point{X: from.Seconds(), Y: rate}, picture.Point{X: to.Seconds(), Y: rate})
	}
	return line
}

// edges returns where the parts of the time axis begin, and its end.
func (f *Figure) edges() []time.Duration {
	edges := []time.Duration{0}
	least := f.leastTime() * float64(time.Second)
	for i := range mostBins - 1 {
		at := time.Duration(i+1) * f.bin()
		if f.LogTime {
			at = time.Duration(least * math.Pow(float64(f.End)/least, float64(i)/(mostBins-1)))
		}
		if at > edges[len(edges)-1] && at < f.End {
			edges = append(edges, at)
		}
	}
	return append(edges, f.End)
}

// bin is the length of the parts of a linear axis.
func (f *Figure) bin() time.Duration { return min(Step(f.End-1, mostBins), f.End) }

// Averaged says over how long rates are averaged.
func (f *Figure) Averaged() string {
	if f.LogTime {
		return "averaged over a 120th of the axis"
	}
	return "averaged over " + TimeLabel(f.bin())
}
