package testenv

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Outcome scripts a pod. With the zero value it runs and succeeds at once.
type Outcome struct {
	Pending bool          // stay Pending until deleted
	Start   time.Duration // delay before it runs
	Forever bool          // run until deleted
	Run     time.Duration // how long it runs, unless Forever
	Direct  bool          // end with one write, without a node or Running

	ExitCodes  []int32               // of the containers; missing ones are 0
	Phase      corev1.PodPhase       // final phase; empty means Succeeded or, with an exit code other than 0, Failed
	Reason     string                // of the final status, such as Evicted
	Message    string                // of the final status
	Conditions []corev1.PodCondition // of the final status, such as DisruptionTarget
	Restarts   int32                 // of each container, shown once it runs

	// Stop is how long containers continue after the pod is deleted, at most the grace
	// period. They exit with code 143 or, at the end of the grace period, 137.
	Stop time.Duration
}

// step is the kubelet's next step for a pod.
type step int

const (
	stepNone   step = iota // until the pod changes
	stepBind               // bind the pod to the node
	stepRun                // write that it runs
	stepEnd                // write its scripted end
	stepStop               // write its end by deletion
	stepRemove             // remove a deleted pod, by deleting it without grace
)

// podRun is the kubelet's state for a pod. Times are those of its clock.
type podRun struct {
	outcome                Outcome
	seen, running, deleted time.Time // zero until then
}

// next returns the pod's next step at now, or the time until the next call. It records
// when the pod was first seen running and deleted.
func (r *podRun) next(pod *corev1.Pod, now time.Time) (step, time.Duration) {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if pod.DeletionTimestamp != nil {
		if r.deleted.IsZero() {
			r.deleted = now
		}
		grace := gracePeriod(pod)
		switch {
		case pod.Spec.NodeName == "":
			return stepNone, 0 // no kubelet knows the pod
		case !ended:
			return due(stepStop, r.deleted.Add(min(r.outcome.Stop, grace)), now)
		case grace > 0:
			return stepRemove, 0
		}
		return stepNone, 0 // held by a finalizer
	}
	if ended || r.outcome.Pending {
		return stepNone, 0
	}
	if r.outcome.Direct {
		if r.outcome.Forever {
			return stepNone, 0
		}
		return due(stepEnd, r.seen.Add(r.outcome.Start+r.outcome.Run), now)
	}
	if pod.Spec.NodeName == "" {
		return stepBind, 0
	}
	if pod.Status.Phase != corev1.PodRunning {
		return due(stepRun, r.seen.Add(r.outcome.Start), now)
	}
	if r.running.IsZero() {
		r.running = now
	}
	if r.outcome.Forever {
		return stepNone, 0
	}
	return due(stepEnd, r.running.Add(r.outcome.Run), now)
}

func due(s step, at, now time.Time) (step, time.Duration) {
	if wait := at.Sub(now); wait > 0 {
		return stepNone, wait
	}
	return s, 0
}

func gracePeriod(pod *corev1.Pod) time.Duration {
	if pod.DeletionGracePeriodSeconds == nil {
		return 0
	}
	return time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
}

// runningStatus returns the status of a pod with running containers.
func (r *podRun) runningStatus(pod *corev1.Pod, now time.Time) corev1.PodStatus {
	at := metav1.NewTime(now)
	status := corev1.PodStatus{
		Phase:      corev1.PodRunning,
		StartTime:  &at,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at}},
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, RestartCount: r.outcome.Restarts,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
		})
	}
	return status
}

// endedStatus returns the status of a pod ended by its script or by deletion.
func (r *podRun) endedStatus(pod *corev1.Pod, s step, now time.Time) corev1.PodStatus {
	at, o := metav1.NewTime(now), r.outcome
	if s == stepStop {
		code := int32(143)
		if o.Stop >= gracePeriod(pod) {
			code = 137
		}
		o.ExitCodes, o.Phase = nil, corev1.PodFailed
		for range pod.Spec.Containers {
			o.ExitCodes = append(o.ExitCodes, code)
		}
	}
	status := corev1.PodStatus{Phase: o.Phase, Reason: o.Reason, Message: o.Message}
	if pod.Status.StartTime == nil {
		status.StartTime = &at
	}
	started := at
	if !r.running.IsZero() {
		started = metav1.NewTime(r.running)
	}
	failed := false
	for i, c := range pod.Spec.Containers {
		var code int32
		reason := "Completed"
		if i < len(o.ExitCodes) && o.ExitCodes[i] != 0 {
			code, reason, failed = o.ExitCodes[i], "Error", true
		}
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, RestartCount: o.Restarts,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, Reason: reason, StartedAt: started, FinishedAt: at,
			}},
		})
	}
	if status.Phase == "" {
		status.Phase = corev1.PodSucceeded
		if failed {
			status.Phase = corev1.PodFailed
		}
	}
	reason := "PodCompleted"
	if status.Phase == corev1.PodFailed {
		reason = "PodFailed"
	}
	status.Conditions = append(status.Conditions, corev1.PodCondition{
		Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: reason, LastTransitionTime: at,
	})
	for _, c := range o.Conditions {
		if c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = at
		}
		status.Conditions = append(status.Conditions, c)
	}
	return status
}
