package job

import (
	"os"

	batchinformers "k8s.io/client-go/informers/batch/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/job/metrics"

	"github.com/restartkit/restart/conformance/upstream/job"
	"github.com/restartkit/restart/kube/jobcontroller"
)

// ours reports whether this binary runs our controller.
var ours = os.Getenv("RESTART_CONTROLLER") == "1"

func newOurs(client clientset.Interface, pods coreinformers.PodInformer, jobs batchinformers.JobInformer) (*Controller, error) {
	metrics.Register()
	c, err := job.New(client, pods, jobs, job.Settings{
		BatchPeriod: SyncJobBatchPeriod,
		RetryBase:   DefaultJobApiBackOff, RetryMax: MaxJobApiBackOff,
		BaseDelay: DefaultJobPodFailureBackOff, MaxDelay: MaxJobPodFailureBackOff,
		MaxPerPass: MaxPodCreateDeletePerSync,
		Workers:    1,
		Metrics: &jobcontroller.Metrics{
			SyncDuration:    metrics.JobSyncDurationSeconds.HistogramVec,
			Syncs:           metrics.JobSyncNum.CounterVec,
			JobsFinished:    metrics.JobFinishedNum.CounterVec,
			PodsFinished:    metrics.JobPodsFinished.CounterVec,
			IndexesFinished: metrics.JobFinishedIndexesTotal.CounterVec,
			PodsCreated:     metrics.JobPodsCreationTotal.CounterVec,
			FailuresHandled: metrics.PodFailuresHandledByFailurePolicy.CounterVec,
			TrackedEnds:     metrics.TerminatedPodsTrackingFinalizerTotal.CounterVec,
			JobsOfOthers:    metrics.JobByExternalControllerTotal.CounterVec,
		},
	})
	return &Controller{ours: c}, err
}
