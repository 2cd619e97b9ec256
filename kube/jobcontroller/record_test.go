package jobcontroller

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/restartkit/restart/field"
)

// Another controller has written a Job if the memory or the status changes otherwise
// than by this one. What else changes is a user's work.
func TestWritesOfAnotherControllerAreNoticed(t *testing.T) {
	base := newJob("a", func(j *batchv1.Job) { j.UID, j.ResourceVersion = "job", "10" })
	base.Annotations = map[string]string{AnnotationMemory: memoryText(t, base, 1, time.Unix(0, 0))}
	for _, test := range []struct {
		name   string
		change func(*batchv1.Job)
		want   bool
	}{
		{"a label", func(j *batchv1.Job) { j.Labels = map[string]string{"by": "a user"} }, false},
		{"the memory", func(j *batchv1.Job) { j.Annotations[AnnotationMemory] = memoryText(t, j, 2, time.Unix(0, 0)) }, true},
		{"the status", func(j *batchv1.Job) { j.Status.Active = 3 }, true},
		{"both", func(j *batchv1.Job) {
			j.Annotations[AnnotationMemory], j.Status.Failed = memoryText(t, j, 2, time.Unix(0, 0)), 2
		}, true},
		{"the memory is removed", func(j *batchv1.Job) { delete(j.Annotations, AnnotationMemory) }, false},
		{"the memory is removed, and the status", func(j *batchv1.Job) { delete(j.Annotations, AnnotationMemory); j.Status.Active = 3 }, true},
	} {
		for _, before := range []bool{false, true} {
			s := &jobRecord{}
			s.restore(base, "10", klog.Background())
			if s.overtaken {
				t.Fatal("the informer of pods has reached the Job")
			}
			s.overtaken = before
			job := base.DeepCopy()
			job.ResourceVersion = "11"
			test.change(job)
			if s.restore(job, "11", klog.Background()); s.overtaken != (before || test.want) {
				t.Errorf("%s, before %v: %v", test.name, before, s.overtaken)
			}
		}
	}
}

// A Job no newer than the one noted says nothing new.
func TestOldJobsAreNotRecalled(t *testing.T) {
	base := newJob("a", func(j *batchv1.Job) { j.UID, j.ResourceVersion = "job", "10" })
	base.Annotations = map[string]string{AnnotationMemory: memoryText(t, base, 2, time.Unix(0, 0))}
	s := &jobRecord{}
	s.restore(base, "10", klog.Background())
	for _, version := range []string{"10", "9"} {
		job := base.DeepCopy()
		job.ResourceVersion, job.Status.Active = version, 1
		job.Annotations[AnnotationMemory] = memoryText(t, job, 1, time.Unix(0, 0))
		if s.restore(job, "10", klog.Background()); s.overtaken || s.state.Failures != 2 || s.checkpoint.version != "10" {
			t.Errorf("version %s: overtaken %v, %+v", version, s.overtaken, s.state)
		}
	}
}

// Mistakes are reported when they change, not with every pass.
func TestMistakesAreReportedOnce(t *testing.T) {
	var s jobRecord
	var first, second field.Errors
	first.Add(field.Invalid, "a", 1, "must be 2")
	second.Add(field.Invalid, "a", 3, "must be 2")
	got := fmt.Sprint(len(s.unannounced(first)), len(s.unannounced(first)), len(s.unannounced(second)), len(s.unannounced(nil)), len(s.unannounced(second)))
	if got != "1 0 1 0 1" {
		t.Errorf("reported: %s", got)
	}
}

// The Job as last written is that of a write or a read, until the informer shows it.
func TestNewestJobIsTheLatestKnown(t *testing.T) {
	job := func(version string) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	}
	var s jobRecord
	for i, step := range []struct {
		learned, cached string
		want            string
		known           bool // a Job later than the informer's remains
	}{
		{"", "10", "10", false},
		{"12", "10", "12", true},
		{"11", "10", "12", true},
		{"13", "12", "13", true},
		{"", "13", "13", false},
		{"14", "15", "15", false},
		{"", "9", "9", false},
	} {
		if step.learned != "" {
			s.wroteAt(job(step.learned))
		}
		if got := s.newest(job(step.cached)).ResourceVersion; got != step.want || (s.written != nil) != step.known {
			t.Errorf("step %d: %s, written %v", i, got, s.written)
		}
	}
}

// Records belong to one Job, not to its name.
func TestRecordsBelongToOneJob(t *testing.T) {
	var s records
	first := s.of("ns/a", "1")
	if s.of("ns/a", "1") != first || s.len() != 1 {
		t.Error("the same Job has another record")
	}
	if other := s.of("ns/a", "2"); other == first || other.uid != "2" || s.len() != 1 {
		t.Error("another Job of that name has the same record")
	}
	s.forget("ns/b")
	if s.len() != 1 {
		t.Error("an unknown Job's record was dropped")
	}
	if s.forget("ns/a"); s.len() != 0 {
		t.Error("the record is left")
	}
}
