package recorded

import (
	"encoding/json"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/restartkit/restart/internal/vectors/shape"
)

// The shapes of the cases as Kubernetes' types. Package shape converts to types that
// have Kubernetes' JSON.

// into converts by JSON.
func into[T any](v any) (*T, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var t *T
	return t, json.Unmarshal(text, &t)
}

func podOf(v *shape.Pod) (*corev1.Pod, error) {
	pod, err := v.Batch(time.Time{})
	if err != nil {
		return nil, err
	}
	return into[corev1.Pod](pod)
}

func podsOf(vs []*shape.Pod) ([]*corev1.Pod, error) {
	pods := make([]*corev1.Pod, len(vs))
	for i, v := range vs {
		var err error
		if v.Deleting && v.DeletedAt == nil {
			v.DeletedAt = shape.At(time.Unix(0, 0))
		}
		if pods[i], err = podOf(v); err != nil {
			return nil, err
		}
	}
	return pods, nil
}

func policyOf(v *shape.Policy) (*batchv1.PodFailurePolicy, error) {
	return into[batchv1.PodFailurePolicy](v.Batch())
}

// jobOf returns a Job of the specification. Empty texts, which package shape takes as
// absent, stay empty.
func jobOf(v *shape.Spec) (*batchv1.Job, error) {
	spec, err := into[batchv1.JobSpec](v.Batch())
	if err != nil {
		return nil, err
	}
	spec.CompletionMode = (*batchv1.CompletionMode)(v.Mode)
	spec.PodReplacementPolicy = (*batchv1.PodReplacementPolicy)(v.Replacement)
	spec.Suspend = v.Suspend
	return &batchv1.Job{Spec: *spec}, nil
}

// indexedJobOf returns the Indexed Job of a case of bookkeeping.
func indexedJobOf(in *shape.Ops) (*batchv1.Job, error) {
	job, err := into[batchv1.Job](in.Job())
	if err != nil {
		return nil, err
	}
	if in.Replacement != "" {
		job.Spec.PodReplacementPolicy = (*batchv1.PodReplacementPolicy)(&in.Replacement)
	}
	return job, nil
}
