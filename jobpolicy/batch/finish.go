package batch

import (
	"math"
	"time"
)

// FinishTime returns when a finished pod ended, from the first available source:
//
//  1. the latest end of its containers, sidecars included, if all have ended;
//  2. the last transition of the Ready condition, if it is False;
//  3. the request for its deletion;
//  4. its creation.
//
// As in Kubernetes, if all sidecars but not all app containers have ended, the latest
// end of the sidecars counts.
func (p *Pod) FinishTime() time.Time {
	if p == nil {
		return time.Time{}
	}
	if t, ok := containersEnd(p); ok {
		return t
	}
	if c := p.Condition(PodReady); c != nil && c.Status == ConditionFalse && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime
	}
	if !p.DeletionTimestamp.IsZero() {
		return deletionAsked(p)
	}
	return p.CreationTimestamp
}

// containersEnd returns the latest end of the app containers and sidecars. It returns
// false if a sidecar has not ended. If an app container has not ended, only the
// sidecars count.
func containersEnd(pod *Pod) (end time.Time, ok bool) {
	for i := range pod.Status.ContainerStatuses {
		t := pod.Status.ContainerStatuses[i].endTime()
		if t.IsZero() {
			end = time.Time{}
			break
		}
		if t.After(end) {
			end = t
		}
	}
	sidecars := pod.Spec.Sidecars()
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		if !sidecars[c.Name] {
			continue
		}
		t := c.endTime()
		if t.IsZero() {
			return time.Time{}, false
		}
		if t.After(end) {
			end = t
		}
	}
	return end, !end.IsZero()
}

// deletionAsked returns the time of the deletion request, one grace period before the
// deletion timestamp.
func deletionAsked(pod *Pod) time.Time {
	if pod.DeletionGracePeriodSeconds == nil {
		return pod.DeletionTimestamp
	}
	return pod.DeletionTimestamp.Add(-Seconds(*pod.DeletionGracePeriodSeconds))
}

// endTime returns when the container ended, zero if it has not ended or the time is
// unknown.
func (c *ContainerStatus) endTime() time.Time {
	if c.State.Terminated == nil {
		return time.Time{}
	}
	return c.State.Terminated.FinishedAt
}

// Seconds returns n seconds, limited to the range of a Duration.
func Seconds(n int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	return time.Duration(min(max(n, -most), most)) * time.Second
}
