package main

import (
	"context"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	k8s "k8s.io/kubernetes/pkg/controller"

	"github.com/restartkit/restart/conformance/explore/jobworld"
	"github.com/restartkit/restart/conformance/syncjob"
	"github.com/restartkit/restart/kube/convert"
)

// script answers the requests of a pass. Kubernetes sends requests about pods in
// batches, from a goroutine for each pod. The script waits until each goroutine has
// sent a request, and then answers that of the lowest index or slot, so that equal
// passes send equal sequences. The first request beyond the answers ends the pass,
// because it and all later ones fail.
type script struct {
	sync   *syncjob.Controller
	active int // pods in the view
	before int // finalizers to go before the pass

	mu      sync.Mutex
	answers []jobworld.Answer
	next    *jobworld.Request // without an answer
	facts   [jobworld.Most]uint16

	creations struct{ left, batch int } // of which the next batch has so many
	deletions int                       // of the next batch
	running   int                       // goroutines of the batch whose next request has not arrived
	waiting   []*request
	then      func(failed bool) // after the batch
	failed    bool              // a request of the batch
	pairs     bool              // in the batch, a deletion follows the removal of a finalizer
}

type request struct {
	jobworld.Request
	order  int
	answer chan error
}

var (
	errUnanswered = errors.New("there is no answer yet")
	errRefused    = errors.New("the request was refused")
	errLost       = &url.Error{Op: "Send", URL: "https://kubernetes", Err: io.ErrUnexpectedEOF} // as http.Client says
	errGone       = apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "pod")
)

func newScript(c *syncjob.Controller, v *jobworld.View, answers []jobworld.Answer) *script {
	s := &script{sync: c, answers: answers, before: len(c.Untracked(key))}
	for _, p := range v.Pods {
		if look(p)&(deleting|ended) == 0 {
			s.active++
		}
	}
	return s
}

// take returns the next answer. ok is false if there is none; the request is then the
// pass's next one.
func (s *script) take(r jobworld.Request) (a jobworld.Answer, ok bool) {
	if s.next != nil {
		return a, false
	}
	if len(s.answers) == 0 {
		s.next = &r
		return a, false
	}
	a, s.answers = s.answers[0], s.answers[1:]
	return a, true
}

// write answers the write of a status.
func (s *script) write(_ context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	a, ok := s.take(jobworld.Request{Kind: jobworld.WriteStatus, Status: convert.JobStatus(job.Status.DeepCopy())})
	switch {
	case !ok:
		return nil, errUnanswered
	case a.Outcome != jobworld.Done:
		return nil, failure(a)
	}
	return job, nil
}

// failure returns the error of a request that was refused or whose answer was lost.
func failure(a jobworld.Answer) error {
	if a.Outcome == jobworld.Lost {
		return errLost
	}
	return errRefused
}

// send sends a request about a pod from one of the goroutines of a batch, of which the
// first one begins it.
func (s *script) send(r jobworld.Request, order int, begin func() (goroutines int, pairs bool, then func(failed bool))) error {
	s.mu.Lock()
	if s.next != nil {
		s.mu.Unlock()
		return errUnanswered
	}
	if s.running == 0 {
		s.running, s.pairs, s.then = begin()
		s.failed = false
	}
	own := &request{r, order, make(chan error, 1)}
	s.waiting = append(s.waiting, own)
	s.running--
	s.serve()
	s.mu.Unlock()
	return <-own.answer
}

// serve answers requests while all goroutines of the batch wait.
func (s *script) serve() {
	for s.running == 0 && len(s.waiting) > 0 {
		slices.SortStableFunc(s.waiting, func(a, b *request) int { return a.order - b.order })
		r := s.waiting[0]
		s.waiting = s.waiting[1:]
		a, ok := s.take(r.Request)
		if !ok {
			for _, r := range append(s.waiting, r) {
				r.answer <- errUnanswered
			}
			s.waiting = nil
			return
		}
		if a.Outcome != jobworld.Done {
			if r.Kind == jobworld.CreatePod && a.Outcome == jobworld.Lost {
				s.facts[a.Pod] |= created
			}
			s.failed = true
			r.answer <- failure(a)
			continue
		}
		if a.Gone {
			r.answer <- errGone
			continue
		}
		switch r.Kind {
		case jobworld.CreatePod:
			s.facts[a.Pod] |= created | patched
		case jobworld.RemoveFinalizer:
			s.facts[r.Pod] |= patched
			if s.pairs {
				s.running++
			}
		}
		r.answer <- nil
	}
	if s.running == 0 && s.then != nil {
		s.then(s.failed)
		s.then = nil
	}
}

// CreatePodsWithGenerateName creates pods in batches of 1, 2, 4 and so on, until one
// fails.
func (s *script) CreatePodsWithGenerateName(_ context.Context, _ string, t *corev1.PodTemplateSpec, _ runtime.Object, _ *metav1.OwnerReference, _ string) error {
	r := jobworld.Request{Kind: jobworld.CreatePod, Pod: -1, Index: -1}
	for annotation, n := range map[string]*int{
		batchv1.JobCompletionIndexAnnotation: &r.Index, batchv1.JobIndexFailureCountAnnotation: &r.Failures, batchv1.JobIndexIgnoredFailureCountAnnotation: &r.Ignored,
	} {
		if text, ok := t.Annotations[annotation]; ok {
			var err error
			*n, err = strconv.Atoi(text)
			must(err)
		}
	}
	return s.send(r, r.Index, func() (int, bool, func(bool)) {
		c := &s.creations
		return c.batch, false, func(failed bool) {
			if c.left -= c.batch; failed {
				c.left = 0
			}
			c.batch = min(2*c.batch, c.left)
		}
	})
}

// CreatePods is not used for Jobs.
func (s *script) CreatePods(context.Context, string, *corev1.PodTemplateSpec, runtime.Object, *metav1.OwnerReference) error {
	panic("a Job's pods have names")
}

// DeletePod deletes a pod, as the second request about it or, if the Job ends, as the
// only one about each active pod.
func (s *script) DeletePod(_ context.Context, _, name string, _ runtime.Object) error {
	slot := jobworld.Slot(name)
	return s.send(jobworld.Request{Kind: jobworld.DeletePod, Pod: slot, MustExist: true}, 2*slot+1, func() (int, bool, func(bool)) {
		if s.deletions > 0 {
			return s.deletions, true, s.deleted
		}
		return s.active, false, nil
	})
}

func (s *script) deleted(bool) { s.deletions = 0 }

// PatchPod removes the finalizer of a pod.
func (s *script) PatchPod(_ context.Context, _, name string, _ []byte) error {
	slot := jobworld.Slot(name)
	return s.send(jobworld.Request{Kind: jobworld.RemoveFinalizer, Pod: slot, MustExist: true}, 2*slot, func() (int, bool, func(bool)) {
		if s.deletions > 0 {
			return s.deletions, true, s.deleted
		}
		return len(s.sync.Untracked(key)) - s.before, false, nil
	})
}

// expectations tell the script the sizes of batches.
type expectations struct {
	k8s.ControllerExpectationsInterface
	script *script
}

func (e expectations) ExpectCreations(logger klog.Logger, key string, n int) error {
	e.script.creations.left, e.script.creations.batch = n, min(n, k8s.SlowStartInitialBatchSize)
	return e.ControllerExpectationsInterface.ExpectCreations(logger, key, n)
}

func (e expectations) ExpectDeletions(logger klog.Logger, key string, n int) error {
	e.script.deletions = n
	return e.ControllerExpectationsInterface.ExpectDeletions(logger, key, n)
}
