package jobpolicy

import (
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// staleDisruptionAfter is how long a disruption that was announced may take to
// begin.
const staleDisruptionAfter = 2 * time.Minute

// StaleDisruption reports whether the pod's DisruptionTarget condition was set but
// nothing came of it: the condition is True, yet two minutes later the pod is
// neither being deleted nor finished. Take such a condition back, or it excuses a
// later failure that is the program's own. While a disruption is pending, after
// says how long until it is stale; otherwise it is 0. A condition that the kubelet
// set (TerminationByKubelet) never becomes stale, since the kubelet itself ends
// the pod. (KEP-3329, "Failing delete after a condition is added")
func StaleDisruption(p *batch.Pod, now time.Time) (stale bool, after time.Duration) {
	if p == nil {
		return false, 0
	}
	c := p.Condition(batch.DisruptionTarget)
	if c == nil || c.Status != batch.ConditionTrue || c.Reason == batch.PodReasonTerminationByKubelet ||
		!p.DeletionTimestamp.IsZero() || p.Finished() {
		return false, 0
	}
	elapsed := max(now.Sub(c.LastTransitionTime), 0) // a clock that stepped back
	if elapsed >= staleDisruptionAfter {
		return true, 0
	}
	return false, staleDisruptionAfter - elapsed
}
