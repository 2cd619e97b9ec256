//go:build kubernetes136

package recorded

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	k8sbatch "k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/batch/validation"
)

func createMistakes(job *k8sbatch.Job) field.ErrorList {
	return validation.ValidateJob(job, validation.JobValidationOptions{RequirePrefixedLabels: true})
}

// changedSince136 is empty: the cases were recorded with this version.
var changedSince136 map[string]string
