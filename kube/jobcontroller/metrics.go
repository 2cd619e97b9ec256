package jobcontroller

import (
	"sync"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/restartkit/restart/jobpolicy"
)

// Metrics are the counters of a Controller, a prometheus.Collector. Each is that of
// Kubernetes' own controller with the same labels, but with the prefix restart_job_ in
// place of job_controller_ and job_controller_job_, because both controllers may run in
// one cluster:
//
//	restart_job_sync_duration_seconds{completion_mode, result, action}
//	restart_job_syncs_total{completion_mode, result, action}
//	restart_job_finished_total{completion_mode, result, reason}
//	restart_job_pods_finished_total{completion_mode, result}
//	restart_job_finished_indexes_total{status, backoffLimit}
//	restart_job_pods_creation_total{reason, status}
//	restart_job_pod_failures_handled_by_failure_policy_total{action}
//	restart_job_terminated_pods_tracking_finalizer_total{event}
//	restart_job_stale_sync_skips_total{group, resource}
//	restart_job_by_external_controller_total{controller_name}
//	restart_job_status_write_failures_total{outcome}
//
// A stale sync skip is a pass without a plan because the informer of Jobs or pods lagged
// behind the last write. Unlike those of Kubernetes' own controller, other passes plan on
// the Job last written. Other controllers count only in place of Kubernetes' own one.
// Whoever may create Jobs chooses controller_name, so the first 100 names have a series
// each, and all further names share the value other. The last metric is only here, with
// the outcomes refused and unanswered, without conflicts.
//
// Create Metrics with NewMetrics; the zero value is not usable. They are safe for
// concurrent use by multiple goroutines.
type Metrics struct {
	syncDuration                                                                *histogram
	syncs, jobsFinished, podsFinished, indexesFinished, podsCreated             *counter
	failuresHandled, trackedEnds, statusWriteFailures, staleSkips, jobsOfOthers *counter

	mu          sync.Mutex
	controllers map[string]bool // with a series of their own in jobsOfOthers
}

// MetricsOptions configure Metrics. The zero value is ready to use.
type MetricsOptions struct {
	// Observe, unless nil, is also called with every count and duration, to keep them under
	// other names. name is the metric's name without restart_job_, value what is added to a
	// counter or observed by the histogram, and labels are in the order of the names above.
	// It must be safe for concurrent use.
	Observe func(name string, value float64, labels ...string)
}

// counter and histogram are metrics with the name that Observe gets.
type counter struct {
	*prometheus.CounterVec
	name    string
	observe func(name string, value float64, labels ...string)
}

type histogram struct {
	*prometheus.HistogramVec
	name    string
	observe func(name string, value float64, labels ...string)
}

// prefix begins the names of all metrics.
const prefix = "restart_job"

// NewMetrics returns new counters.
func NewMetrics(o MetricsOptions) *Metrics {
	newCounter := func(name, help string, labels ...string) *counter {
		opts := prometheus.CounterOpts{Namespace: prefix, Name: name, Help: help}
		return &counter{prometheus.NewCounterVec(opts, labels), name, o.Observe}
	}
	const syncDuration = "sync_duration_seconds"
	return &Metrics{
		syncDuration: &histogram{prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: prefix, Name: syncDuration, Help: "Duration of passes over a Job.",
			Buckets: prometheus.ExponentialBuckets(0.004, 2, 15),
		}, []string{"completion_mode", "result", "action"}), syncDuration, o.Observe},
		syncs:               newCounter("syncs_total", "Passes over a Job.", "completion_mode", "result", "action"),
		jobsFinished:        newCounter("finished_total", "Jobs whose end was decided, by reason.", "completion_mode", "result", "reason"),
		podsFinished:        newCounter("pods_finished_total", "Pods whose end was recorded in the status of their Job.", "completion_mode", "result"),
		indexesFinished:     newCounter("finished_indexes_total", "Completion indexes that ended.", "status", "backoffLimit"),
		podsCreated:         newCounter("pods_creation_total", "Attempts to create a pod, by reason and outcome.", "reason", "status"),
		failuresHandled:     newCounter("pod_failures_handled_by_failure_policy_total", "Failed pods that a rule of a pod failure policy matched, by its action.", "action"),
		trackedEnds:         newCounter("terminated_pods_tracking_finalizer_total", "Pods observed to end with the tracking finalizer (add) and to lose it (delete).", "event"),
		statusWriteFailures: newCounter("status_write_failures_total", "Failed writes of Job statuses, which the API server refused or did not answer.", "outcome"),
		staleSkips:          newCounter("stale_sync_skips_total", "Passes over a Job postponed because the informer lagged.", "group", "resource"),
		jobsOfOthers:        newCounter("by_external_controller_total", "Jobs that name another controller; after the first 100 names, the others count as other.", "controller_name"),
		controllers:         make(map[string]bool),
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		m.syncDuration, m.syncs, m.jobsFinished, m.podsFinished, m.indexesFinished, m.podsCreated,
		m.failuresHandled, m.trackedEnds, m.statusWriteFailures, m.staleSkips, m.jobsOfOthers,
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(ch)
	}
}

// add adds n to the counter. It is a no-op if n is 0.
func (c *counter) add(n int, labels ...string) {
	if n <= 0 {
		return
	}
	c.WithLabelValues(labels...).Add(float64(n))
	if c.observe != nil {
		c.observe(c.name, float64(n), labels...)
	}
}

// add observes a value.
func (h *histogram) add(value float64, labels ...string) {
	h.WithLabelValues(labels...).Observe(value)
	if h.observe != nil {
		h.observe(h.name, value, labels...)
	}
}

// The values of controller_name. otherController is the name of no controller, since
// managedBy needs a slash.
const (
	maxControllers  = 100
	otherController = "other"
)

// ofOther counts a Job that names another controller.
func (m *Metrics) ofOther(controller string) {
	m.mu.Lock()
	if len(m.controllers) < maxControllers {
		m.controllers[controller] = true
	}
	if !m.controllers[controller] {
		controller = otherController
	}
	m.mu.Unlock()
	m.jobsOfOthers.add(1, controller)
}

// Label values.
const (
	succeeded = "succeeded"
	failed    = "failed"
)

// completionMode returns the label value of a Job's completion mode.
func completionMode(job *batchv1.Job) string {
	if indexed(job) {
		return string(batchv1.IndexedCompletion)
	}
	return string(batchv1.NonIndexedCompletion)
}

// written adds the counts of a plan whose InterimStatus has been written.
func (m *Metrics) written(job *batchv1.Job, c jobpolicy.MetricDeltas) {
	mode := completionMode(job)
	m.podsFinished.add(c.PodsSucceeded, mode, succeeded)
	m.podsFinished.add(c.PodsFailed, mode, failed)
	if c.Finished != "" {
		result := failed
		if c.Finished.Succeeded() {
			result = succeeded
		}
		m.jobsFinished.add(1, mode, result, string(c.Finished))
	}
	limit := "global"
	if c.PerIndex {
		limit = "perIndex"
	}
	m.indexesFinished.add(c.IndexesSucceeded, succeeded, limit)
	m.indexesFinished.add(c.IndexesFailed, failed, limit)
	for action, n := range c.Handled {
		m.failuresHandled.add(n, string(action))
	}
}
