package chart

import (
	"math"
	"time"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/cmd/internal/preset"
	"github.com/restartkit/restart/cmd/internal/timeline/picture"
)

// Curve is a backoff and the pods under it.
type Curve struct {
	Name    string
	Policy  backoff.Policy
	Limit   preset.StartLimit
	Outside bool    // not restarted by a kubelet, so restarts cost no API requests
	Groups  []Group // at least one
}

// Group is a number of pods with runs of equal length.
type Group struct {
	Pods int
	Run  time.Duration
}

// PerPod returns the curve of one pod in the first group.
func (c Curve) PerPod() Curve {
	c.Groups = []Group{{Pods: 1, Run: c.Groups[0].Run}}
	return c
}

// Restarts returns the number of restarts in (from, to], exact up to 2^53.
func (c Curve) Restarts(from, to time.Duration) float64 {
	total := 0.0
	for _, g := range c.Groups {
		total += float64(g.Pods) * float64(c.restartsOf(g, backoff.Window{From: from, To: to}))
	}
	return total
}

// restartsOf returns the number of restarts of one pod in a group.
func (c Curve) restartsOf(g Group, in backoff.Window) int {
	return c.Limit.Count(c.Policy, g.Run, in)
}

// Requests returns the API requests per restart, given n per restart by a kubelet.
func (c Curve) Requests(n int) float64 {
	if c.Outside {
		return 0
	}
	return float64(n)
}

// GivenUp reports whether a group's restarts end in the long run.
func (c Curve) GivenUp(g Group) bool { return c.Limit.Restarts(c.Policy, g.Run) != math.MaxInt }

// Busiest returns the most restarts within a window of the given length, if all groups
// peak together.
func (c Curve) Busiest(window time.Duration) float64 {
	total := 0.0
	for _, g := range c.Groups {
		first := g.Run + c.Policy.Delay(1)
		total += float64(g.Pods) * float64(c.restartsOf(g, backoff.Window{From: first - 1, To: first - 1 + window}))
	}
	return total
}

// Steady returns the time between two restarts of a group's pods in the long run,
// ignoring the limit of starts.
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

// Delays describes a policy's delays in a few words.
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
