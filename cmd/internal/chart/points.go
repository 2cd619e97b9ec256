package chart

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// mostSteps is the largest number of restarts of a group for which a line shows every
// restart as a step. Lines with more restarts show the counts at mostSteps instants.
const mostSteps = 500

// Counts returns the restarts of a curve as points of a line, from the first start to
// the figure's end.
func (f *Figure) Counts(c Curve) []picture.Point {
	for _, g := range c.Groups {
		if c.restartsOf(g, backoff.Window{From: -1, To: f.End}) > mostSteps {
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

// samples returns the number of restarts up to each of mostSteps instants. On a
// logarithmic time axis, earlier instants are closer together.
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

// mostBins is the highest number of bins for averaging rates. On a linear axis each bin
// has a round length, to avoid interference with regular restarts.
const mostBins = 120

// Rates returns n times the restarts of a curve per second as points of a line. On a
// logarithmic time axis the bins for averaging grow with time.
func (f *Figure) Rates(c Curve, n float64) (line []picture.Point) {
	edges := f.edges()
	for i, to := range edges[1:] {
		from := edges[i]
		before := from
		if i == 0 {
			before = -1 // the first bin includes restarts at time 0
		}
		rate := n * c.Restarts(before, to) / (to - from).Seconds()
		line = append(line, picture.Point{X: from.Seconds(), Y: rate}, picture.Point{X: to.Seconds(), Y: rate})
	}
	return line
}

// edges returns the starts of the bins, and the end of the time axis.
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

// bin returns the length of the bins on a linear axis.
func (f *Figure) bin() time.Duration { return min(Step(f.End-1, mostBins), f.End) }

// Averaged describes the bins for averaging rates.
func (f *Figure) Averaged() string {
	if f.LogTime {
		return "averaged over a 120th of the axis"
	}
	return "averaged over " + TimeLabel(f.bin())
}
