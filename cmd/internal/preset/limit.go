package preset

import (
	"math"
	"time"

	"github.com/restartkit/restart/backoff"
)

// StartLimit is how often a system starts something within a time before it gives up for
// good. The first start counts, too. The zero value is no limit.
type StartLimit struct {
	Starts int
	Within time.Duration
}

// Restarts returns how many restarts the limit allows under a policy, if every run lasts
// equally long; math.MaxInt means any number. Delays never shrink, so starts are never
// closer to each other than at the beginning: if the limit is not reached there, it is
// never reached.
func (l StartLimit) Restarts(p backoff.Policy, run time.Duration) int {
	if l.Starts > 0 && p.Restarts(run, backoff.Window{From: -1, To: l.Within}) >= l.Starts {
		return l.Starts - 1
	}
	return math.MaxInt
}

// Count returns how many restarts are made in an interval under a policy and the limit.
func (l StartLimit) Count(p backoff.Policy, run time.Duration, in backoff.Window) int {
	most := l.Restarts(p, run)
	if most == math.MaxInt {
		return p.Restarts(run, in)
	}
	before := p.Restarts(run, backoff.Window{From: -1, To: in.From})
	return min(before+p.Restarts(run, in), most) - min(before, most)
}
