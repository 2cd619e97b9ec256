package jobcontroller

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
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
