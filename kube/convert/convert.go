// Package convert turns the API types of Kubernetes into those of jobpolicy and
// backoff, and back. [Job] and [Pods] are for [jobpolicy.Engine.Plan], [NewPod] and
// [SetJobStatus] for its plans, [PodExits] and [ExitPolicy] for a
// [backoff.Restarter].
//
// Job, Pods and their like give what decoding the JSON of the object would give, some
// hundred times as fast. They share maps, lists of strings and pointers to numbers
// with what they are made from, so nobody may write to either while the other is in
// use; objects of an informer's cache are fine. NewPod, SetJobStatus, Exits and
// ExitPolicy share nothing with anybody.
//
// No function of this package changes an argument, but for the first of SetJobStatus.
// A nil pointer becomes a nil pointer, and an empty list may become none. NewPod and
// ExitPolicy take no nil. All functions are safe for concurrent use by multiple
// goroutines while nobody writes to their arguments.
package convert

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/jobpolicy/batch"
)

// Job returns the fields of a Job that jobpolicy knows.
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

// JobSpec returns the fields of a Job's specification that jobpolicy knows. Absent
// fields stay absent: the API server fills in defaults, and so does
// jobpolicy.JobSpec.Default.
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
	}
}

// PodFailurePolicy returns a Job's pod failure policy.
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

// SuccessPolicy returns a Job's success policy.
func SuccessPolicy(p *batchv1.SuccessPolicy) *batch.SuccessPolicy {
	if p == nil {
		return nil
	}
	return &batch.SuccessPolicy{Rules: each(p.Rules, func(r *batchv1.SuccessPolicyRule) batch.SuccessPolicyRule {
		return batch.SuccessPolicyRule{SucceededIndexes: r.SucceededIndexes, SucceededCount: r.SucceededCount}
	})}
}

// podTemplate returns what pods are made from.
func podTemplate(t *corev1.PodTemplateSpec) batch.PodTemplateSpec {
	var size podSizes
	size.add(&corev1.Pod{Spec: t.Spec})
	var template batch.PodTemplateSpec
	setMeta(&template.ObjectMeta, &t.ObjectMeta)
	size.room().spec(&template.Spec, &t.Spec)
	return template
}

// setMeta makes meta, a zero one, the part of an object's metadata that jobpolicy knows.
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

// each returns what to makes of every element, nil for none.
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

// timeAt returns the time, zero for none.
func timeAt(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// valueAt returns what p points at, the zero value for nil.
func valueAt[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
