package jobcontroller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/kube/convert"
)

// logged returns what f logs up to a verbosity.
func logged(verbosity int, f func(ctx context.Context)) string {
	var text strings.Builder
	config := textlogger.NewConfig(textlogger.Output(&text), textlogger.Verbosity(verbosity))
	f(klog.NewContext(context.Background(), textlogger.NewLogger(config)))
	return text.String()
}

// logCase is an action and the line that it logs from a verbosity on.
type logCase struct {
	name      string
	do        func(ctx context.Context)
	verbosity int
	severity  string   // its first letter; "" means no line
	want      []string // parts of the line
}

func checkLog(t *testing.T, test logCase) {
	t.Helper()
	if test.verbosity > 0 {
		if got := logged(test.verbosity-1, test.do); got != "" {
			t.Errorf("%s: with verbosity %d: %s", test.name, test.verbosity-1, got)
		}
	}
	got := logged(test.verbosity, test.do)
	if !strings.HasPrefix(got, test.severity) || test.severity == "" && got != "" {
		t.Errorf("%s: %q, want severity %q", test.name, got, test.severity)
	}
	for _, want := range test.want {
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", test.name, got, want)
		}
	}
}

// What a pass gives up, cannot read or write, or plans is logged.
func TestLogOfAPass(t *testing.T) {
	old := t0.Add(-expectationsEnd)
	over := func(change func(*pass)) *pass {
		p, _ := passOver(t, "10", t0)
		p.events = record.NewFakeRecorder(100)
		change(p)
		return p
	}
	waiting := func() *pass {
		return over(func(p *pass) {
			p.record.live = &liveList{version: "20", at: old, pods: map[types.UID]livePod{"a": {"a", "15", true}}}
		})
	}
	reads := func(text string) func(context.Context) {
		return func(ctx context.Context) {
			job := newJob("a", func(j *batchv1.Job) { j.Annotations = map[string]string{AnnotationMemory: text} })
			new(jobRecord).restore(job, "10", klog.FromContext(ctx))
		}
	}
	writes := func(last time.Time) func(context.Context) {
		return func(ctx context.Context) {
			p := over(func(*pass) {})
			next := p.job.DeepCopy()
			p.annotate(ctx, next, jobpolicy.State{Job: "job", LastFailure: last})
			if _, is := next.Annotations[AnnotationMemory]; is != (last == t0) {
				t.Errorf("annotations %v", next.Annotations)
			}
		}
	}
	for _, test := range []logCase{
		{"a listed pod does not appear", func(ctx context.Context) { waiting().isBehind(ctx) }, 0, "E", []string{"giving up on listed pods", "pods=1", `after="5m0s"`}},
		{"no listed pod is missing", func(ctx context.Context) {
			p := waiting()
			p.record.live.pods = nil
			p.isBehind(ctx)
		}, 0, "", nil},
		{"a created pod does not appear", func(ctx context.Context) {
			p := over(func(p *pass) { p.record.expectations.expectCreation(testPod("a", 15), old) })
			if _, err := p.observe(ctx); err != nil {
				t.Error(err)
			}
		}, 0, "E", []string{"giving up on creations or deletions", "pods=1", `after="5m0s"`}},
		{"a lost pod does not appear", func(ctx context.Context) {
			over(func(p *pass) { p.record.unacknowledged.creationUnanswered(testPod("a", 15), old) }).expectLost(ctx)
		}, 0, "E", []string{"giving up on unanswered creations", "pods=1", `after="5m0s"`}},
		{"nothing was lost", func(ctx context.Context) {
			p := over(func(*pass) {})
			p.expectLost(ctx)
			if _, err := p.observe(ctx); err != nil {
				t.Error(err)
			}
		}, 0, "", nil},
		{"a broken state", reads("{"), 0, "E", []string{"cannot read the Job's state", "remembered=false"}},
		{"a memory", reads(`{"job":"x"}`), 0, "", nil},
		{"a state that has no JSON", writes(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)), 0, "E", []string{"cannot write the state"}},
		{"a memory that has one", writes(t0), 0, "", nil},
		{"a plan", func(ctx context.Context) {
			p := over(func(*pass) {})
			in, err := p.observe(ctx)
			if err == nil {
				_, err = p.plan(ctx, &in)
			}
			if err != nil {
				t.Error(err)
			}
		}, 3, "I", []string{"planned", "delete=0", "create=1", "record=true", "release=0", "status=false"}},
	} {
		checkLog(t, test)
	}
}

