package explain

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// FuzzObjects explains mutated Jobs and pods. Nothing panics, everything encodes as
// JSON, and texts have no characters that command a terminal.
func FuzzObjects(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		s := readSituation(f, file)
		var job *batchv1.Job
		pods := s.pods
		if len(s.jobs) > 0 {
			job = s.jobs[0]
			pods = s.podsOf(job)
		}
		f.Add(encoded(f, job), encoded(f, pods), int64(0))
		f.Add(encoded(f, job), encoded(f, s.pods), int64(-3600))
	}
	f.Add([]byte(`{"spec":{"completionMode":"Fancy","managedBy":"x/y"},"status":{"conditions":[{"type":"New","status":"True"}]}}`), []byte(`[{},null,{"status":{}}]`), int64(1))
	f.Add([]byte(`{"status":{"failed":-1,"completedIndexes":"0-2147483647,x","uncountedTerminatedPods":{"failed":["","u"]}}}`), []byte(`[{"metadata":{"uid":"u"},"status":{"phase":"Later"}}]`), int64(1<<40))
	f.Fuzz(func(t *testing.T, jobText, podsText []byte, shift int64) {
		var job batchv1.Job
		var pods []*corev1.Pod
		if len(jobText)+len(podsText) > 1<<16 || json.Unmarshal(jobText, &job) != nil || json.Unmarshal(podsText, &pods) != nil {
			return
		}
		there := pods[:0]
		for _, p := range pods {
			if p != nil {
				there = append(there, p)
			}
		}
		o := noon
		o.Now = o.Now.Add(time.Duration(shift) * time.Second)
		explainAll(t, &job, there, o)
	})
}

func encoded(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// explainAll calls every function of the package.
func explainAll(t testing.TB, job *batchv1.Job, pods []*corev1.Pod, o Options) {
	t.Helper()
	var text strings.Builder
	w := Printer{W: &text, Options: o}
	values := []any{}
	for _, p := range pods {
		x, c := OfPod(p, o), Compare(p, o)
		w.Pod(x)
		w.Compare(p.Namespace, p.Name, c)
		values = append(values, x, c)
	}
	x := OfJob(job, pods, o)
	w.Job(x)
	waiting := Next(pods, []*batchv1.Job{job}, o)
	w.Next(waiting)
	for _, item := range waiting {
		if item.To.Before(item.From) {
			t.Errorf("%+v ends before it begins", item)
		}
		if err := w.Change(item, false); err != nil {
			t.Error(err)
		}
	}
	subjects := []Subject{{Kind: "Job", Meta: &job.ObjectMeta, Path: "spec", Job: &job.Spec, Object: job}}
	for _, p := range pods {
		subjects = append(subjects, Subject{Kind: "Pod", Meta: &p.ObjectMeta, Path: "spec", Pod: &p.Spec, Object: p})
	}
	groups, err := Lint(subjects, "1.27")
	if err != nil {
		t.Error(err)
	}
	w.Groups(groups)
	values = append(values, x, waiting, groups)
	if _, err := json.Marshal(values); err != nil && !strings.Contains(err.Error(), "year") {
		t.Error(err)
	}
	for _, r := range text.String() {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("the text has the character %U", r)
		}
	}
}
