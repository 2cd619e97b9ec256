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

// NewPod returns a pod for a plan's creation, as Kubernetes' own Job controller creates
// it, with the specification of the Job's template, the metadata of p, and the Job as
// its controller. A pod of an Indexed Job also gets a hostname, which forms a DNS name
// with the template's subdomain, and JOB_COMPLETION_INDEX from its label (downward API)
// in each container and init container without it.
//
// The API server adds defaults, the service account, the rest of the name after
// GenerateName and, through the template of a Job without a manual selector, the labels
// job-name and controller-uid.
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

// addIndexVariable gives each container the completion index, unless it sets the
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
