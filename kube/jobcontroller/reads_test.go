package jobcontroller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// refusing refuses the calls of a kind while refuse is set.
type refusing struct {
	call   string
	refuse bool
}

func (r *refusing) faults() *faults {
	return &faults{hook: func(_ context.Context, call string) (error, bool) {
		if r.refuse && call == r.call {
			return forbidden("no right to"), false
		}
		return nil, false
	}}
}

// A pod that the informer no longer shows is read. It loses its finalizer if it is
// there without its label.
func TestPodsThatLeaveAreRead(t *testing.T) {
	for _, test := range []struct {
		name    string
		pod     func(*corev1.Pod) // nil: none
		key     orphanKey
		refuse  bool
		tracked bool
		err     string
	}{
		{"without its label", func(p *corev1.Pod) { p.Labels = nil }, orphanKey{key: "ns/pod"}, false, false, ""},
		{"with its label", func(*corev1.Pod) {}, orphanKey{key: "ns/pod"}, false, true, ""},
		{"another pod", func(p *corev1.Pod) { p.Labels = nil }, orphanKey{"ns/pod", "another"}, false, true, ""},
		{"gone", nil, orphanKey{key: "ns/pod"}, false, false, ""},
		{"not readable", func(p *corev1.Pod) { p.Labels = nil }, orphanKey{key: "ns/pod"}, true, true, "reading pod ns/pod"},
		{"an invalid key", nil, orphanKey{key: "a/b/c"}, false, false, ""},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			r := refusing{call: "GET pods"}
			c := start(t, s, Options{}, r.faults())
			s.createJob(newJob("a", func(j *batchv1.Job) {
				j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
			}))
			after(time.Minute)
			c.stop() // so that nothing else lets the pod go
			if test.pod != nil {
				test.key.uid = cmp.Or(test.key.uid, addPodOf(s, "pod").UID)
				s.changePod("pod", func(p *corev1.Pod) {
					p.Labels = map[string]string{PodLabel: "a"}
					test.pod(p)
				})
			}
			r.refuse = test.refuse
			err := c.syncLeft(context.Background(), test.key)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v", test.name, err)
			}
			if test.pod != nil && (trackedPods(s) == 1) != test.tracked {
				t.Errorf("%s: %d pods have their finalizer", test.name, trackedPods(s))
			}
		})
	}
}

// A queued pod keeps its finalizer if it is gone, another one or no orphan by now.
func TestQueuedPodsThatAreNoOrphansAreLeft(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		r := refusing{"PATCH pods", true}
		c := start(t, s, Options{}, r.faults())
		s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))
		after(time.Minute)
		orphan := func(name string, finalizers ...string) types.UID {
			uid := addPodOf(s, name).UID
			s.changePod(name, func(p *corev1.Pod) { p.OwnerReferences[0].UID, p.Finalizers = "gone", finalizers })
			return uid
		}
		uid, untracked := orphan("pod", batch.JobTrackingFinalizer), orphan("untracked")
		after(time.Second)
		c.stop()
		r.refuse = false
		for key, want := range map[orphanKey]int{{"ns/none", "none"}: 0, {"ns/pod", "another"}: 0, {"ns/untracked", untracked}: 0, {"ns/pod", uid}: 1} {
			before := s.called("PATCH pods")
			err := c.syncOrphan(context.Background(), key)
			if n := s.called("PATCH pods") - before; err != nil || n != want {
				t.Errorf("%v: %v, %d writes, want %d", key, err, n, want)
			}
		}
	})
}

// The template is that of the Job as the pass sees it, or none.
func TestTemplateIsOfTheJobAsSeen(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*batchv1.Job) // of the Job as seen
		refuse bool
		want   error
	}{
		{"the same", func(*batchv1.Job) {}, false, nil},
		{"changed since", func(j *batchv1.Job) { j.Generation-- }, false, errOutdated},
		{"being deleted by now", func(j *batchv1.Job) { j.DeletionTimestamp = new(metav1.Now()) }, false, errOutdated},
		{"another Job by now", func(j *batchv1.Job) { j.UID = "another" }, false, errGone},
		{"gone by now", func(j *batchv1.Job) { j.Name = "gone" }, false, errGone},
		{"not readable", func(*batchv1.Job) {}, true, errUnreadable},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			r := refusing{"GET cached jobs", test.refuse}
			c := start(t, s, Options{}, r.faults())
			job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })).DeepCopy()
			after(time.Minute)
			test.change(job)
			p := &pass{Controller: c.Controller, state: &jobState{}, job: job}
			template, err := p.template(context.Background())
			if test.want == errUnreadable {
				if !apierrors.IsForbidden(err) {
					t.Errorf("%s: %v", test.name, err)
				}
			} else if !errors.Is(err, test.want) || (err == nil) != (template.spec != nil) {
				t.Errorf("%s: %v, %+v", test.name, err, template)
			}
			if outdated := errors.Is(err, errOutdated); outdated != (p.state.latest != nil) {
				t.Errorf("%s: a newer Job is known: %v", test.name, p.state.latest != nil)
			}
		})
	}
}

