// Package convert converts between the API types of Kubernetes and those of jobpolicy
// and backoff. [Job] and [Pods] prepare the input of [jobpolicy.Engine.Plan], [NewPod]
// and [SetJobStatus] apply its plans, and [PodExits] and [ExitPolicy] feed a
// [backoff.Restarter].
//
// Job, Pods and the functions for their parts return the same as decoding the object's
// JSON, some hundred times as fast. Results share memory with the arguments, so do not
// modify either while using the other. Objects from an informer's cache are fine. The
// other functions share no memory.
//
// Except in NewPod and ExitPolicy, a nil pointer converts to nil. An empty list may
// become nil.
package convert

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// Job converts a Job to the fields that jobpolicy knows.
func Job(j *batchv1.Job) *batch.Job {
	if j == nil {
		return nil
	}
	job := &batch.Job{
		Kind:       j.Kind,
		APIVersion: j.APIVersion,
		Spec:       *JobSpec(&j.Spec),
		Status:     *JobStatus(&j.Status),
	}
	setMeta(&job.ObjectMeta, &j.ObjectMeta)
	return job
}

// JobSpec converts a Job's specification, without the defaults that
// batch.JobSpec.Default adds. Fields that only client-go knows, such as scheduling, go
// into Unknown.
func JobSpec(s *batchv1.JobSpec) *batch.JobSpec {
	if s == nil {
		return nil
	}
	return &batch.JobSpec{
		Parallelism:             s.Parallelism,
		Completions:             s.Completions,
		ActiveDeadlineSeconds:   s.ActiveDeadlineSeconds,
		PodFailurePolicy:        PodFailurePolicy(s.PodFailurePolicy),
		SuccessPolicy:           SuccessPolicy(s.SuccessPolicy),
		BackoffLimit:            s.BackoffLimit,
		BackoffLimitPerIndex:    s.BackoffLimitPerIndex,
		MaxFailedIndexes:        s.MaxFailedIndexes,
		Template:                podTemplate(&s.Template),
		TTLSecondsAfterFinished: s.TTLSecondsAfterFinished,
		CompletionMode:          batch.CompletionMode(valueAt(s.CompletionMode)),
		Suspend:                 valueAt(s.Suspend),
		PodReplacementPolicy:    batch.PodReplacementPolicy(valueAt(s.PodReplacementPolicy)),
		ManagedBy:               valueAt(s.ManagedBy),
		Unknown:                 unknownFields(s),
	}
}

// PodFailurePolicy converts a Job's pod failure policy.
func PodFailurePolicy(p *batchv1.PodFailurePolicy) *batch.PodFailurePolicy {
	if p == nil {
		return nil
	}
	return &batch.PodFailurePolicy{Rules: each(p.Rules, func(r *batchv1.PodFailurePolicyRule) batch.PodFailurePolicyRule {
		rule := batch.PodFailurePolicyRule{
			Action: batch.Action(r.Action),
			OnPodConditions: each(r.OnPodConditions, func(c *batchv1.PodFailurePolicyOnPodConditionsPattern) batch.OnPodCondition {
				return batch.OnPodCondition{Type: batch.PodConditionType(c.Type), Status: batch.ConditionStatus(c.Status)}
			}),
		}
		if codes := r.OnExitCodes; codes != nil {
			rule.OnExitCodes = &batch.OnExitCodes{
				ContainerName: codes.ContainerName,
				Operator:      batch.Operator(codes.Operator),
				Values:        codes.Values,
			}
		}
		return rule
	})}
}

// SuccessPolicy converts a Job's success policy.
func SuccessPolicy(p *batchv1.SuccessPolicy) *batch.SuccessPolicy {
	if p == nil {
		return nil
	}
	return &batch.SuccessPolicy{Rules: each(p.Rules, func(r *batchv1.SuccessPolicyRule) batch.SuccessPolicyRule {
		return batch.SuccessPolicyRule{SucceededIndexes: r.SucceededIndexes, SucceededCount: r.SucceededCount}
	})}
}

// podTemplate converts a pod template.
func podTemplate(t *corev1.PodTemplateSpec) batch.PodTemplateSpec {
	var size podSizes
	size.add(&corev1.Pod{Spec: t.Spec})
	var template batch.PodTemplateSpec
	setMeta(&template.ObjectMeta, &t.ObjectMeta)
	size.room().spec(&template.Spec, &t.Spec)
	return template
}

// setMeta sets meta, a zero value, to the part of an object's metadata known to
// jobpolicy.
func setMeta(meta *batch.ObjectMeta, m *metav1.ObjectMeta) {
	meta.Name = m.Name
	meta.GenerateName = m.GenerateName
	meta.Namespace = m.Namespace
	meta.UID = string(m.UID)
	meta.CreationTimestamp = m.CreationTimestamp.Time
	meta.DeletionTimestamp = timeAt(m.DeletionTimestamp)
	meta.DeletionGracePeriodSeconds = m.DeletionGracePeriodSeconds
	meta.Labels = m.Labels
	meta.Annotations = m.Annotations
	meta.Finalizers = m.Finalizers
}

// each converts every element, returning nil for an empty list.
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

// timeAt returns the time, or the zero time for nil.
func timeAt(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// valueAt returns *p, or the zero value for nil.
func valueAt[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
