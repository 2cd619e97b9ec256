package jobcontroller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// counted returns the counters by name and label values, as a registry shows them.
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
	m := NewMetrics(MetricsOptions{})
	job := newJob("a", nil)
	counts := jobpolicy.MetricDeltas{
		Finished: batch.JobReasonFailedIndexes, PodsSucceeded: 2, PodsFailed: 3, IndexesSucceeded: 4, IndexesFailed: 5, PerIndex: true,
		Handled: map[batch.Action]int{batch.ActionIgnore: 6},
	}
	m.written(job, counts)
	m.written(job, jobpolicy.MetricDeltas{})
	got := counted(t, m)
	for name, want := range map[string]float64{
		"restart_job_finished_total NonIndexed FailedIndexes failed":      1,
		"restart_job_pods_finished_total NonIndexed succeeded":            2,
		"restart_job_pods_finished_total NonIndexed failed":               3,
		"restart_job_finished_indexes_total perIndex succeeded":           4,
		"restart_job_finished_indexes_total perIndex failed":              5,
		"restart_job_pod_failures_handled_by_failure_policy_total Ignore": 6,
	} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
	if len(got) != 6 {
		t.Errorf("%v", got)
	}
}

// Jobs may name any controller, but only the first hundred names have a series each.
func TestSeriesOfOtherControllersAreBounded(t *testing.T) {
	m := NewMetrics(MetricsOptions{})
	for range 2 {
		for i := range 150 {
			m.ofOther(fmt.Sprintf("example.com/%d", i))
		}
	}
	got := counted(t, m)
	const prefix = "restart_job_by_external_controller_total "
	if len(got) != 101 || got[prefix+"example.com/0"] != 2 || got[prefix+"example.com/99"] != 2 || got[prefix+"other"] != 100 {
		t.Errorf("%d series: %v", len(got), got)
	}
}

// A pass over a Job whose written end has not appeared counts as a stale skip.
func TestPassesOverAnOldJobAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, lagging(time.Minute, 0))
		after(30 * time.Second)
		s.createJob(newJob("a", nil))
		after(2 * time.Hour)
		if n := counted(t, c.Metrics())["restart_job_stale_sync_skips_total batch jobs"]; n != 0 {
			t.Errorf("%v passes were put off before anything is written", n)
		}
		endAll(s, 0)
		after(2 * time.Hour)
		if n := counted(t, c.Metrics())["restart_job_stale_sync_skips_total batch jobs"]; n == 0 || !finished(s.job("a")) {
			t.Errorf("%v passes were put off, the Job is %+v", n, s.job("a").Status)
		}
	})
}

// A pass over a Job whose status names a pod that has not appeared counts as well.
func TestPassesWithoutAListedPodAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, lagging(time.Hour, 20*time.Second))
		after(30 * time.Second)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(2)), new(int32(5)) }))
		after(2 * time.Hour)
		ended := time.Now()
		s.end(s.pods()[0].Name, 1)
		after(9 * time.Second)
		pod := addPodOf(s, "new")
		s.end("new", 1)
		s.changeJob("a", func(j *batchv1.Job) {
			j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{pod.UID}}
			j.Annotations[AnnotationMemory] = memoryText(t, j, 1, ended)
		})
		after(3 * time.Minute)
		if n := counted(t, c.Metrics())["restart_job_stale_sync_skips_total  pods"]; n == 0 {
			t.Errorf("%v", counted(t, c.Metrics()))
		}
	})
}

// A listed pod never appears. The Job is looked at every ten seconds, until its
// controller gives up after five minutes.
func TestPassesWaitForAListedPodOnlySoLong(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, lagging(0, 2*time.Hour))
		after(3 * time.Hour)
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))
		after(time.Minute)
		addPodOf(s, "new")
		s.changeJob("a", func(j *batchv1.Job) {
			j.Status.Failed = 1
			j.Annotations = map[string]string{AnnotationMemory: memoryText(t, j, 1, time.Now())}
		})
		after(20 * time.Minute)
		n := counted(t, c.Metrics())["restart_job_stale_sync_skips_total  pods"]
		if least := float64(expectationsEnd/lookAgain) - 2; n < least || n > least+4 {
			t.Errorf("%v passes were put off, want about %v", n, least+2)
		}
	})
}

