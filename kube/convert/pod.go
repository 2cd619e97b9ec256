package convert

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/jobpolicy"
)

// Pod returns the fields of a pod that jobpolicy knows.
func Pod(p *corev1.Pod) *jobpolicy.Pod {
	if p == nil {
		return nil
	}
	return &jobpolicy.Pod{
		Kind:       p.Kind,
		APIVersion: p.APIVersion,
		ObjectMeta: meta(&p.ObjectMeta),
		Spec:       podSpec(&p.Spec),
		Status: jobpolicy.PodStatus{
			Phase:                 jobpolicy.PodPhase(p.Status.Phase),
			Conditions:            each(p.Status.Conditions, podCondition),
			Message:               p.Status.Message,
			Reason:                p.Status.Reason,
			StartTime:             timeAt(p.Status.StartTime),
			InitContainerStatuses: each(p.Status.InitContainerStatuses, containerStatus),
			ContainerStatuses:     each(p.Status.ContainerStatuses, containerStatus),
		},
	}
}

// Pods returns the pods, each as Pod does: the Pods of an Input.
func Pods(pods []*corev1.Pod) []*jobpolicy.Pod {
	return each(pods, func(p **corev1.Pod) *jobpolicy.Pod { return Pod(*p) })
}

func podCondition(c *corev1.PodCondition) jobpolicy.PodCondition {
	return jobpolicy.PodCondition{
		Type:               jobpolicy.PodConditionType(c.Type),
		Status:             jobpolicy.ConditionStatus(c.Status),
		LastTransitionTime: c.LastTransitionTime.Time,
		Reason:             c.Reason,
		Message:            c.Message,
	}
}

func containerStatus(c *corev1.ContainerStatus) jobpolicy.ContainerStatus {
	status := jobpolicy.ContainerStatus{Name: c.Name, Ready: c.Ready, RestartCount: c.RestartCount}
	if w := c.State.Waiting; w != nil {
		status.State.Waiting = &jobpolicy.ContainerStateWaiting{Reason: w.Reason, Message: w.Message}
	}
	if r := c.State.Running; r != nil {
		status.State.Running = &jobpolicy.ContainerStateRunning{StartedAt: r.StartedAt.Time}
	}
	if t := c.State.Terminated; t != nil {
		status.State.Terminated = &jobpolicy.ContainerStateTerminated{
			ExitCode:   t.ExitCode,
			Signal:     t.Signal,
			Reason:     t.Reason,
			Message:    t.Message,
			StartedAt:  t.StartedAt.Time,
			FinishedAt: t.FinishedAt.Time,
		}
	}
	return status
}
