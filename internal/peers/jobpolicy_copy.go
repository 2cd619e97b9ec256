package peers

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/jobpolicy"
)

// JobFrom copies the fields of a Job that jobpolicy knows, as decoding its JSON
// would. The result shares maps, slices of strings and pointers to numbers with j:
// jobpolicy changes none of its input, and neither must the caller.
func JobFrom(j *batchv1.Job) *jobpolicy.Job {
	return &jobpolicy.Job{
		Kind:       j.Kind,
		APIVersion: j.APIVersion,
		ObjectMeta: metaFrom(&j.ObjectMeta),
		Spec:       jobSpecFrom(&j.Spec),
		Status:     jobStatusFrom(&j.Status),
	}
}

// PodFrom copies the fields of a pod that jobpolicy knows, sharing like JobFrom.
// It is what a controller calls for every pod in its informer's cache, far faster
// than a way through JSON.
func PodFrom(p *corev1.Pod) *jobpolicy.Pod {
	return &jobpolicy.Pod{
		Kind:       p.Kind,
		APIVersion: p.APIVersion,
		ObjectMeta: metaFrom(&p.ObjectMeta),
		Spec:       podSpecFrom(&p.Spec),
		Status: jobpolicy.PodStatus{
			Phase:                 jobpolicy.PodPhase(p.Status.Phase),
			Conditions:            each(p.Status.Conditions, podConditionFrom),
			Message:               p.Status.Message,
			Reason:                p.Status.Reason,
			StartTime:             timeAt(p.Status.StartTime),
			InitContainerStatuses: each(p.Status.InitContainerStatuses, containerStatusFrom),
			ContainerStatuses:     each(p.Status.ContainerStatuses, containerStatusFrom),
		},
	}
}

func metaFrom(m *metav1.ObjectMeta) jobpolicy.ObjectMeta {
	return jobpolicy.ObjectMeta{
		Name:                       m.Name,
		GenerateName:               m.GenerateName,
		Namespace:                  m.Namespace,
		UID:                        string(m.UID),
		CreationTimestamp:          m.CreationTimestamp.Time,
		DeletionTimestamp:          timeAt(m.DeletionTimestamp),
		DeletionGracePeriodSeconds: m.DeletionGracePeriodSeconds,
		Labels:                     m.Labels,
		Annotations:                m.Annotations,
		Finalizers:                 m.Finalizers,
	}
}

func jobSpecFrom(s *batchv1.JobSpec) jobpolicy.JobSpec {
	return jobpolicy.JobSpec{
		Parallelism:             s.Parallelism,
		Completions:             s.Completions,
		ActiveDeadlineSeconds:   s.ActiveDeadlineSeconds,
		PodFailurePolicy:        failurePolicyFrom(s.PodFailurePolicy),
		SuccessPolicy:           successPolicyFrom(s.SuccessPolicy),
		BackoffLimit:            s.BackoffLimit,
		BackoffLimitPerIndex:    s.BackoffLimitPerIndex,
		MaxFailedIndexes:        s.MaxFailedIndexes,
		Template:                jobpolicy.PodTemplateSpec{ObjectMeta: metaFrom(&s.Template.ObjectMeta), Spec: podSpecFrom(&s.Template.Spec)},
		TTLSecondsAfterFinished: s.TTLSecondsAfterFinished,
		CompletionMode:          jobpolicy.CompletionMode(valueAt(s.CompletionMode)),
		Suspend:                 valueAt(s.Suspend),
		PodReplacementPolicy:    jobpolicy.PodReplacementPolicy(valueAt(s.PodReplacementPolicy)),
		ManagedBy:               valueAt(s.ManagedBy),
	}
}

func podSpecFrom(s *corev1.PodSpec) jobpolicy.PodSpec {
	return jobpolicy.PodSpec{
		InitContainers:                each(s.InitContainers, containerFrom),
		Containers:                    each(s.Containers, containerFrom),
		RestartPolicy:                 jobpolicy.RestartPolicy(s.RestartPolicy),
		TerminationGracePeriodSeconds: s.TerminationGracePeriodSeconds,
		NodeName:                      s.NodeName,
		Hostname:                      s.Hostname,
		Subdomain:                     s.Subdomain,
	}
}

