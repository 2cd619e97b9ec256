package preset

import (
	"math"
	"time"

	"github.com/restartkit/restart/backoff"
)

// StartLimit is the number of starts, including the first, within a period after which
// a system gives up for good. The zero value means no limit.
type StartLimit struct {
	Starts int
	Within time.Duration
}

// Restarts returns how many restarts the limit allows under a policy if all runs are
// equally long, or math.MaxInt if unlimited. Since delays never shrink, a limit not
// reached at the beginning is never reached.
func (l StartLimit) Restarts(p backoff.Policy, run time.Duration) int {
	if l.Starts > 0 && p.Restarts(run, backoff.Window{From: -1, To: l.Within}) >= l.Starts {
		return l.Starts - 1
	}
	return math.MaxInt
}

// Count returns the number of restarts in a window under a policy and the limit.
func (l StartLimit) Count(p backoff.Policy, run time.Duration, in backoff.Window) int {
	most := l.Restarts(p, run)
	if most == math.MaxInt {
		return p.Restarts(run, in)
	}
	before := p.Restarts(run, backoff.Window{From: -1, To: in.From})
	return min(before+p.Restarts(run, in), most) - min(before, most)
}
