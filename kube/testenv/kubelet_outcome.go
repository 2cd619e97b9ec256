package testenv

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ExitRecord says what becomes of one pod. The zero value runs and succeeds at once.
type Outcome struct {
	Pending bool          // no node takes the pod; it stays Pending until it is deleted
	Start   time.Duration // from seeing the pod until it runs
	Forever bool          // it runs until it is deleted
	Run     time.Duration // how long it runs, unless Forever
	Direct  bool          // it ends without having been on a node or Running: one write in place of three

	ExitCodes  []int32               // of the containers, in their order; missing ones are 0
	Phase      corev1.PodPhase       // that it ends in; empty: Failed if an exit code is not 0, else Succeeded
	Reason     string                // of the pod's status at its end, such as Evicted
	Message    string                // of the pod's status at its end
	Conditions []corev1.PodCondition // that it has at its end, such as DisruptionTarget
	Restarts   int32                 // of each container, shown from when it runs

	// Stop is how long the containers go on once the pod is deleted; at most the
	// grace period, at whose end they are killed: exit code 137, otherwise 143.
	Stop time.Duration
}

// step is what the kubelet does next with a pod.
type step int

const (
	stepNone   step = iota // nothing, until the pod changes
	stepBind               // take it on a node
	stepRun                // write that it runs
	stepEnd                // write how it ended by its script
	stepStop               // write how it ended by being deleted
	stepRemove             // take a deleted pod off the node: delete it without grace
)

// podRun is what the kubelet remembers of a pod. The instants are of its clock.
type podRun struct {
	outcome                Outcome
	seen, running, deleted time.Time // zero: not yet
}

// next returns what to do with a pod at now, or after which time to ask again. It
// keeps in the run when it first saw the pod run and deleted.
func (r *podRun) next(pod *corev1.Pod, now time.Time) (step, time.Duration) {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if pod.DeletionTimestamp != nil {
		if r.deleted.IsZero() {
			r.deleted = now
		}
		grace := gracePeriod(pod)
		switch {
		case pod.Spec.NodeName == "":
			return stepNone, 0 // no kubelet knows of it
		case !ended:
			return due(stepStop, r.deleted.Add(min(r.outcome.Stop, grace)), now)
		case grace > 0:
			return stepRemove, 0
		}
		return stepNone, 0 // somebody's finalizer
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

// runningStatus is the status of a pod whose containers run.
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

// endedStatus is the status of a pod that ended: by its script, or because it was
// deleted.
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
