// Package jobfields knows the fields of Kubernetes' batch/v1 Job and CronJob, those
// of their pods included, as of Kubernetes 1.36.
package jobfields

import (
	_ "embed"

	"github.com/restartkit/restart/examples/internal/document"
)

//go:generate go -C generate run . ../fields.txt

//go:embed fields.txt
var table string

// Types returns the types of these objects by their Go names: Job, CronJob,
// PodSpec.
func Types() (map[string]*document.Type, error) { return document.ParseTypes(table) }
