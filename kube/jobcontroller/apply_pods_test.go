package jobcontroller

import (
	"context"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

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
		p := &pass{Controller: c.Controller, record: &jobRecord{}, job: job}
		o := p.createOne(context.Background(), podTemplate{}, named{Creation: jobpolicy.Creation{Index: -1, ObjectMeta: batch.ObjectMeta{Namespace: "ns", GenerateName: "a-"}}})
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
			p := &pass{Controller: c.Controller, record: &jobRecord{}, job: job}
			before := s.called("GET pods")
			o := p.createOne(context.Background(), podTemplate{}, named{
				Creation: jobpolicy.Creation{Index: -1, ObjectMeta: batch.ObjectMeta{Namespace: "ns", GenerateName: "a-"}}, name: test.used,
			})
			if n := s.called("GET pods") - before; n != test.reads || o.err == nil {
				t.Errorf("%s: %d reads, %v", test.name, n, o.err)
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
		p := &pass{Controller: c.Controller, key: "ns/a", record: &jobRecord{}, job: job}
		if err := p.create(context.Background(), nil); err != nil {
			t.Error(err)
		}
		if err := p.create(context.Background(), []jobpolicy.Creation{{Index: -1}}); !apierrors.IsForbidden(err) {
			t.Errorf("with a pod to create: %v", err)
		}
	})
}
