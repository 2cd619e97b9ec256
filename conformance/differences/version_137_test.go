//go:build !kubernetes136

package differences

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/batch/validation"
)

// Differences between the versions of Kubernetes that the tests run against.

// validateJob validates as the API servers of 1.37 and 1.38 do on create.
func validateJob(job *batch.Job) field.ErrorList {
	return validation.ValidateJobCreate(job, validation.JobValidationOptions{RequirePrefixedLabels: true})
}

// wideScope allows the condition SuccessCriteriaMet for all Jobs, as the API server
// does with its default feature gates.
func wideScope(o validation.JobStatusValidationOptions) validation.JobStatusValidationOptions {
	return o
}
