package convert

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// NewPod returns a pod for a plan's creation, as Kubernetes' own Job controller creates
// it, with spec, the specification of the Job's template, and the metadata of p. A pod of
// an Indexed Job also gets a hostname, which forms a DNS name with the template's
// subdomain, and JOB_COMPLETION_INDEX from its label (downward API) in each container and
// init container without it.
//
// owner is the pod's controller, nil for none. The garbage collector deletes a pod whose
// owner does not exist, so for a custom resource name that resource:
//
//	metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
//	metav1.NewControllerRef(run, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "TrainingRun"})
//
// Since version 1.31, Kubernetes' Job controller leaves the tracking finalizer to a pod's
// controller if that is anything but a batch/v1 Job (kubernetes#124798). Up to 1.30 it
// removes the finalizer once such a pod is being deleted, and in every version from pods
// without a controller.
//
// The API server adds defaults, the service account, the rest of the name after
// GenerateName and, through the template of a Job without a manual selector, the labels
// job-name and controller-uid. The template of a custom resource needs labels of its own.
func NewPod(spec *corev1.PodSpec, p jobpolicy.Creation, owner *metav1.OwnerReference) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:         p.Name,
			GenerateName: p.GenerateName,
			Namespace:    p.Namespace,
			Labels:       maps.Clone(p.Labels),
			Annotations:  maps.Clone(p.Annotations),
			Finalizers:   slices.Clone(p.Finalizers),
		},
	}
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*owner.DeepCopy()}
	}
	spec.DeepCopyInto(&pod.Spec)
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
