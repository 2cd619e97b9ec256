// Package jobfields knows the fields of Kubernetes' batch/v1 Job and CronJob, those
// of their pods included, as of Kubernetes 1.37.
package jobfields

import (
	_ "embed"

	"github.com/restartkit/restart/cmd/internal/document"
)

//go:generate go -C generate test . -rewrite

//go:embed fields.json
var table []byte

// Types returns the types of these objects by their Go names: Job, CronJob,
// PodSpec. A rule of a pod failure policy has a name, too, which no Kubernetes up to 1.37
// knows.
func Types() (map[string]*document.Type, error) { return document.ParseTypes(table) }
