package jobcontroller

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/restartkit/restart/jobpolicy"
)

// Metrics are the counters of a Controller, a prometheus.Collector. All but
// StatusWriteFailures have the names and labels of Kubernetes' own controller, so that
// its dashboards and alerts work. Create them with NewMetrics. Nil fields are ignored.
// Metrics are safe for concurrent use by multiple goroutines.
type Metrics struct {
	SyncDuration    *prometheus.HistogramVec // job_sync_duration_seconds{completion_mode, result, action}
	Syncs           *prometheus.CounterVec   // job_syncs_total{completion_mode, result, action}
	JobsFinished    *prometheus.CounterVec   // jobs_finished_total{completion_mode, result, reason}
	PodsFinished    *prometheus.CounterVec   // job_pods_finished_total{completion_mode, result}
	IndexesFinished *prometheus.CounterVec   // job_finished_indexes_total{status, backoffLimit}
	PodsCreated     *prometheus.CounterVec   // job_pods_creation_total{reason, status}
	FailuresHandled *prometheus.CounterVec   // pod_failures_handled_by_failure_policy_total{action}
	TrackedEnds     *prometheus.CounterVec   // terminated_pods_tracking_finalizer_total{event}
	// StatusWriteFailures is status_write_failures_total{outcome} (refused or unanswered),
	// without conflicts.
	StatusWriteFailures *prometheus.CounterVec
	// StaleSkips is stale_sync_skips_total{group, resource}. It counts passes without a
	// plan because the informer of Jobs or pods lagged behind the last write. Unlike those
	// of Kubernetes' own controller, other passes plan on the Job last written.
	StaleSkips *prometheus.CounterVec
	// JobsOfOthers is jobs_by_external_controller_total{controller_name}, used only in place
	// of Kubernetes' own controller.
	JobsOfOthers *prometheus.CounterVec
}

// NewMetrics returns new counters, with the prefix job_controller_.
func NewMetrics() *Metrics {
	const subsystem = "job_controller"
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: name, Help: help}, labels)
	}
	return &Metrics{
		SyncDuration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Subsystem: subsystem, Name: "job_sync_duration_seconds", Help: "Duration of passes over a Job.",
			Buckets: prometheus.ExponentialBuckets(0.004, 2, 15),
		}, []string{"completion_mode", "result", "action"}),
		Syncs:               counter("job_syncs_total", "Passes over a Job.", "completion_mode", "result", "action"),
		JobsFinished:        counter("jobs_finished_total", "Jobs whose end was decided, by reason.", "completion_mode", "result", "reason"),
		PodsFinished:        counter("job_pods_finished_total", "Pods whose end was recorded in the status of their Job.", "completion_mode", "result"),
		IndexesFinished:     counter("job_finished_indexes_total", "Completion indexes that ended.", "status", "backoffLimit"),
		PodsCreated:         counter("job_pods_creation_total", "Attempts to create a pod, by reason and outcome.", "reason", "status"),
		FailuresHandled:     counter("pod_failures_handled_by_failure_policy_total", "Failed pods that a rule of a pod failure policy matched, by its action.", "action"),
		TrackedEnds:         counter("terminated_pods_tracking_finalizer_total", "Pods observed to end with the tracking finalizer (add) and to lose it (delete).", "event"),
		StatusWriteFailures: counter("status_write_failures_total", "Failed writes of Job statuses, which the API server refused or did not answer.", "outcome"),
		StaleSkips:          counter("stale_sync_skips_total", "Passes over a Job postponed because the informer lagged.", "group", "resource"),
		JobsOfOthers:        counter("jobs_by_external_controller_total", "Jobs that name another controller.", "controller_name"),
	}
}

// collectors returns the non-nil counters.
func (m *Metrics) collectors() (all []prometheus.Collector) {
	if m.SyncDuration != nil {
		all = append(all, m.SyncDuration)
	}
	for _, v := range []*prometheus.CounterVec{
		m.Syncs, m.JobsFinished, m.PodsFinished, m.IndexesFinished, m.PodsCreated, m.FailuresHandled, m.TrackedEnds, m.StatusWriteFailures, m.StaleSkips, m.JobsOfOthers,
	} {
		if v != nil {
			all = append(all, v)
		}
	}
	return all
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

// add adds n to a counter. It is a no-op if v is nil or n is 0.
func add(v *prometheus.CounterVec, n int, labels ...string) {
	if v != nil && n > 0 {
		v.WithLabelValues(labels...).Add(float64(n))
	}
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
	add(m.PodsFinished, c.PodsSucceeded, mode, succeeded)
	add(m.PodsFinished, c.PodsFailed, mode, failed)
	if c.Finished != "" {
		result := failed
		if c.Finished.Succeeded() {
			result = succeeded
		}
		add(m.JobsFinished, 1, mode, result, string(c.Finished))
	}
	limit := "global"
	if c.PerIndex {
		limit = "perIndex"
	}
	add(m.IndexesFinished, c.IndexesSucceeded, succeeded, limit)
	add(m.IndexesFinished, c.IndexesFailed, failed, limit)
	for action, n := range c.Handled {
		add(m.FailuresHandled, n, string(action))
	}
}
