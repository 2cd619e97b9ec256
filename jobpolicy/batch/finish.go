package batch

import (
	"math"
	"time"
)

// FinishTime returns when a finished pod did so, by the first of four look-ups
// that has an answer:
//
//  1. the latest end of its containers, if all of them have ended; sidecars are
//     waited for too;
//  2. the last transition of a Ready condition that is False;
//  3. when its deletion was asked for;
//  4. its creation.
//
// A nil pod, and one without any of these, finished at the zero time. As in
// Kubernetes, if not all app containers have ended but all sidecars have, the
// latest end of the sidecars counts.
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

// containersEnd returns the latest end of the app containers and sidecars. If a
// sidecar has not ended there is none; if an app container has not, the sidecars
// alone count.
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

// deletionAsked is when the deletion was asked for: the deletion time stamp lies
// a grace period after that.
func deletionAsked(pod *Pod) time.Time {
	if pod.DeletionGracePeriodSeconds == nil {
		return pod.DeletionTimestamp
	}
	return pod.DeletionTimestamp.Add(-Seconds(*pod.DeletionGracePeriodSeconds))
}

// endTime is when the container ended, zero if it has not or nobody knows.
func (c *ContainerStatus) endTime() time.Time {
	if c.State.Terminated == nil {
		return time.Time{}
	}
	return c.State.Terminated.FinishedAt
}

// Seconds returns n seconds, at most those that a Duration holds. API fields count
// in whole seconds.
func Seconds(n int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	return time.Duration(min(max(n, -most), most)) * time.Second
}
