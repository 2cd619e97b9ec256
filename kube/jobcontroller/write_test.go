package jobcontroller

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"pgregory.net/rapid"
)

// drawWritten draws the parts of a Job that a controller writes. Condition types repeat
// only if twice is true.
func drawWritten(t *rapid.T, label string, twice bool) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}
	number := func(name string) int32 { return int32(rapid.IntRange(0, 2).Draw(t, label+" "+name)) }
	seen := map[batchv1.JobConditionType]bool{}
	for range number("conditions") {
		c := batchv1.JobCondition{
			Type:               rapid.SampledFrom([]batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailed, "example.com/theirs"}).Draw(t, label+" type"),
			Status:             rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, label+" status"),
			LastTransitionTime: metav1.Unix(int64(number("since")), 0),
			Reason:             rapid.SampledFrom([]string{"", "A", "B"}).Draw(t, label+" reason"),
		}
		if seen[c.Type] && !twice {
			continue
		}
		seen[c.Type] = true
		job.Status.Conditions = append(job.Status.Conditions, c)
	}
	s := &job.Status
	s.Active, s.Succeeded, s.CompletedIndexes = number("active"), number("succeeded"), fmt.Sprint(number("indexes"))
	if number("ready") > 0 {
		s.Ready, s.StartTime = new(number("how many")), new(metav1.NewTime(time.Unix(9, 0)))
	}
	if number("uncounted") > 0 {
		s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
		for i := range number("failed") {
			s.UncountedTerminatedPods.Failed = append(s.UncountedTerminatedPods.Failed, types.UID(fmt.Sprint(i)))
		}
	}
	if text := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, label+" memory"); text != "" {
		job.Annotations = map[string]string{AnnotationMemory: text}
	}
	return job
}

// A patch turns one status into the other, and preserves unknown fields.
func TestStatusPatchMakesTheOneOfTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkPatch(t, drawWritten(t, "from", rapid.Bool().Draw(t, "twice from")), drawWritten(t, "to", rapid.Bool().Draw(t, "twice to")))
	})
	theirs := batchv1.JobCondition{Type: "example.com/theirs", Status: corev1.ConditionTrue}
	one, two := &batchv1.Job{}, &batchv1.Job{}
	one.Status.Conditions, two.Status.Conditions = []batchv1.JobCondition{theirs}, []batchv1.JobCondition{theirs, theirs}
	checkPatch(t, one, two)
	checkPatch(t, two, one)
	checkPatch(t, two, two)
}

func checkPatch(t interface{ Fatalf(string, ...any) }, from, to *batchv1.Job) {
	patch, err := statusPatch(from, to)
	if err != nil {
		t.Fatalf("%v", err)
	}
	stored := fieldsOf(from)
	stored["status"].(map[string]any)["novelty"] = "x"
	stored["metadata"].(map[string]any)["annotations"] = with(map[string]any{"theirs": "y"}, fieldsOf(from.Annotations))
	text, err := json.Marshal(stored)
	if err != nil {
		t.Fatalf("%v", err)
	}
	got, err := strategicpatch.StrategicMergePatch(text, patch, batchv1.Job{})
	if err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	job := &batchv1.Job{}
	if err := json.Unmarshal(got, job); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if diff := cmp.Diff(fieldsOf(to.Status), fieldsOf(job.Status)); diff != "" {
		t.Fatalf("the status, by %s:\n%s", patch, diff)
	}
	if fieldsOf(json.RawMessage(got))["status"].(map[string]any)["novelty"] != "x" || job.Annotations["theirs"] != "y" {
		t.Fatalf("%s has lost something by %s", got, patch)
	}
	if before, after := job.Annotations[AnnotationMemory], to.Annotations[AnnotationMemory]; before != after {
		t.Fatalf("the memory is %q by %s, want %q", before, patch, after)
	}
}
