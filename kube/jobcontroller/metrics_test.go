package jobcontroller

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/restartkit/restart/jobpolicy"
)

// counted are the counters by name and label values, as a registry shows them.
func counted(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, metric := range f.Metric {
			var b strings.Builder
			b.WriteString(f.GetName())
			for _, l := range metric.Label {
				b.WriteString(" " + l.GetValue())
			}
			all[b.String()] = metric.Counter.GetValue()
		}
	}
	return all
}

func TestCountsOfAPlanAreAdded(t *testing.T) {
	m := NewMetrics()
	job := newJob("a", nil)
	counts := jobpolicy.Counts{
		Finished: jobpolicy.JobReasonFailedIndexes, PodsSucceeded: 2, PodsFailed: 3, IndexesSucceeded: 4, IndexesFailed: 5, PerIndex: true,
		Handled: map[jobpolicy.Action]int{jobpolicy.PodFailurePolicyActionIgnore: 6},
	}
	m.written(job, counts)
	m.written(job, jobpolicy.Counts{})
	got := counted(t, m)
	for name, want := range map[string]float64{
		"job_controller_jobs_finished_total NonIndexed FailedIndexes failed": 1,
		"job_controller_job_pods_finished_total NonIndexed succeeded":        2,
		"job_controller_job_pods_finished_total NonIndexed failed":           3,
		"job_controller_job_finished_indexes_total perIndex succeeded":       4,
		"job_controller_job_finished_indexes_total perIndex failed":          5,
		"job_controller_pod_failures_handled_by_failure_policy_total Ignore": 6,
	} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
	if len(got) != 6 {
		t.Errorf("%v", got)
	}
	(&Metrics{}).written(job, counts) // counts nothing, and does not fail
}
