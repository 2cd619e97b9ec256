package jobpolicy_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/restartkit/restart/internal/vectors"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// A pod of an Indexed Job has a hostname and, in every container, the variable with its
// index. The rest of the template is unchanged.
func TestNewPodChangesHostnameAndIndexOnly(t *testing.T) {
	var template batch.PodTemplateSpec
	if err := json.Unmarshal([]byte(`{
		"metadata": {"labels": {"app": "a"}, "finalizers": ["x.com/y"]},
		"spec": {"hostname": "h", "subdomain": "s", "restartPolicy": "Never",
			"initContainers": [{"name": "init", "env": [{"name": "A", "value": "1"}]}],
			"containers": [{"name": "main"}, {"name": "own", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}]}]}
	}`), &template); err != nil {
		t.Fatal(err)
	}
	before := vectors.Text(template)
	job := indexedJob(3, 1)
	job.Spec.Template, job.Status.CompletedIndexes = template, "0,1"
	indexed := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Now: t0}).Create[0]
	job = plainJob(1)
	job.Spec.Template = template
	plain := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: job, Now: t0}).Create[0]

	index := batch.EnvVar{Name: "JOB_COMPLETION_INDEX", Value: "2"}
	want := template.Spec
	if d := cmp.Diff(want, plain.Pod(template.Spec).Spec); d != "" || plain.Hostname != "" {
		t.Errorf("a pod of a NonIndexed Job: hostname %q, %s", plain.Hostname, d)
	}
	want.Hostname = "j-2"
	want.InitContainers = []batch.Container{{Name: "init", Env: []batch.EnvVar{{Name: "A", Value: "1"}, index}}}
	want.Containers = []batch.Container{{Name: "main", Env: []batch.EnvVar{index}}, want.Containers[1]}
	got := indexed.Pod(template.Spec)
	if d := cmp.Diff(want, got.Spec); d != "" || indexed.Hostname != "j-2" {
		t.Errorf("a pod of an Indexed Job: hostname %q, %s", indexed.Hostname, d)
	}
	if d := cmp.Diff(indexed.ObjectMeta, got.ObjectMeta); d != "" || !got.Tracked() || len(got.Finalizers) != 2 {
		t.Errorf("metadata: %s", d)
	}
	if after := vectors.Text(template); after != before {
		t.Errorf("the template was written to:\n%s\n%s", before, after)
	}
}

// A Creation has the template's metadata and the Job's additions, and shares neither
// with the Job.
func TestCreationSharesNoMetadata(t *testing.T) {
	template := batch.ObjectMeta{
		Labels:      map[string]string{"app": "a"},
		Annotations: map[string]string{"note": "n"},
		Finalizers:  []string{"x.com/y", batch.JobTrackingFinalizer},
	}
	text := vectors.Text(template)
	job := indexedJob(1, 3)
	job.Spec.Template.ObjectMeta, job.Spec.PodFailurePolicy = template, ignores7()
	with := func(counts map[string]string) batch.ObjectMeta {
		m := batch.ObjectMeta{GenerateName: "j-0-", Namespace: "ns", Finalizers: template.Finalizers,
			Labels:      map[string]string{"app": "a", batch.JobCompletionIndexAnnotation: "0"},
			Annotations: map[string]string{"note": "n", batch.JobCompletionIndexAnnotation: "0"},
		}
		maps.Copy(m.Annotations, counts)
		return m
	}
	for name, tt := range map[string]struct {
		failed *batch.Pod
		want   map[string]string
	}{
		"the first pod":        {nil, map[string]string{batch.JobIndexFailureCountAnnotation: "0"}},
		"after a failure":      {pod("a", 0, batch.PodFailed, 1, t0), map[string]string{batch.JobIndexFailureCountAnnotation: "1"}},
		"after an ignored one": {pod("a", 0, batch.PodFailed, 7, t0), map[string]string{batch.JobIndexFailureCountAnnotation: "0", batch.JobIndexIgnoredFailureCountAnnotation: "1"}},
	} {
		in := jobpolicy.Input{Job: job, Now: t0.Add(time.Hour)}
		if tt.failed != nil {
			in.Pods = []*batch.Pod{tt.failed}
		}
		if d := cmp.Diff(with(tt.want), mustPlan(t, jobpolicy.Engine{}, in).Create[0].ObjectMeta); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	plain := plainJob(1)
	plain.Spec.Template.ObjectMeta = template
	n := mustPlan(t, jobpolicy.Engine{}, jobpolicy.Input{Job: plain, Now: t0}).Create[0]
	want := template
	want.GenerateName, want.Namespace = "j-", "ns"
	if d := cmp.Diff(want, n.ObjectMeta); d != "" || n.Index != -1 {
		t.Errorf("index %d: %s", n.Index, d)
	}
	n.Labels["app"], n.Annotations["note"], n.Finalizers[0] = "b", "b", "b"
	if after := vectors.Text(template); after != text {
		t.Errorf("the template is shared: %s", after)
	}
}

// A long Job name is cut so that the index fits.
func TestLongNamesKeepTheIndex(t *testing.T) {
	for _, tt := range []struct {
		job   int
		index int
		kept  int
		end   string
	}{{63, 12, 54, "-12-"}, {55, 0, 55, "-0-"}, {56, 0, 55, "-0-"}, {1, 0, 1, "-0-"}} {
		if got, want := jobpolicy.GenerateName(strings.Repeat("j", tt.job), tt.index), strings.Repeat("j", tt.kept)+tt.end; got != want {
			t.Errorf("a Job's name of %d bytes: %s, want %s", tt.job, got, want)
		}
	}
}
