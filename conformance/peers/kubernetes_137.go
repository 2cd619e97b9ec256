//go:build !kubernetes136

package peers

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/batch/validation"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	kubeletpleg "k8s.io/kubernetes/pkg/kubelet/pleg"
	"k8s.io/utils/clock"
)

// Differences between the versions of Kubernetes that the tests run against.

// validateJob validates as the API server of 1.37 does on create.
func validateJob(job *batch.Job) field.ErrorList {
	return validation.ValidateJobCreate(job, validation.JobValidationOptions{RequirePrefixedLabels: true})
}

func validateJobSpec(spec *batch.JobSpec, path *field.Path) field.ErrorList {
	return validation.ValidateJobSpec(spec, nil, path, corevalidation.PodValidationOptions{})
}

// wideScope allows the condition SuccessCriteriaMet for all Jobs, as the API server
// does with its default feature gates.
func wideScope(o validation.JobStatusValidationOptions) validation.JobStatusValidationOptions {
	return o
}

// newRelist returns the relist of a generic PLEG.
func newRelist(runtime kubecontainer.Runtime, events chan *kubeletpleg.PodLifecycleEvent, period *kubeletpleg.RelistDuration) func() {
	g := kubeletpleg.NewGenericPLEG(runtime, events, period, kubecontainer.NewCache(), clock.RealClock{})
	return func() { g.(interface{ Relist(context.Context) }).Relist(context.Background()) }
}
