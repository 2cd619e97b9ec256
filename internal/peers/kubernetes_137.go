//go:build kubernetes137

package peers

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/batch/validation"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
)

// validateJob validates as the API server of 1.37 does on create, but for what it
// validates declaratively.
func validateJob(job *batch.Job) field.ErrorList {
	return validation.ValidateJobCreate(job, validation.JobValidationOptions{RequirePrefixedLabels: true})
}

func validateJobSpec(spec *batch.JobSpec, path *field.Path) field.ErrorList {
	return validation.ValidateJobSpec(spec, nil, path, corevalidation.PodValidationOptions{})
}

// wideScope does nothing: every Job may have SuccessCriteriaMet.
func wideScope(o validation.JobStatusValidationOptions) validation.JobStatusValidationOptions {
	return o
}
