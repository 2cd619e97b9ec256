//go:build kubernetes136

package main

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	k8sbatch "k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/batch/validation"
)

func createMistakes(job *k8sbatch.Job) field.ErrorList {
	return validation.ValidateJob(job, validation.JobValidationOptions{RequirePrefixedLabels: true})
}