// Changes of pods are logged with verbosity 2, and a list after the writes of another
// controller always.
func TestLogOfChangesToPods(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		r := refusing{"PATCH pods", true} // so that the pods stay as they are
		c := start(t, s, Options{}, r.faults())
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })).DeepCopy()
		after(time.Minute)
		adoptable := orphanPod("adoptable", job)
		s.addPod(adoptable)
		pod := addPodOf(s, "pod").DeepCopy()
		gone := addPodOf(s, "orphan").DeepCopy()
		gone.OwnerReferences[0].UID = "gone"
		s.changePod("orphan", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "gone" })
		after(time.Minute)
		c.stop()
		r.refuse = false
		p := &pass{Controller: c.Controller, key: "ns/a", record: &jobRecord{uid: job.UID}, job: job}
		ok := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		for _, test := range []logCase{
			{"adopted", func(ctx context.Context) { _, err := c.claim(ctx, job, nil); ok(err) }, 2, "I", []string{"adopting a pod", `pod="ns/adoptable"`}},
			{"released", func(ctx context.Context) { ok(c.release(ctx, job, pod)) }, 2, "I", []string{"releasing a pod", `pod="ns/pod"`}},
			{"without its label", func(ctx context.Context) { ok(c.syncUnlabelled(ctx, gone)) }, 2, "I", []string{"removing the finalizer of a pod without its label", `pod="ns/orphan"`}},
			{"an orphan", func(ctx context.Context) { ok(c.syncOrphan(ctx, orphanKey{"ns/orphan", gone.UID})) }, 2, "I", []string{"removing the finalizer of an orphan", `pod="ns/orphan"`}},
			{"listed", func(ctx context.Context) { ok(p.catchUp(ctx)) }, 0, "I", []string{"another controller may have written the Job"}},
			{"refused as the namespace goes", func(ctx context.Context) {
				s.allow = func(*corev1.Pod) error { return terminating() }
				p := &pass{Controller: c.Controller, key: "ns/a", record: &jobRecord{uid: job.UID}, job: job}
				plan := jobpolicy.Plan{Create: []jobpolicy.Creation{{Index: -1, ObjectMeta: batch.ObjectMeta{Namespace: "ns", GenerateName: "a-"}}}}
				ok(p.carryOut(ctx, plan, jobpolicy.Input{Job: convert.Job(job), Now: time.Now()}))
			}, 2, "I", []string{"not creating pods in a namespace that is being deleted"}},
		} {
			checkLog(t, test)
		}
	})
}

// A status that somebody has set back is accepted, and logged.
func TestLogOfAStatusSetBack(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c := start(t, s, Options{}, nil)
		job := s.createJob(newJob("a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })).DeepCopy()
		after(time.Minute)
		c.stop()
		checkLog(t, logCase{"set back", func(ctx context.Context) {
			p := &pass{Controller: c.Controller, key: "ns/a", record: &jobRecord{uid: job.UID}, job: s.job("a").DeepCopy(), engine: c.options.Engine}
			p.record.restore(p.job, "", klog.FromContext(ctx))
			var err error
			if p.record.state, _, err = decodeState(memoryText(t, job, 5, time.Now()), job.UID); err != nil {
				t.Fatal(err)
			}
			in, err := p.observe(ctx)
			if err == nil {
				_, err = p.plan(ctx, &in)
			}
			if err != nil {
				t.Error(err)
			}
		}, 0, "I", []string{"accepting a status that another writer has set back", "notes="}})
	})
}

// Run logs when it waits, runs and ends.
func TestLogOfRun(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiServer) {
		c, err := New(s.client(t, &faults{}), Options{Workers: 3})
		if err != nil {
			t.Fatal(err)
		}
		checkLog(t, logCase{"Run", func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if err := c.Run(ctx); err != nil {
				t.Error(err)
			}
			if err := c.Run(ctx); err == nil || errors.Is(err, ErrUnlabelledPods) {
				t.Errorf("Run called again: %v", err)
			}
		}, 0, "I", []string{"waiting for Jobs and pods", `managedBy="` + DefaultManagedBy + `"`, "running Jobs", "workers=3", "ending"}})
	})
}
