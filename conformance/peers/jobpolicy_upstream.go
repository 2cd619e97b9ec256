package peers

import (
	_ "unsafe" // for go:linkname

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	_ "k8s.io/kubernetes/pkg/controller/job" // contains the linked function
)

// matchPodFailurePolicy is the Job controller's own unexported function. Go accepts a
// function without a body only in a package with an assembly file, hence the empty file
// of the same name.
//
//go:linkname matchPodFailurePolicy k8s.io/kubernetes/pkg/controller/job.matchPodFailurePolicy
func matchPodFailurePolicy(policy *batchv1.PodFailurePolicy, pod *corev1.Pod) (message *string, counts bool, action *batchv1.PodFailurePolicyAction)
