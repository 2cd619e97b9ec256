package jobcontroller

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
)

// ListError returns the last errors of listing and watching Jobs and pods, or nil once
// the Controller has recovered. A missing permission is a Forbidden error of package
// k8s.io/apimachinery/pkg/api/errors. Given informers are not included.
func (c *Controller) ListError() error { return c.lists.err() }

// listErrors are the errors of the last lists and watches. The zero value is empty and
// ready to use. It is safe for concurrent use.
type listErrors struct {
	mu         sync.Mutex
	ofInformer map[cache.SharedIndexInformer]listError
	ofSweep    error
}

type listError struct {
	err     error
	version string // reached by the informer, which has recovered once it moves on
}

// watch makes l record the errors of an informer, which must not be started yet.
func (l *listErrors) watch(informer cache.SharedIndexInformer) {
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		l.note(informer, err)
		cache.DefaultWatchErrorHandler(ctx, r, err) // may sleep
	}) // its error says that the informer is started
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

// noteSweep records the result of sweepUnlabelled's last list.
func (l *listErrors) noteSweep(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ofSweep = err
}

// err returns the errors of informers that have not recovered.
func (l *listErrors) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := []error{l.ofSweep}
	for informer, last := range l.ofInformer {
		if informer.LastSyncResourceVersion() == last.version {
			all = append(all, last.err)
		}
	}
	// apierrors looks at the first status only, and a missing permission is what matters most.
	slices.SortStableFunc(all, func(a, b error) int { return cmp.Compare(rank(a), rank(b)) })
	return errors.Join(all...)
}

// rank orders errors of lists: missing permissions first.
func rank(err error) int {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return 0
	}
	return 1
}
