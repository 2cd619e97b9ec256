package jobcontroller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
)

// recordingQueue records the keys added.
type recordingQueue struct {
	workqueue.TypedRateLimitingInterface[string]
	keys []string
}

func (q *recordingQueue) AddAfter(key string, after time.Duration) {
	q.keys = append(q.keys, fmt.Sprint(key, " after ", after))
}

// A change of a pod wakes the Jobs that it concerns.
func TestPodChangesWakeTheirJobs(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, nil)
		for _, name := range []string{"a", "b"} {
			s.createJob(newJob(name, func(j *batchv1.Job) {
				j.Spec.Suspend, j.Spec.Template.Labels = new(true), map[string]string{"of": name}
				j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"of": name}}
				j.Spec.ManualSelector = new(true)
			}))
		}
		after(time.Minute)
		a, b := s.job("a").DeepCopy(), s.job("b").DeepCopy()
		c.stop()
		pod := func(version, label string, of *batchv1.Job) *corev1.Pod {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "ns", ResourceVersion: version, Labels: map[string]string{"of": label}}}
			if of != nil {
				p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, jobKind)}
			}
			return p
		}
		for _, test := range []struct {
			name     string
			old, pod *corev1.Pod
			want     string
		}{
			{"added", nil, pod("1", "a", a), "[ns/a]"},
			{"changed", pod("1", "a", a), pod("2", "a", a), "[ns/a]"},
			{"deleted", pod("1", "a", a), nil, "[ns/a]"},
			{"a resync", pod("1", "a", a), pod("1", "a", a), "[]"},
			{"another owner", pod("1", "a", a), pod("2", "a", b), "[ns/a ns/b]"},
			{"released", pod("1", "a", a), pod("2", "none", nil), "[ns/a]"},
			{"released, and to be adopted by another", pod("1", "a", a), pod("2", "b", nil), "[ns/a ns/b]"},
			{"adopted", pod("1", "a", nil), pod("2", "a", a), "[ns/a]"},
			{"added without an owner", nil, pod("1", "b", nil), "[ns/b]"},
			{"without an owner, other labels", pod("1", "a", nil), pod("2", "b", nil), "[ns/b]"},
			{"without an owner, the same labels", pod("1", "a", nil), pod("2", "a", nil), "[]"},
			{"deleted without an owner", pod("1", "a", nil), nil, "[]"},
			{"without an owner or a selector", nil, pod("1", "none", nil), "[]"},
		} {
			queue := &recordingQueue{}
			c.queue = queue
			c.podChanged(test.old, test.pod)
			for i, key := range queue.keys {
				queue.keys[i], _, _ = strings.Cut(key, " after 1s")
			}
			if got := fmt.Sprint(queue.keys); got != test.want {
				t.Errorf("%s: %s, want %s", test.name, got, test.want)
			}
		}
	})
}

// A change of a Job wakes it, at once if it is new, over, deleted or specified anew. One
// that is over or gone leaves orphans.
func TestJobChangesWakeTheJob(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, nil)
		job := s.createJob(newJob("a", nil)).DeepCopy()
		after(time.Minute) // it has a pod with the finalizer
		c.stop()
		with := func(changes ...func(*batchv1.Job)) *batchv1.Job {
			j := job.DeepCopy()
			for _, change := range changes {
				change(j)
			}
			return j
		}
		specified := func(j *batchv1.Job) { j.Generation++ }
		deleted := func(j *batchv1.Job) { j.DeletionTimestamp = new(metav1.Now()) }
		over := func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		}
		replaced := func(j *batchv1.Job) { j.UID = "another" }
		const soon, later = "ns/a after 0s", "ns/a after 1s"
		for _, test := range []struct {
			name    string
			change  func()
			want    string
			orphans int
		}{
			{"added", func() { c.jobAdded(job) }, soon, 0},
			{"gone", func() { c.jobDeleted(job) }, soon, 1},
			{"its status", func() { c.jobUpdated(job, with()) }, later, 0},
			{"its specification", func() { c.jobUpdated(job, with(specified)) }, soon, 0},
			{"to be deleted", func() { c.jobUpdated(job, with(deleted)) }, soon, 0},
			{"its status, while to be deleted", func() { c.jobUpdated(with(deleted), with(deleted)) }, later, 0},
			{"over", func() { c.jobUpdated(job, with(over)) }, soon, 1},
			{"another one of its name", func() { c.jobUpdated(job, with(replaced)) }, soon + " " + soon, 1},
		} {
			queue, orphans := &recordingQueue{}, &countingQueue{}
			c.queue, c.orphans = queue, orphans
			test.change()
			if got := strings.Join(queue.keys, " "); got != test.want || orphans.added != test.orphans {
				t.Errorf("%s: %s and %d orphans, want %s and %d", test.name, got, orphans.added, test.want, test.orphans)
			}
		}
	})
}
