package jobpolicy

import (
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// staleDisruptionAfter is the longest time from the announcement of a disruption to its
// begin.
const staleDisruptionAfter = 2 * time.Minute

// StaleDisruption reports whether the pod's DisruptionTarget condition has been True for
// two minutes although the pod is neither being deleted nor finished. Set a stale
// condition to False. Otherwise rules for DisruptionTarget still match when the program
// fails later for a reason of its own.
//
// While the condition is not stale yet, after is the time until it is; otherwise after is
// 0. Conditions with the reason TerminationByKubelet never become stale, because the
// kubelet ends the pod itself (KEP-3329, "Failing delete after a condition is added").
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
