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
		Metrics:    jobcontroller.NewMetrics(jobcontroller.MetricsOptions{Observe: observe}),
	})
	return &Controller{ours: c}, err
}

// observe keeps our counts under the names of Kubernetes' controller, where its tests read
// them.
func observe(name string, value float64, labels ...string) {
	switch name {
	case "sync_duration_seconds":
		metrics.JobSyncDurationSeconds.WithLabelValues(labels...).Observe(value)
	case "syncs_total":
		metrics.JobSyncNum.WithLabelValues(labels...).Add(value)
	case "finished_total":
		metrics.JobFinishedNum.WithLabelValues(labels...).Add(value)
	case "pods_finished_total":
		metrics.JobPodsFinished.WithLabelValues(labels...).Add(value)
	case "finished_indexes_total":
		metrics.JobFinishedIndexesTotal.WithLabelValues(labels...).Add(value)
	case "pods_creation_total":
		metrics.JobPodsCreationTotal.WithLabelValues(labels...).Add(value)
	case "pod_failures_handled_by_failure_policy_total":
		metrics.PodFailuresHandledByFailurePolicy.WithLabelValues(labels...).Add(value)
	case "terminated_pods_tracking_finalizer_total":
		metrics.TerminatedPodsTrackingFinalizerTotal.WithLabelValues(labels...).Add(value)
	case "by_external_controller_total":
		metrics.JobByExternalControllerTotal.WithLabelValues(labels...).Add(value)
	}
}
