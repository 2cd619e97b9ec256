//go:build !kubernetes136

package recorded

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	k8sbatch "k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/batch/validation"
)

func createMistakes(job *k8sbatch.Job) field.ErrorList {
	return validation.ValidateJobCreate(job, validation.JobValidationOptions{RequirePrefixedLabels: true})
}

// changedSince136 says why this version decides a case otherwise than 1.36.3, with which
// the cases were recorded.
var changedSince136 = map[string]string{
	"indexset_ops/ixo-pisf-12": "a pod failure policy no longer changes the replacement of terminating pods",
	"jobsync/syn-c11":          "a pod failure policy no longer changes the replacement of terminating pods",
}
