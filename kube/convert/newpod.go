package convert

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// NewPod returns a pod that a plan for the Job wants created, as Kubernetes' own Job
// controller makes it: the whole specification of the Job's template, the metadata of
// p, and the Job as its controlling owner. A pod of an Indexed Job has a hostname of
// its own; together with the template's subdomain, which stays, that is a DNS name.
// Each of its containers and init containers that does not set JOB_COMPLETION_INDEX
// itself gets it from the pod's label (downward API).
//
// The labels job-name and controller-uid, with and without their prefix, come with
// the template: the API server puts them there when it makes the Job's selector, and
// leaves them out of a Job with a manual selector. It also fills in the defaults of
// the pod, its name after GenerateName, and its service account.
func NewPod(job *batchv1.Job, p jobpolicy.Creation) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            p.Name,
			GenerateName:    p.GenerateName,
			Namespace:       p.Namespace,
			Labels:          maps.Clone(p.Labels),
			Annotations:     maps.Clone(p.Annotations),
			Finalizers:      slices.Clone(p.Finalizers),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
	}
	job.Spec.Template.Spec.DeepCopyInto(&pod.Spec)
	if p.Hostname != "" {
		pod.Spec.Hostname = p.Hostname
	}
	if p.Index >= 0 {
		addIndexVariable(pod.Spec.InitContainers)
		addIndexVariable(pod.Spec.Containers)
	}
	return pod
}

// addIndexVariable tells each container the completion index, unless it sets the
// variable itself.
func addIndexVariable(containers []corev1.Container) {
	const label = "metadata.labels['" + batch.JobCompletionIndexAnnotation + "']"
	for i := range containers {
		c := &containers[i]
		if slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == batch.JobCompletionIndexEnv }) {
			continue
		}
		c.Env = append(c.Env, corev1.EnvVar{
			Name:      batch.JobCompletionIndexEnv,
			ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: label}},
		})
	}
}
