// Package jobfields lists the fields of batch/v1 Jobs and CronJobs, including their
// pods, as of Kubernetes 1.37.
package jobfields

import (
	_ "embed"

	"github.com/restartkit/restart/cmd/internal/document"
)

//go:embed fields.json
var table []byte

// Types returns these types by Go name, such as Job and PodSpec. Pod failure policy
// rules have a name, unknown to Kubernetes up to 1.38.
func Types() (map[string]*document.Type, error) { return document.ParseTypes(table) }
