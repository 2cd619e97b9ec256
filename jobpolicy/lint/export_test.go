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

// Reach is the reach of a rule.
type Reach struct {
	Decides bool
	Void    []int // positions of codes or patterns without an effect
}

// ReachOf returns the reach of each rule of a specification with defaults.
func ReachOf(s *batch.JobSpec) (all []Reach) {
	for _, r := range reachOf(s) {
		all = append(all, Reach{Decides: r.decides, Void: slices.Concat(r.shadowed, r.twice)})
	}
	return all
}
