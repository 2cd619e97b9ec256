package jobtest

import (
	"slices"
	"time"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// Start makes a pending pod Running and Ready.
func (c *Cluster) Start(uid string) {
	c.Change(uid, func(p *batch.Pod) {
		p.Status.Phase = batch.PodRunning
		SetCondition(p, batch.PodReady, batch.ConditionTrue, "", c.Now)
	})
}

// Exit ends all containers of the pod with the exit code. The pod becomes Succeeded
// with code 0, otherwise Failed.
func (c *Cluster) Exit(uid string, code int32) {
	c.Change(uid, func(p *batch.Pod) {
		p.Finish(code, c.Now)
		SetCondition(p, batch.PodReady, batch.ConditionFalse, "", c.Now)
	})
}

// Evict starts the deletion of a pod with the condition DisruptionTarget, as a drained
// node does. Exit ends the pod.
func (c *Cluster) Evict(uid string) {
	c.Change(uid, func(p *batch.Pod) {
		p.DeletionTimestamp = c.Now
		SetCondition(p, batch.DisruptionTarget, batch.ConditionTrue, batch.PodReasonEvictionByEvictionAPI, c.Now)
	})
}

// SetCondition sets a condition of a pod.
func SetCondition(p *batch.Pod, t batch.PodConditionType, status batch.ConditionStatus, reason string, now time.Time) {
	p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c batch.PodCondition) bool { return c.Type == t })
	p.Status.Conditions = append(p.Status.Conditions, batch.PodCondition{Type: t, Status: status, Reason: reason, LastTransitionTime: now})
}