// In place of Kubernetes' controller, Jobs that name another one count once each.
func TestJobsOfOthersAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{Engine: jobpolicy.Engine{ManagedBy: BuiltInManagedBy}}, nil)
		s.createJob(newJob("by-name", func(j *batchv1.Job) { j.Spec.ManagedBy = new(BuiltInManagedBy) }))
		s.createJob(newJob("theirs", func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/other") }))
		after(time.Minute)
		got := counted(t, c.Metrics())
		const name = "restart_job_by_external_controller_total "
		if got[name+"example.com/other"] != 1 || got[name+BuiltInManagedBy] != 0 {
			t.Errorf("%v", got)
		}
		old := s.job("theirs").DeepCopy()
		next := old.DeepCopy()
		c.jobUpdated(old, next)
		if n := counted(t, c.Metrics())[name+"example.com/other"]; n != 1 {
			t.Errorf("the same Job counts %v times", n)
		}
		next.UID = "next" // the informer missed the deletion
		c.jobUpdated(old, next)
		if n := counted(t, c.Metrics())[name+"example.com/other"]; n != 2 {
			t.Errorf("two Jobs of the same name count %v times", n)
		}
	})
}

// Every pass counts, with its duration.
func TestPassesAreMeasured(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, nil)
		s.createJob(newJob("a", nil))
		after(time.Minute)
		registry := prometheus.NewPedanticRegistry()
		if err := registry.Register(c.Metrics()); err != nil {
			t.Fatal(err)
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var passes float64
		var measured uint64
		for _, f := range families {
			for _, m := range f.Metric {
				switch f.GetName() {
				case "restart_job_syncs_total":
					passes += m.Counter.GetValue()
				case "restart_job_sync_duration_seconds":
					measured += m.Histogram.GetSampleCount()
				}
			}
		}
		if passes == 0 || passes != float64(measured) {
			t.Errorf("%v passes, %d measured", passes, measured)
		}
	})
}

// Creations count by their outcome, and passes by the Job's completion mode.
func TestCreationsAndCompletionModesAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		refused := 0
		c := start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
			if call == "POST pods" && refused < 2 {
				refused++
				return forbidden("a quota"), false
			}
			return nil, false
		}})
		s.createJob(newJob("a", func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.Parallelism, j.Spec.Completions = new(batchv1.IndexedCompletion), new(int32(5)), new(int32(5))
		}))
		after(time.Minute)
		endAll(s, 0)
		after(time.Minute)
		got := counted(t, c.Metrics())
		for name, want := range map[string]float64{
			"restart_job_pods_creation_total new failed":                      2,
			"restart_job_pods_creation_total new succeeded":                   5,
			"restart_job_finished_total Indexed CompletionsReached succeeded": 1,
		} {
			if got[name] != want {
				t.Errorf("%s: %v, want %v", name, got[name], want)
			}
		}
		if t.Failed() {
			t.Log(got)
		}
	})
}

// Describe describes every metric, so that a registry refuses a second collector.
func TestMetricsAreDescribed(t *testing.T) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(NewMetrics(MetricsOptions{})); err != nil {
		t.Fatal(err)
	}
	var already prometheus.AlreadyRegisteredError
	if err := registry.Register(NewMetrics(MetricsOptions{})); !errors.As(err, &already) {
		t.Errorf("a second time: %v", err)
	}
}

// The reason of a creation is what Kubernetes' controller calls it.
func TestReasonsOfCreations(t *testing.T) {
	ended := func(p *corev1.Pod) { endPod(p, 1) }
	for _, test := range []struct {
		name   string
		policy *batchv1.PodReplacementPolicy
		pod    func(*corev1.Pod)
		want   string
	}{
		{"a running pod", nil, func(*corev1.Pod) {}, "new"},
		{"a succeeded pod", nil, func(p *corev1.Pod) { endPod(p, 0) }, "new"},
		{"a failed pod", nil, ended, "recreate_terminating_or_failed"},
		{"a failed pod, with a policy", new(batchv1.TerminatingOrFailed), ended, "recreate_terminating_or_failed"},
		{"a failed pod, to be replaced once failed", new(batchv1.Failed), ended, "recreate_failed"},
		{"a pod being deleted", nil, func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, "recreate_terminating_or_failed"},
		{"an ended pod being deleted", nil, func(p *corev1.Pod) { endPod(p, 0); p.DeletionTimestamp = new(metav1.Now()) }, "new"},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			c := start(t, s, Options{}, nil)
			job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend, j.Spec.PodReplacementPolicy = new(true), test.policy }))
			after(time.Minute)
			pod := addPodOf(s, "pod").DeepCopy()
			test.pod(pod)
			s.changePod("pod", func(p *corev1.Pod) { *p = *pod })
			for c.pods.get("ns/pod") == nil || c.pods.get("ns/pod").Status.Phase != pod.Status.Phase || c.pods.get("ns/pod").DeletionTimestamp.IsZero() != pod.DeletionTimestamp.IsZero() {
				after(time.Millisecond)
			}
			p := &pass{Controller: c.Controller, job: job}
			if got := p.creationReason(); got != test.want {
				t.Errorf("%s: %q, want %q", test.name, got, test.want)
			}
		})
	}
}
