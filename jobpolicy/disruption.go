package jobpolicy

import (
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// staleDisruptionAfter is the longest time from the announcement of a disruption to its
// begin.
const staleDisruptionAfter = 2 * time.Minute

// StaleDisruption reports whether the pod's DisruptionTarget condition has been True
// for two minutes without the pod being deleted or finished. Reset such a condition, or
// it excuses a later failure of the program. While a disruption is pending, after is
// the time until it is stale, otherwise 0. Conditions set by the kubelet
// (TerminationByKubelet) never become stale, because it ends the pod itself (KEP-3329,
// "Failing delete after a condition is added").
func StaleDisruption(p *batch.Pod, now time.Time) (stale bool, after time.Duration) {
	if p == nil {
		return false, 0
	}
	c := p.Condition(batch.DisruptionTarget)
	if c == nil || c.Status != batch.ConditionTrue || c.Reason == batch.PodReasonTerminationByKubelet ||
		!p.DeletionTimestamp.IsZero() || p.Finished() {
		return false, 0
	}
	elapsed := max(now.Sub(c.LastTransitionTime), 0) // the clock may have stepped back
	if elapsed >= staleDisruptionAfter {
		return true, 0
	}
	return false, staleDisruptionAfter - elapsed
}
