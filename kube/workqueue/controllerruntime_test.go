package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientworkqueue "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/kube/workqueue"
)

// reconciler returns given outcomes in turn, and records the times of its calls.
type reconciler struct {
	limiter  *workqueue.Limiter[reconcile.Request]
	outcomes []outcome
	begin    time.Time
	calls    []time.Duration
	done     func()
}

type outcome struct {
	err   error
	throw bool // return the error itself, and leave the delay to the queue
}

func (r *reconciler) Reconcile(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
	r.calls = append(r.calls, time.Since(r.begin))
	if len(r.calls) > len(r.outcomes) {
		r.done()
		return reconcile.Result{}, nil
	}
	o := r.outcomes[len(r.calls)-1]
	after := r.limiter.RequeueAfter(req, o.err)
	if o.throw {
		return reconcile.Result{}, o.err
	}
	return reconcile.Result{RequeueAfter: after}, nil
}

// A controller waits as long as the Limiter says after an error from Reconcile, after a
// RequeueAfter, and after both in turns, because they share one history.
func TestControllerWaitsAsTheLimiterSays(t *testing.T) {
	log.SetLogger(logr.Discard())
	failure := errors.New("the disk is full")
	busy := apierrors.NewTooManyRequests("later", 30)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "widgets"}, "web", failure)
	for _, priorities := range []bool{false, true} {
		t.Run(fmt.Sprint("with priorities: ", priorities), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				restarter, err := backoff.NewRestarter(
					backoff.ExitPolicy{Delay: &backoff.Policy{Initial: time.Second, Max: time.Minute}},
					backoff.RestarterOptions[reconcile.Request]{},
				)
				if err != nil {
					t.Fatal(err)
				}
				limiter, err := workqueue.NewLimiter(restarter, workqueue.LimiterOptions{
					Curves: map[workqueue.Class]backoff.Policy{
						workqueue.Conflict: {Initial: 10 * time.Millisecond, Max: time.Second},
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				r := &reconciler{
					limiter: limiter,
					begin:   time.Now(),
					done:    cancel,
					outcomes: []outcome{
						{failure, false}, {failure, true}, {failure, false}, {conflict, false}, {conflict, true}, {busy, true}, {failure, true},
					},
				}
				c, err := controller.NewTypedUnmanaged("test", controller.TypedOptions[reconcile.Request]{
					Reconciler: r, RateLimiter: r.limiter, UsePriorityQueue: new(priorities), SkipNameValidation: new(true), LogConstructor: func(*reconcile.Request) logr.Logger { return logr.Discard() },
				})
				if err != nil {
					t.Fatal(err)
				}
				request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "web"}}
				if err := c.Watch(source.Func(func(_ context.Context, q clientworkqueue.TypedRateLimitingInterface[reconcile.Request]) error {
					q.Add(request)
					return nil
				})); err != nil {
					t.Fatal(err)
				}
				if err := c.Start(ctx); err != nil {
					t.Error(err)
				}
				at := time.Duration(0)
				for i, wait := range []time.Duration{0, 1 * time.Second, 2 * time.Second, 4 * time.Second, 80 * time.Millisecond, 160 * time.Millisecond, 32 * time.Second, 60 * time.Second} {
					at += wait
					// The queues of controller-runtime and client-go deliver an item a
					// moment late.
					if i >= len(r.calls) || r.calls[i] < at || r.calls[i] > at+10*time.Millisecond {
						t.Fatalf("reconcile %d of %v: want it at %v", i, r.calls, at)
					}
					at = r.calls[i]
				}
			})
		})
	}
}
