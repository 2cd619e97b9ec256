package jobcontroller

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Pods to create take the names of creations without an answer, those of their own kind.
func TestLostNamesAreUsedFirst(t *testing.T) {
	lost := func(names ...string) (u unsure) {
		for _, name := range names {
			u.creations = append(u.creations, lostCreation{name: name, generateName: name[:2]})
		}
		return u
	}
	for _, test := range []struct {
		lost   unsure
		wanted string // generateNames
		want   string // with the names
	}{
		{lost(), "", ""},
		{lost(), "a- b-", "a-: b-:"},
		{lost("a-1"), "a-", "a-:a-1"},
		{lost("a-1"), "a- a- b-", "a-:a-1 a-: b-:"},
		{lost("a-1", "a-2"), "a- a- a-", "a-:a-1 a-:a-2 a-:"},
		{lost("b-1"), "a- b-", "b-:b-1 a-:"},
		{lost("b-1"), "a- a-", ""}, // b-1 may still bring a pod too many
		{lost("a-1", "b-1"), "a- a-", "a-:a-1"},
		{lost("a-1"), "", ""},
	} {
		var wanted []jobpolicy.Creation
		for name := range strings.FieldsSeq(test.wanted) {
			wanted = append(wanted, jobpolicy.Creation{ObjectMeta: batch.ObjectMeta{GenerateName: name}})
		}
		var got []string
		for _, n := range test.lost.nameAll(wanted) {
			got = append(got, n.GenerateName+":"+n.name)
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("lost %v, wanted %q: %q, want %q", test.lost.creations, test.wanted, text, test.want)
		}
	}
}

// A creation without an answer is known once, with its last attempt, until the pod is
// shown as the Job's or the wait has been too long.
func TestLostCreationsAreSettled(t *testing.T) {
	pod := func(name, job string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, GenerateName: "a-", OwnerReferences: []metav1.OwnerReference{{UID: types.UID(job), Controller: new(true)}}}}
	}
	for _, test := range []struct {
		name    string
		pod     *corev1.Pod // shown
		after   time.Duration
		left    int
		givenUp int
	}{
		{"not shown", nil, 0, 1, 0},
		{"shown", pod("a-1", "job"), 0, 0, 0},
		{"another Job's pod", pod("a-1", "another"), 0, 1, 0},
		{"too old", nil, expectationsEnd, 0, 1},
		{"shown in the end", pod("a-1", "job"), expectationsEnd, 0, 0},
	} {
		var u unsure
		u.lose(pod("a-1", "job"), t0.Add(-time.Hour))
		u.lose(pod("a-1", "job"), t0)
		if len(u.creations) != 1 || u.open() != 1 {
			t.Fatalf("one creation lost twice: %v", u.creations)
		}
		givenUp := u.settle("job", func(name string) *corev1.Pod {
			if name != "a-1" {
				t.Errorf("%s: asked for %s", test.name, name)
			}
			return test.pod
		}, t0.Add(test.after))
		if len(u.creations) != test.left || givenUp != test.givenUp {
			t.Errorf("%s: left %v, given up %d", test.name, u.creations, givenUp)
		}
		if u.found("a-1"); u.open() != 0 {
			t.Errorf("%s: found, left %v", test.name, u.creations)
		}
	}
}

// A pod stays hidden until the informer shows its true state.
func TestHiddenPodsAreSettled(t *testing.T) {
	of := func(p *corev1.Pod, job string, tracked bool) *corev1.Pod {
		p.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(job), Controller: new(true)}}
		if tracked {
			p.Finalizers = []string{batch.JobTrackingFinalizer}
		}
		return p
	}
	for _, test := range []struct {
		name    string
		pod     *corev1.Pod
		version string // of the pod without its finalizer; "" if it was gone
		store   string
		hidden  bool
	}{
		{"still shown with the finalizer", of(testPod("a", 9), "job", true), "10", "9", true},
		{"shown without it", of(testPod("a", 9), "job", false), "10", "9", false},
		{"shown as another Job's", of(testPod("a", 9), "another", false), "10", "9", true},
		{"shown as nobody's", testPod("a", 9), "10", "9", true},
		{"shown in its version", of(testPod("a", 10), "job", true), "10", "9", false},
		{"shown in a later one, with the finalizer put back", of(testPod("a", 11), "job", true), "10", "9", false},
		{"the store is past it", of(testPod("a", 9), "job", true), "10", "10", false},
		{"not shown yet", nil, "10", "9", true},
		{"no longer shown", nil, "10", "10", false},
		{"not shown, by a store that does not tell", nil, "10", "", false},
		{"gone, and no longer shown", nil, "", "9", false},
		{"gone, and still shown", of(testPod("a", 9), "job", true), "", "9", true},
		{"another pod of that name", testPod("b", 9), "10", "9", true},
		{"another pod of that name, and the store is past it", testPod("b", 11), "10", "11", false},
	} {
		var h hidden
		if h.has("a") || h.names() != nil {
			t.Fatal("hidden at first")
		}
		h.hide("a", "pod", test.version)
		if !h.has("a") || len(h.names()) != 1 {
			t.Fatal("not hidden")
		}
		h.settle("job", test.store, func(string) *corev1.Pod { return test.pod })
		if h.has("a") != test.hidden {
			t.Errorf("%s: hidden %v", test.name, h.has("a"))
		}
	}
	h := hidden{"c": {}, "a": {}, "b": {}}
	if got := fmt.Sprint(h.names()); got != "[a b c]" {
		t.Errorf("the names: %s", got)
	}
}

