package jobpolicy

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A pod of an Indexed Job is told its index in every container, and has a
// hostname of its own; whatever else the template says stays.
func TestPodOfATemplate(t *testing.T) {
	var template PodTemplateSpec
	if err := json.Unmarshal([]byte(`{
		"metadata": {"labels": {"app": "a"}, "finalizers": ["x.com/y"]},
		"spec": {"hostname": "h", "subdomain": "s", "restartPolicy": "Never",
			"initContainers": [{"name": "init", "env": [{"name": "A", "value": "1"}]}],
			"containers": [{"name": "main"}, {"name": "own", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}]}]}
	}`), &template); err != nil {
		t.Fatal(err)
	}
	before := jsonText(template)
	job := indexedJob(3, 1)
	job.Spec.Template, job.Status.CompletedIndexes = template, "0,1"
	indexed := mustPlan(t, Engine{}, Input{Job: job, Now: t0}).Create[0]
	job = plainJob(1)
	job.Spec.Template = template
	plain := mustPlan(t, Engine{}, Input{Job: job, Now: t0}).Create[0]

	index := EnvVar{Name: "JOB_COMPLETION_INDEX", Value: "2"}
	want := template.Spec
	if d := cmp.Diff(want, plain.Pod(template.Spec).Spec); d != "" || plain.Hostname != "" {
		t.Errorf("a pod of a NonIndexed Job: hostname %q, %s", plain.Hostname, d)
	}
	want.Hostname = "j-2"
	want.InitContainers = []Container{{Name: "init", Env: []EnvVar{{Name: "A", Value: "1"}, index}}}
	want.Containers = []Container{{Name: "main", Env: []EnvVar{index}}, want.Containers[1]}
	got := indexed.Pod(template.Spec)
	if d := cmp.Diff(want, got.Spec); d != "" || indexed.Hostname != "j-2" {
		t.Errorf("a pod of an Indexed Job: hostname %q, %s", indexed.Hostname, d)
	}
	if d := cmp.Diff(indexed.ObjectMeta, got.ObjectMeta); d != "" || !got.tracked() || len(got.Finalizers) != 2 {
		t.Errorf("metadata: %s", d)
	}
	if after := jsonText(template); after != before {
		t.Errorf("the template was written to:\n%s\n%s", before, after)
	}
}
