package backoff

import (
	"slices"
	"time"
)

// record is what a Restarter knows about one key. Times are steady times.
type record struct {
	last     Exit
	decision Decision
	due      time.Duration   // of the restart, if there is one
	told     time.Duration   // when the exit was told last
	booked   bool            // due is booked in the bucket
	recent   []time.Duration // when the restarts within Window were decided, oldest first; at most Limit
	keep     time.Duration   // how long after due and told the record can matter
}

// remaining is the wait that is left. It is within the Delay, for due is never
// further off and steady time never goes back.
func (r *record) remaining(now time.Duration) time.Duration {
	if !r.decision.Action.restarts() {
		return 0
	}
	return max(subtract(r.due, now), 0)
}

// allow counts one more restart against the limit, or reports that it is used up.
func (r *record) allow(limit int, window, now time.Duration) bool {
	if limit == 0 {
		return true
	}
	if window > 0 {
		r.recent = slices.DeleteFunc(r.recent, func(at time.Duration) bool { return subtract(now, at) >= window })
	}
	if len(r.recent) >= limit {
		return false
	}
	r.recent = append(r.recent, now)
	return true
}
