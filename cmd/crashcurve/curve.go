package main

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/preset"
)

const (
	second = time.Second
	minute = time.Minute
	hour   = time.Hour
)

// curve is a policy and what it is applied to.
type curve struct {
	name    string
	system  string // whose look it has in pictures; "": its name
	policy  backoff.Policy
	limit   preset.StartLimit
	outside bool // its restarts make no API requests
	groups  []group
}

// group is a number of pods whose runs last equally long.
type group struct {
	pods int
	run  time.Duration
}

// perPod is the curve of a single pod of the first group.
func (c curve) perPod() curve {
	c.groups = []group{{pods: 1, run: c.groups[0].run}}
	return c
}

// restarts counts the restarts in (from, to]. It is exact up to 2^53.
func (c curve) restarts(from, to time.Duration) float64 {
	total := 0.0
	for _, g := range c.groups {
		total += float64(g.pods) * float64(c.restartsOf(g, backoff.Window{From: from, To: to}))
	}
	return total
}

// restartsOf counts the restarts of one pod of a group.
func (c curve) restartsOf(g group, in backoff.Window) int {
	return c.limit.Count(c.policy, g.run, in)
}

// givenUp reports whether a group's pods are not restarted any more in the long run.
func (c curve) givenUp(g group) bool { return c.limit.Restarts(c.policy, g.run) != math.MaxInt }

// busiest returns the highest number of restarts within a window of that length, if the
// pods of all groups are busiest at the same time. Delays never shrink, so each pod is
// busiest from its first restart on.
func (c curve) busiest(window time.Duration) float64 {
	total := 0.0
	for _, g := range c.groups {
		first := g.run + c.policy.Delay(1)
		total += float64(g.pods) * float64(c.restartsOf(g, backoff.Window{From: first - 1, To: first - 1 + window}))
	}
	return total
}

// steady returns the time between two restarts of a group's pods in the long run, unless
// they are given up.
func (c curve) steady(g group) time.Duration {
	if g.run > c.policy.ResetThreshold() {
		return g.run + c.policy.Delay(1)
	}
	return g.run + c.policy.Delay(math.MaxInt)
}

// steadyRate is the number of restarts per second in the long run.
func (c curve) steadyRate() float64 {
	rate := 0.0
	for _, g := range c.groups {
		if !c.givenUp(g) {
			rate += float64(g.pods) / c.steady(g).Seconds()
		}
	}
	return rate
}

// point is a number of restarts up to and including an instant.
type point struct {
	at    time.Duration
	count float64
}

// The picture shows every restart of a curve as a step, up to mostSteps restarts of a
// group. Beyond that it shows the count at a number of instants: samples.
const (
	mostSteps = 500
	samples   = 1000
)

// points returns the curve from the first restart up to end, and whether it is
// made of steps. With logTime the samples lie denser at the beginning.
func (c curve) points(end time.Duration, logTime bool) (points []point, steps bool) {
	for _, g := range c.groups {
		if c.restartsOf(g, backoff.Window{From: -1, To: end}) > mostSteps {
			return c.sampled(end, logTime), false
		}
	}
	for _, g := range c.groups {
		left := c.limit.Restarts(c.policy, g.run)
		for at := range c.policy.Timeline(func(int) time.Duration { return g.run }) {
			if at > end || g.pods == 0 || left == 0 {
				break
			}
			left--
			points = append(points, point{at, float64(g.pods)})
		}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	count := 0.0
	for i := range points {
		count += points[i].count
		points[i].count = count
	}
	return points, true
}

func (c curve) sampled(end time.Duration, logTime bool) []point {
	var points []point
	for i := range samples + 1 {
		part := float64(i) / samples
		at := time.Duration(part * float64(end))
		if logTime {
			at = time.Duration(math.Pow(float64(end), part))
		}
		if count := c.restarts(-1, min(at, end)); count > 0 {
			points = append(points, point{min(at, end), count})
		}
	}
	return points
}