// Without a pod to create, no template is read.
func TestNoTemplateIsReadForNoPod(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		r := refusing{"GET cached jobs", true}
		c := start(t, s, Options{}, r.faults())
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))
		after(time.Minute)
		p := &pass{Controller: c.Controller, key: "ns/a", state: &jobState{}, job: job}
		if err := p.create(context.Background(), nil); err != nil {
			t.Error(err)
		}
		if err := p.create(context.Background(), []jobpolicy.Creation{{Index: -1}}); !apierrors.IsForbidden(err) {
			t.Errorf("with a pod to create: %v", err)
		}
	})
}

var errUnreadable = errors.New("the Job cannot be read")

// An invalid selector, and a list that fails, fail the pass.
func TestPassThatCannotListItsPodsFails(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		r := refusing{"LIST pods", true}
		c := start(t, s, Options{}, r.faults())
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })).DeepCopy()
		after(time.Minute)
		p := &pass{Controller: c.Controller, key: "ns/another", state: &jobState{uid: job.UID}, job: job}
		p.state.recall(job, "", klog.Background())
		p.state.outrun = true
		if err := p.once(context.Background(), job); !apierrors.IsForbidden(err) || !p.state.outrun {
			t.Errorf("a list that is refused: %v, outrun %v", err, p.state.outrun)
		}
		job.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}
		if err := p.catchUp(context.Background()); err == nil || !strings.Contains(err.Error(), "selector") {
			t.Errorf("an invalid selector: %v", err)
		}
		if _, err := c.claim(context.Background(), job, nil); err == nil || !strings.Contains(err.Error(), "selector") {
			t.Errorf("claiming pods with an invalid selector: %v", err)
		}
		p.state.outrun = false
		if err := p.once(context.Background(), job); err == nil || !strings.Contains(err.Error(), "selector") {
			t.Errorf("a pass with an invalid selector: %v", err)
		}
	})
}

// A status older than the last one written is read from storage. The pass fails if it
// cannot be read, and if another controller has written it.
func TestPassOverAnOldStatusReadsTheJob(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		r := refusing{call: "GET jobs"}
		c := start(t, s, Options{Engine: jobpolicy.Engine{ManagedBy: "example.com/this"}}, r.faults())
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/other") })).DeepCopy()
		after(time.Minute)
		engine := jobpolicy.Engine{ManagedBy: "example.com/other"}
		p := &pass{Controller: c.Controller, key: "ns/another", state: &jobState{uid: job.UID}, job: job, engine: engine}
		p.state.recall(job, "", klog.Background())
		memory, _, err := decodeMemory(memoryText(t, job, 5, time.Now()), job.UID)
		if err != nil {
			t.Fatal(err)
		}
		p.state.memory = memory
		in, err := p.observe(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		r.refuse = true
		if _, err := p.plan(context.Background(), &in); !apierrors.IsForbidden(err) {
			t.Errorf("it cannot be read: %v", err)
		}
		r.refuse = false
		s.changeJob("a", func(j *batchv1.Job) { j.Labels = map[string]string{"read": "again"} })
		again := in
		if _, err := p.plan(context.Background(), &again); err != nil || p.job.Labels["read"] != "again" {
			t.Errorf("it can be read: %v, labels %v", err, p.job.Labels)
		}
		p.job = job
		s.changeJob("a", func(j *batchv1.Job) {
			j.Status.Failed = 1
			j.Annotations = map[string]string{AnnotationMemory: memoryText(t, j, 1, time.Now())}
		})
		if _, err := p.plan(context.Background(), &in); !errors.Is(err, errOutdated) {
			t.Errorf("another controller has written it: %v", err)
		}
	})
}

