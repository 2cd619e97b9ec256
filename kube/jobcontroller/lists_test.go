package jobcontroller

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

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
		l.watch(informer)
	}
	if err := l.err(); err != nil {
		t.Errorf("at first: %v", err)
	}
	reflector := cache.NewReflector(&cache.ListWatch{}, &corev1.Pod{}, cache.NewStore(cache.MetaNamespaceKeyFunc), 0)
	ofJobs, ofPods := errors.New("no Jobs"), errors.New("no pods")
	if log := logged(0, func(ctx context.Context) { jobs.handler(ctx, reflector, ofJobs) }); !strings.Contains(log, ofJobs.Error()) {
		t.Errorf("it is not logged: %q", log)
	}
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

// A missing permission is told before other errors, whichever informer has it.
func TestMissingPermissionIsToldFirst(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no right"))
	for _, first := range []error{forbidden, apierrors.NewServiceUnavailable("etcd")} {
		l := listErrors{ofSweep: apierrors.NewServiceUnavailable("etcd")}
		l.note(&moving{version: "1"}, first)
		l.note(&moving{version: "1"}, apierrors.NewServiceUnavailable("etcd"))
		if got := apierrors.IsForbidden(l.err()); got != (first == forbidden) {
			t.Errorf("%v: forbidden is %v", l.err(), got)
		}
	}
}

// A Controller that may watch nothing knows the errors of both its informers. It runs in
// real time, because client-go holds errors back by a clock outside of a bubble.
func TestErrorsOfBothInformersAreKnown(t *testing.T) {
	c, err := New(newClient(t, func(*http.Request) (*http.Response, error) {
		return answer(nil, forbidden("no right to")), nil
	}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	failing := 0
	for failing < 2 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
		c.lists.mu.Lock()
		failing = len(c.lists.ofInformer)
		c.lists.mu.Unlock()
	}
	if err := c.ListError(); failing != 2 || !apierrors.IsForbidden(err) || c.HasSynced() {
		t.Errorf("%d informers fail: %v", failing, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