// A memory is written without a status only for new facts about ends.
func TestMemoryThatSaysMoreIsWritten(t *testing.T) {
	base := func(change func(*jobpolicy.State)) jobpolicy.State {
		m := jobpolicy.State{
			Job: "job", Failures: 1, LastFailure: t0, Ignored: 1, LastIgnored: t0,
			Ahead: map[string]time.Time{"a": t0}, Handled: []string{"h"}, Released: []string{"r"},
		}
		change(&m)
		return m
	}
	for _, test := range []struct {
		name   string
		change func(*jobpolicy.State)
		want   bool
	}{
		{"nothing", func(*jobpolicy.State) {}, false},
		{"failures", func(m *jobpolicy.State) { m.Failures++ }, true},
		{"the last failure", func(m *jobpolicy.State) { m.LastFailure = t0.Add(1) }, true},
		{"the last failure, in another zone", func(m *jobpolicy.State) { m.LastFailure = t0.In(time.FixedZone("", 3600)) }, false},
		{"ignored failures", func(m *jobpolicy.State) { m.Ignored++ }, true},
		{"the last ignored failure", func(m *jobpolicy.State) { m.LastIgnored = t0.Add(1) }, true},
		{"a pod ahead", func(m *jobpolicy.State) { m.Ahead = map[string]time.Time{"a": t0, "b": t0} }, true},
		{"another time of a pod ahead", func(m *jobpolicy.State) { m.Ahead = map[string]time.Time{"a": t0.Add(1)} }, false},
		{"no pod ahead", func(m *jobpolicy.State) { m.Ahead = nil }, false},
		{"a pod handled", func(m *jobpolicy.State) { m.Handled = []string{"h", "i"} }, true},
		{"another pod handled", func(m *jobpolicy.State) { m.Handled = []string{"i"} }, true},
		{"no pod handled", func(m *jobpolicy.State) { m.Handled = nil }, false},
		{"a pod released", func(m *jobpolicy.State) { m.Released = []string{"r", "s"} }, false},
		{"the status written", func(m *jobpolicy.State) { m.Written.Failed = 7 }, false},
	} {
		if got := saysMore(base(test.change), base(func(*jobpolicy.State) {})); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// The Job as last written is that of a write or a read, until the informer shows it.
func TestNewestJobIsTheLatestKnown(t *testing.T) {
	job := func(version string) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	}
	var s jobState
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
			s.learn(job(step.learned))
		}
		if got := s.newest(job(step.cached)).ResourceVersion; got != step.want || (s.latest != nil) != step.known {
			t.Errorf("step %d: %s, latest %v", i, got, s.latest)
		}
	}
}

// States belong to one Job, not to its name.
func TestStatesBelongToOneJob(t *testing.T) {
	var s states
	first := s.of("ns/a", "1")
	if s.of("ns/a", "1") != first || s.len() != 1 {
		t.Error("the same Job has another state")
	}
	if other := s.of("ns/a", "2"); other == first || other.uid != "2" || s.len() != 1 {
		t.Error("another Job of that name has the same state")
	}
	s.forget("ns/b")
	if s.len() != 1 {
		t.Error("an unknown Job's state was dropped")
	}
	if s.forget("ns/a"); s.len() != 0 {
		t.Error("the state is left")
	}
}

// The room for the memory is what others leave of 256 KiB, at most 32 KiB.
func TestRoomForMemory(t *testing.T) {
	const total = 256 << 10
	for _, test := range []struct {
		annotations map[string]string
		want        int
	}{
		{nil, maxMemory},
		{map[string]string{AnnotationMemory: strings.Repeat("x", total)}, maxMemory},
		{map[string]string{"name": strings.Repeat("x", total-len(AnnotationMemory)-4-100)}, 100},
		{map[string]string{"name": strings.Repeat("x", total)}, -4 - len(AnnotationMemory)},
	} {
		if got := roomForMemory(test.annotations); got != test.want {
			t.Errorf("%v: %d, want %d", slices.Collect(maps.Keys(test.annotations)), got, test.want)
		}
	}
}

// Gone Jobs are remembered, 4096 of them, and then forgotten together.
func TestGoneJobsAreBounded(t *testing.T) {
	var g goneJobs
	if g.has("0") {
		t.Error("gone at first")
	}
	for i := range 4096 {
		g.add(types.UID(fmt.Sprint(i)))
	}
	if !g.has("0") || !g.has("4095") || g.has("4096") {
		t.Error("not all are known")
	}
	g.add("4096")
	if g.has("0") || !g.has("4096") || len(g.uids) != 1 {
		t.Errorf("%d are known", len(g.uids))
	}
}