// A pod of a Job that cannot be read may not be an orphan.
func TestPodOfAnUnreadJobIsNoOrphan(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		r := refusing{call: "GET jobs", refuse: true}
		c := start(t, s, Options{}, r.faults())
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.DeletionTimestamp = new(metav1.Now()) })).DeepCopy()
		foreign := s.createJob(newJob("b", func(j *batchv1.Job) {
			j.DeletionTimestamp, j.Spec.ManagedBy = new(metav1.Now()), new("example.com/other")
		})).DeepCopy()
		after(time.Minute)
		pod := addPodOf(s, "pod").DeepCopy()
		pod.OwnerReferences[0].Name, pod.OwnerReferences[0].UID = "unknown", "unknown"
		if yes, err := c.orphan(context.Background(), pod); yes || !apierrors.IsForbidden(err) {
			t.Errorf("an orphan: %v, %v", yes, err)
		}
		r.refuse = false
		if yes, err := c.orphan(context.Background(), pod); !yes || err != nil {
			t.Errorf("once it can be read: an orphan: %v, %v", yes, err)
		}
		for want, job := range map[bool]*batchv1.Job{true: job, false: foreign} {
			pod := orphanPod("ownerless", job)
			pod.Namespace = "ns"
			if lost, err := c.lost(context.Background(), pod); lost != want || err != nil {
				t.Errorf("a pod of %s, which is being deleted: lost %v, %v", job.Name, lost, err)
			}
		}
	})
}

// The Job is read once before its first adoption in a pass.
func TestAdoptionsReadTheJobOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		r := refusing{"PATCH pods", true} // so that the pods stay to be adopted
		c := start(t, s, Options{}, r.faults())
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })).DeepCopy()
		for i := range 3 {
			s.addPod(orphanPod(fmt.Sprint("pod-", i), s.job("a")))
		}
		after(time.Minute)
		c.stop()
		r.refuse = false
		for _, test := range []struct {
			name        string
			hidden      hidden
			adopted     int
			reads, puts int
		}{
			{"all hidden", hidden{s.pods()[0].UID: {}, s.pods()[1].UID: {}, s.pods()[2].UID: {}}, 0, 0, 0},
			{"one hidden", hidden{s.pods()[0].UID: {}}, 2, 1, 2},
			{"all", nil, 3, 1, 3},
		} {
			reads, puts := s.called("GET jobs"), s.called("PATCH pods")
			pods, err := c.claim(context.Background(), job, test.hidden)
			if reads, puts = s.called("GET jobs")-reads, s.called("PATCH pods")-puts; err != nil || len(pods) != test.adopted || reads != test.reads || puts != test.puts {
				t.Errorf("%s: %v, adopted %d with %d reads and %d patches", test.name, err, len(pods), reads, puts)
			}
		}
	})
}

// A name that is always taken is given up.
func TestNamesThatAreTakenAreGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		names := map[string]bool{}
		s.allow = func(pod *corev1.Pod) error {
			names[pod.Name] = true
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, pod.Name)
		}
		c := start(t, s, Options{}, nil)
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))
		after(time.Minute)
		p := &pass{Controller: c.Controller, state: &jobState{}, job: job}
		o := p.createOne(context.Background(), podTemplate{}, named{Creation: jobpolicy.Creation{Index: -1, ObjectMeta: batch.ObjectMeta{GenerateName: "a-"}}})
		if !apierrors.IsAlreadyExists(o.err) || len(names) != 8 {
			t.Errorf("%v after %d names", o.err, len(names))
		}
	})
}

// The pod of a refused creation is read if an earlier attempt used its name.
func TestRefusedCreationUnderAUsedNameIsRead(t *testing.T) {
	for _, test := range []struct {
		name   string
		used   string
		refuse bool // else the answer is lost
		reads  int
	}{
		{"a new name, refused", "", true, 0},
		{"a used name, refused", "a-1", true, 1},
		{"a new name, lost", "", false, 0},
		{"a used name, lost", "a-1", false, 0},
	} {
		bubble(t, func(t *testing.T, s *apiServer) {
			c := start(t, s, Options{}, &faults{hook: func(_ context.Context, call string) (error, bool) {
				return nil, call == "POST pods" && !test.refuse
			}})
			job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))
			after(time.Minute)
			if test.refuse {
				s.allow = func(*corev1.Pod) error { return forbidden("no quota for") }
			}
			p := &pass{Controller: c.Controller, state: &jobState{}, job: job}
			before := s.called("GET pods")
			o := p.createOne(context.Background(), podTemplate{}, named{
				Creation: jobpolicy.Creation{Index: -1, ObjectMeta: batch.ObjectMeta{GenerateName: "a-"}}, name: test.used,
			})
			if n := s.called("GET pods") - before; n != test.reads || o.err == nil {
				t.Errorf("%s: %d reads, %v", test.name, n, o.err)
			}
		})
	}
}

// A resync changes nothing, so it wakes no Job.
func TestResyncWakesNoJob(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, nil)
		s.createJob(newJob("a", nil))
		after(time.Minute)
		_, before := failedPasses(t, c)
		pod := s.pods()[0]
		c.podChanged(pod, pod)
		after(time.Minute)
		if _, n := failedPasses(t, c); n != before {
			t.Errorf("%v passes", n-before)
		}
	})
}

