//go:build !kubernetes137

package peers

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/batch/validation"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
)

// validateJob validates as the API server of 1.36 does on create.
func validateJob(job *batch.Job) field.ErrorList {
	return validation.ValidateJob(job, validation.JobValidationOptions{RequirePrefixedLabels: true})
}

func validateJobSpec(spec *batch.JobSpec, path *field.Path) field.ErrorList {
	return validation.ValidateJobSpec(spec, path, corevalidation.PodValidationOptions{})
}

// wideScope lets every Job have SuccessCriteriaMet, as the API server does with its
// default feature gates.
func wideScope(o validation.JobStatusValidationOptions) validation.JobStatusValidationOptions {
	o.AllowForSuccessCriteriaMetInExtendedScope = true
	return o
}
