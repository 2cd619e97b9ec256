package main

import (
	"slices"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// finish publishes the end of the pod.
func (r *podRun) finish(ok bool) {
	r.update(func(s *batch.PodStatus) {
		switch {
		case ok:
			s.Phase = batch.PodSucceeded
		case !r.begun:
			s.Phase, s.Reason, s.Message = batch.PodFailed, "Deleted", "Deleted while pending"
		default:
			s.Phase = batch.PodFailed
		}
	})
}

// lose marks the containers without a known exit as killed by SIGKILL.
func (r *podRun) lose() {
	now := time.Now()
	for i := range r.pod.Spec.Containers {
		if c := r.container(r.pod.Spec.Containers[i], &r.status.ContainerStatuses[i]); len(c.past) == 0 {
			c.ended(exit{Code: 137, Signal: 9, Began: now, At: now})
		}
	}
}

// disrupt adds the condition of a disruption.
func (r *podRun) disrupt(c batch.PodCondition) {
	r.update(func(s *batch.PodStatus) { s.Conditions = setCondition(s.Conditions, c) })
}

// update changes the status and publishes it.
func (r *podRun) update(change func(*batch.PodStatus)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.status)
	r.setReady()
	published := r.status
	published.InitContainerStatuses = slices.Clone(r.status.InitContainerStatuses)
	published.ContainerStatuses = slices.Clone(r.status.ContainerStatuses)
	r.host.publish(r.pod.UID, &published)
}

// publish publishes the status before the pod runs.
func (r *podRun) publish() { r.update(func(*batch.PodStatus) {}) }

// setReady updates the Ready condition. A pod without probes is ready while all its
// containers run.
func (r *podRun) setReady() {
	c := batch.PodCondition{Type: batch.PodReady, Status: batch.ConditionFalse, LastTransitionTime: time.Now()}
	if r.status.Phase == batch.PodRunning && !slices.ContainsFunc(r.status.ContainerStatuses, func(c batch.ContainerStatus) bool { return c.State.Running == nil }) {
		c.Status = batch.ConditionTrue
	}
	r.status.Conditions = setCondition(r.status.Conditions, c)
}

// setCondition returns a copy of the conditions with c added or replaced. If the status
// is the same, the old condition keeps its time.
func setCondition(conditions []batch.PodCondition, c batch.PodCondition) []batch.PodCondition {
	i := slices.IndexFunc(conditions, func(old batch.PodCondition) bool { return old.Type == c.Type })
	switch {
	case i < 0:
		return append(slices.Clone(conditions), c)
	case conditions[i].Status == c.Status:
		return conditions
	}
	conditions = slices.Clone(conditions)
	conditions[i] = c
	return conditions
}

func waitingStatus(name string) batch.ContainerStatus {
	return batch.ContainerStatus{Name: name, State: batch.ContainerState{Waiting: &batch.ContainerStateWaiting{Reason: "PodInitializing"}}}
}