// The last state of a deleted object may be all that the informer knows.
func TestLastStateOfADeletedObject(t *testing.T) {
	var got []string
	last := func(pod *corev1.Pod) { got = append(got, pod.Name) }
	pod := func(name string) *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	withLast(pod("a"), last)
	withLast(cache.DeletedFinalStateUnknown{Key: "ns/b", Obj: pod("b")}, last)
	withLast(newJob("c", nil), last)
	withLast(cache.DeletedFinalStateUnknown{Key: "ns/d"}, last)
	if fmt.Sprint(got) != "[a b]" {
		t.Errorf("%v", got)
	}
}

// Once a Controller ends, the keys left in its queues are dropped.
func TestKeysLeftAreDropped(t *testing.T) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	queue.Add("a")
	queue.Add("b")
	queue.ShutDown()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	work(ctx, t.Context(), queue, func(context.Context, string) error {
		t.Error("a key is handled")
		return nil
	})
	if n := queue.Len(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// Of many errors the first three are named.
func TestManyErrorsAreJoined(t *testing.T) {
	var errs []error
	for i, want := range []string{
		"<nil>", "deleting: error 0", "deleting: error 0\nerror 1", "deleting: error 0\nerror 1\nerror 2",
		"deleting: 4 errors, first: error 0\nerror 1\nerror 2",
	} {
		if got := fmt.Sprint(joined("deleting", errs)); got != want {
			t.Errorf("%d errors: %q, want %q", i, got, want)
		}
		errs = append(errs, nil, fmt.Errorf("error %d", i))
	}
}

// moving is an informer that stands at a version.
type moving struct {
	cache.SharedIndexInformer
	version string
	handler cache.WatchErrorHandlerWithContext
}

func (m *moving) LastSyncResourceVersion() string { return m.version }
func (m *moving) SetWatchErrorHandlerWithContext(handler cache.WatchErrorHandlerWithContext) error {
	m.handler = handler
	return nil
}

// The error of an informer lasts until it moves on.
func TestErrorOfAnInformerLastsUntilItMovesOn(t *testing.T) {
	var l listErrors
	jobs, pods := &moving{version: "1"}, &moving{version: "1"}
	for _, informer := range []*moving{jobs, pods} {
		if err := l.watch(informer); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.err(); err != nil {
		t.Errorf("at first: %v", err)
	}
	reflector := cache.NewReflector(&cache.ListWatch{}, &corev1.Pod{}, cache.NewStore(cache.MetaNamespaceKeyFunc), 0)
	ofJobs, ofPods := errors.New("no Jobs"), errors.New("no pods")
	jobs.handler(t.Context(), reflector, ofJobs)
	pods.handler(t.Context(), reflector, ofPods)
	if err := l.err(); !errors.Is(err, ofJobs) || !errors.Is(err, ofPods) {
		t.Errorf("of both: %v", err)
	}
	jobs.version = "2"
	if err := l.err(); errors.Is(err, ofJobs) || !errors.Is(err, ofPods) {
		t.Errorf("of one: %v", err)
	}
	l.noteSweep(ofJobs)
	pods.version = "2"
	if err := l.err(); !errors.Is(err, ofJobs) || errors.Is(err, ofPods) {
		t.Errorf("of the sweep: %v", err)
	}
}

// The informer of pods lists them from storage, and all of them unless it is told to
// list only those with the label.
func TestPodsAreListedFromStorage(t *testing.T) {
	for labelled, want := range map[bool]string{false: "", true: PodLabel} {
		list := metav1.ListOptions{ResourceVersion: "0"}
		Options{OnlyLabelledPods: labelled}.selectPods(&list)
		if list.ResourceVersion != "" || list.LabelSelector != want {
			t.Errorf("only labelled pods %v: %+v", labelled, list)
		}
	}
}

// A conflict is no error, so it is logged only with verbosity 2.
func TestConflictsAreNotLoggedAsErrors(t *testing.T) {
	for _, test := range []struct {
		err            error
		verbosity      int
		severity, text string
	}{
		{errOutdated, 0, "", ""},
		{errOutdated, 2, "I", "trying again with a newer Job"},
		{errors.New("no quota"), 0, "E", "trying again"},
	} {
		var log strings.Builder
		logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log), textlogger.Verbosity(test.verbosity)))
		logFailure(klog.NewContext(t.Context(), logger), "ns/a", fmt.Errorf("the pass: %w", test.err))
		if got := log.String(); (got == "") != (test.text == "") || !strings.HasPrefix(got, test.severity) || !strings.Contains(got, test.text) {
			t.Errorf("%v with verbosity %d: %q", test.err, test.verbosity, got)
		}
	}
}