func containerFrom(c *corev1.Container) jobpolicy.Container {
	return jobpolicy.Container{
		Name:          c.Name,
		Image:         c.Image,
		Command:       c.Command,
		Args:          c.Args,
		WorkingDir:    c.WorkingDir,
		Env:           each(c.Env, func(e *corev1.EnvVar) jobpolicy.EnvVar { return jobpolicy.EnvVar{Name: e.Name, Value: e.Value} }),
		RestartPolicy: jobpolicy.RestartPolicy(valueAt(c.RestartPolicy)),
	}
}

func failurePolicyFrom(p *batchv1.PodFailurePolicy) *jobpolicy.PodFailurePolicy {
	if p == nil {
		return nil
	}
	return &jobpolicy.PodFailurePolicy{Rules: each(p.Rules, func(r *batchv1.PodFailurePolicyRule) jobpolicy.PodFailurePolicyRule {
		rule := jobpolicy.PodFailurePolicyRule{
			Action: jobpolicy.Action(r.Action),
			OnPodConditions: each(r.OnPodConditions, func(c *batchv1.PodFailurePolicyOnPodConditionsPattern) jobpolicy.OnPodCondition {
				return jobpolicy.OnPodCondition{Type: jobpolicy.PodConditionType(c.Type), Status: jobpolicy.ConditionStatus(c.Status)}
			}),
		}
		if codes := r.OnExitCodes; codes != nil {
			rule.OnExitCodes = &jobpolicy.OnExitCodes{
				ContainerName: codes.ContainerName,
				Operator:      jobpolicy.Operator(codes.Operator),
				Values:        codes.Values,
			}
		}
		return rule
	})}
}

func successPolicyFrom(p *batchv1.SuccessPolicy) *jobpolicy.SuccessPolicy {
	if p == nil {
		return nil
	}
	return &jobpolicy.SuccessPolicy{Rules: each(p.Rules, func(r *batchv1.SuccessPolicyRule) jobpolicy.SuccessPolicyRule {
		return jobpolicy.SuccessPolicyRule{SucceededIndexes: r.SucceededIndexes, SucceededCount: r.SucceededCount}
	})}
}

func jobStatusFrom(s *batchv1.JobStatus) jobpolicy.JobStatus {
	status := jobpolicy.JobStatus{
		Conditions:       each(s.Conditions, jobConditionFrom),
		StartTime:        timeAt(s.StartTime),
		CompletionTime:   timeAt(s.CompletionTime),
		Active:           s.Active,
		Ready:            s.Ready,
		Terminating:      s.Terminating,
		Succeeded:        s.Succeeded,
		Failed:           s.Failed,
		CompletedIndexes: s.CompletedIndexes,
		FailedIndexes:    s.FailedIndexes,
	}
	if u := s.UncountedTerminatedPods; u != nil {
		status.UncountedTerminatedPods = &jobpolicy.UncountedTerminatedPods{
			Succeeded: eachString(u.Succeeded),
			Failed:    eachString(u.Failed),
		}
	}
	return status
}

func jobConditionFrom(c *batchv1.JobCondition) jobpolicy.JobCondition {
	return jobpolicy.JobCondition{
		Type:               jobpolicy.JobConditionType(c.Type),
		Status:             jobpolicy.ConditionStatus(c.Status),
		LastProbeTime:      c.LastProbeTime.Time,
		LastTransitionTime: c.LastTransitionTime.Time,
		Reason:             jobpolicy.Reason(c.Reason),
		Message:            c.Message,
	}
}

func podConditionFrom(c *corev1.PodCondition) jobpolicy.PodCondition {
	return jobpolicy.PodCondition{
		Type:               jobpolicy.PodConditionType(c.Type),
		Status:             jobpolicy.ConditionStatus(c.Status),
		LastTransitionTime: c.LastTransitionTime.Time,
		Reason:             c.Reason,
		Message:            c.Message,
	}
}

func containerStatusFrom(c *corev1.ContainerStatus) jobpolicy.ContainerStatus {
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

// each is the copies of all elements, nil for none.
func each[From, To any](from []From, to func(*From) To) []To {
	if len(from) == 0 {
		return nil
	}
	all := make([]To, len(from))
	for i := range from {
		all[i] = to(&from[i])
	}
	return all
}

// eachString is the elements as plain strings.
func eachString[S ~string](from []S) []string {
	return each(from, func(s *S) string { return string(*s) })
}

// timeAt is the time, zero for none.
func timeAt(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// valueAt is what p points at, the zero value for nothing.
func valueAt[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
