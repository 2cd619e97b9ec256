package lint

import (
	"slices"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// For tests from outside.
const (
	MaxObjectBytes = maxObjectBytes
	Oldest         = oldest
	Newest         = newest
)

var (
	AddSaturating = addSaturating
	MulSaturating = mulSaturating
	Saturated     = saturated
)

// Void returns the positions of the codes or patterns of a rule that have no effect,
// because earlier rules decide on them or the rule repeats them.
func Void(s *batch.JobSpec, rule int) (positions []int) {
	c := checker{spec: *s}
	for _, d := range c.decidedBefore(rule) {
		positions = append(positions, d.position)
	}
	r := &s.PodFailurePolicy.Rules[rule]
	for k, o := range r.OnPodConditions {
		if r.OnExitCodes == nil && slices.Contains(r.OnPodConditions[:k], o) {
			positions = append(positions, k)
		}
	}
	return positions
}
