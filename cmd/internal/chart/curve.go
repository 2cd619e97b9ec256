package chart

import (
	"math"
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
		total += float64(g.Pods) * float64(c.restartsOf(g, backoff.Window{From: from, To: to}))
	}
	return total
}

// restartsOf counts the restarts of one pod of a group.
func (c Curve) restartsOf(g Group, in backoff.Window) int {
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
		total += float64(g.Pods) * float64(c.restartsOf(g, backoff.Window{From: first - 1, To: first - 1 + window}))
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