// A name has the start of the generateName, and fits in a DNS label.
func TestPodNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	for generate, start := range map[string]string{"a-": "a-", "": "", long: long[:58]} {
		one, other := podName(generate), podName(generate)
		if !strings.HasPrefix(one, start) || len(one) != len(start)+5 || one == other {
			t.Errorf("%q: %q, %q", generate, one, other)
		}
	}
}

// A deletion without an answer keeps its first time, until there is an answer.
func TestUnansweredDeletionsKeepTheirFirstTime(t *testing.T) {
	lost := errors.New("connection reset")
	var u unsure
	if u.isOver("a", lost, t0) {
		t.Error("over before it was sent")
	}
	u.noteUnanswered("a", t0)
	u.noteUnanswered("a", t0.Add(time.Minute))
	u.noteUnanswered("b", t0.Add(time.Minute))
	for _, test := range []struct {
		uid   string
		err   error
		after time.Duration
		want  bool
	}{
		{"a", nil, 2 * expectationsEnd, false},
		{"a", lost, expectationsEnd - 1, false},
		{"a", lost, expectationsEnd, true},
		{"b", lost, expectationsEnd, false},
		{"c", lost, expectationsEnd, false},
		{"a", forbidden("no right to"), 0, true},
		{"c", forbidden("no right to"), 0, false},
	} {
		if got := u.isOver(test.uid, test.err, t0.Add(test.after)); got != test.want {
			t.Errorf("%s after %v, %v: %v", test.uid, test.after, test.err, got)
		}
	}
	u.noteAnswered("a")
	if u.isOver("a", lost, t0.Add(expectationsEnd)) {
		t.Error("over, although it had an answer")
	}
}

// countingQueue counts the keys added.
type countingQueue struct {
	workqueue.TypedRateLimitingInterface[orphanKey]
	added int
}

func (q *countingQueue) Add(orphanKey) { q.added++ }

// Only pods that no unfinished Job controls are queued as orphans.
func TestPodsOfUnfinishedJobsAreNoOrphans(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, nil)
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })).DeepCopy()
		over := s.createJob(newJob("b", func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		})).DeepCopy()
		after(time.Minute)
		c.stop()
		pod := func(job *batchv1.Job, change func(*metav1.OwnerReference)) *corev1.Pod {
			ref := metav1.NewControllerRef(job, jobKind)
			change(ref)
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "ns", OwnerReferences: []metav1.OwnerReference{*ref}}}
		}
		none := func(*metav1.OwnerReference) {}
		for _, test := range []struct {
			name   string
			pod    *corev1.Pod
			queued bool
		}{
			{"a suspended Job's", pod(job, none), false},
			{"a finished Job's", pod(over, none), true},
			{"an unknown Job's", pod(job, func(r *metav1.OwnerReference) { r.UID = "unknown" }), true},
			{"a workflow's", pod(job, func(r *metav1.OwnerReference) { r.Kind = "Workflow" }), false},
			{"that of a Job of another group", pod(job, func(r *metav1.OwnerReference) { r.APIVersion = "example.com/v1" }), false},
			{"nobody's", pod(job, func(r *metav1.OwnerReference) { r.Controller = nil }), true},
		} {
			queue := &countingQueue{}
			c.orphans = queue
			c.enqueueIfOrphan(test.pod)
			if (queue.added == 1) != test.queued {
				t.Errorf("%s: queued %d times", test.name, queue.added)
			}
		}
	})
}

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

// Defaults replace zero values and nothing else.
func TestDefaultsReplaceZeros(t *testing.T) {
	got := Options{}.withDefaults()
	if got.Engine.ManagedBy != DefaultManagedBy || got.Workers != 5 || got.Parallel != 50 || got.BatchPeriod != time.Second ||
		got.Retry != (backoff.Policy{Initial: time.Second, Max: time.Minute}) || got.Metrics == nil || got.Clock == nil {
		t.Errorf("%+v", got)
	}
	set := Options{
		Engine: jobpolicy.Engine{ManagedBy: "example.com/this"}, Workers: 1, Parallel: 2, BatchPeriod: 3,
		Retry: backoff.JobPod(), Metrics: NewMetrics(), Clock: clocktesting.NewFakeClock(t0),
	}
	if got := set.withDefaults(); !reflect.DeepEqual(got, set) {
		t.Errorf("%+v, want %+v", got, set)
	}
}

// The informers keep no managed fields.
func TestManagedFieldsAreDropped(t *testing.T) {
	pod := testPod("a", 1)
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	if got, err := withoutManagedFields(pod); err != nil || got != pod || pod.ManagedFields != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := withoutManagedFields("no object"); err != nil || got != "no object" {
		t.Errorf("%v, %v", got, err)
	}
}
