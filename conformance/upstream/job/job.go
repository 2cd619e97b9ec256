// Package job provides kube/jobcontroller with the settings of Kubernetes' own Job
// controller, for a fork to call in NewController of pkg/controller/job.
package job

import (
	"time"

	batchinformers "k8s.io/client-go/informers/batch/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/kube/jobcontroller"
)

// Settings are the package variables that Kubernetes' tests set.
type Settings struct {
	BatchPeriod         time.Duration // SyncJobBatchPeriod
	RetryBase, RetryMax time.Duration // DefaultJobApiBackOff, MaxJobApiBackOff
	BaseDelay, MaxDelay time.Duration // DefaultJobPodFailureBackOff, MaxJobPodFailureBackOff
	MaxPerPass          int           // MaxPodCreateDeletePerSync
	Workers             int           // concurrent-job-syncs
	Metrics             *jobcontroller.Metrics
}

// New returns a controller for all Jobs that name no other one. It reads from the given
// informers, which the caller starts.
func New(client kubernetes.Interface, pods coreinformers.PodInformer, jobs batchinformers.JobInformer, s Settings) (*jobcontroller.Controller, error) {
	return jobcontroller.New(client, jobcontroller.Options{
		Engine: jobpolicy.Engine{
			ManagedBy:      jobcontroller.BuiltInManagedBy,
			BaseDelay:      s.BaseDelay,
			MaxDelay:       max(s.MaxDelay, s.BaseDelay),
			MinRequeue:     s.BatchPeriod,
			MaxPodsPerPlan: s.MaxPerPass,
		},
		Workers:     s.Workers,
		BatchPeriod: s.BatchPeriod,
		Retry:       backoff.Policy{Initial: s.RetryBase, Max: s.RetryMax},
		Pods:        pods,
		Jobs:        jobs,
		Metrics:     s.Metrics,
	})
}
