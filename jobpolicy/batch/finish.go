package batch

import (
	"time"

	"github.com/restartkit/restart/internal/seconds"
)

// Finish sets the status of a pod whose containers have all ended with the exit code at
// that time. The pod has succeeded if code is 0, and failed otherwise. A pod without
// containers in its specification gets the status of one container without a name.
//
// Keep the pod until Plan.Release of package jobpolicy names it, after the Job's status
// records its end and no replacement needs its failure counts.
func (p *Pod) Finish(code int32, at time.Time) {
	p.Status.Phase = PodSucceeded
	if code != 0 {
		p.Status.Phase = PodFailed
	}
	names := make([]string, max(len(p.Spec.Containers), 1))
	for i := range p.Spec.Containers {
		names[i] = p.Spec.Containers[i].Name
	}
	p.Status.ContainerStatuses = make([]ContainerStatus, len(names))
	for i, name := range names {
		p.Status.ContainerStatuses[i] = ContainerStatus{Name: name, State: ContainerState{
			Terminated: &ContainerStateTerminated{ExitCode: code, FinishedAt: at},
		}}
	}
}

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
	return pod.DeletionTimestamp.Add(-seconds.Duration(*pod.DeletionGracePeriodSeconds))
}

// endTime returns when the container ended, zero if it has not ended or the time is
// unknown.
func (c *ContainerStatus) endTime() time.Time {
	if c.State.Terminated == nil {
		return time.Time{}
	}
	return c.State.Terminated.FinishedAt
}
