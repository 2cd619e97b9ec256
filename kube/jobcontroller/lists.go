package jobcontroller

import (
	"context"
	"errors"
	"sync"

	"k8s.io/client-go/tools/cache"
)

// ListError returns why Jobs or pods cannot be listed or watched: the errors of the last
// attempts, nil once they succeed. With a right that is missing, it is a Forbidden error
// of package k8s.io/apimachinery/pkg/api/errors. Errors of informers that were given are
// their caller's.
func (c *Controller) ListError() error { return c.lists.err() }

// listErrors are the errors of the last lists and watches. The zero value has none. It is
// safe for concurrent use.
type listErrors struct {
	mu         sync.Mutex
	ofInformer map[cache.SharedIndexInformer]listError
	ofSweep    error
}

type listError struct {
	err     error
	version string // that the informer had come to; one that has gone on since has recovered
}

// watch notes the errors of an informer that has not been started.
func (l *listErrors) watch(informer cache.SharedIndexInformer) error {
	return informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		l.note(informer, err)
		cache.DefaultWatchErrorHandler(ctx, r, err) // which may sleep
	})
}

func (l *listErrors) note(informer cache.SharedIndexInformer, err error) {
	version := informer.LastSyncResourceVersion()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ofInformer == nil {
		l.ofInformer = make(map[cache.SharedIndexInformer]listError)
	}
	l.ofInformer[informer] = listError{err, version}
}

// noteSweep notes how the last list of sweepUnlabelled ended.
func (l *listErrors) noteSweep(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ofSweep = err
}

// err returns the errors that hold still.
func (l *listErrors) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := []error{l.ofSweep}
	for informer, last := range l.ofInformer {
		if informer.LastSyncResourceVersion() == last.version {
			all = append(all, last.err)
		}
	}
	return errors.Join(all...)
}
