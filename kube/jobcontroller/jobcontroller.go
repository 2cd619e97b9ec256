// Package jobcontroller runs Kubernetes Jobs: those whose spec.managedBy names it, or
// in place of Kubernetes' own controller all the others. [jobpolicy.Engine.Plan]
// decides. This package observes Jobs and pods through informers, hands Plan what it
// sees, and carries the plans out on the API server, so that a crash at any point
// neither loses the end of a pod nor counts it twice.
//
// [New] makes a Controller and [Controller.Run] runs it. Of several replicas only one
// may run at a time; let a Lease say which. What the delays depend on is kept in an
// annotation of the Job ([AnnotationMemory]), so it survives a restart and a change of
// leader. Other annotations of a Job set its delays, [AnnotationBaseDelay] and the
// like.
package jobcontroller

// A pass over a Job is sync.go; the files it calls say what they know by their names:
// expectations.go which creations and deletions are still to be seen, hidden.go which
// finalizers are gone although the informer shows them, unsure.go and lost.go which
// requests had no answer, catchup.go what another controller has done, apply.go and its
// kin how a plan is carried out, template.go what pods are made of, write.go how a status
// is written.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/restartkit/restart/backoff"
)

// Controller runs Jobs. Make one with New; it runs once. Its methods are safe for
// concurrent use by multiple goroutines.
type Controller struct {
	client  kubernetes.Interface
	options Options
	metrics *Metrics
	events  record.EventRecorder // set by Run, unless it is given

	informers informers
	jobs      jobStore
	pods      podStore
	states    states
	gone      goneJobs
	lists     listErrors
	outside   chan error // gets ErrUnlabelledPods

	queue   workqueue.TypedRateLimitingInterface[string]    // Jobs, as namespace/name
	orphans workqueue.TypedRateLimitingInterface[orphanKey] // pods whose finalizer nobody may take off

	started sync.Once
}

// New returns a Controller that is yet to Run. The error wraps field.Errors if
// the options are invalid. Without a Run that ends, informers that were given keep the
// Controller's handlers.
func New(client kubernetes.Interface, o Options) (*Controller, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("jobcontroller: New: %w", err)
	}
	o = o.withDefaults()
	c := &Controller{client: client, options: o, metrics: o.Metrics, events: o.Recorder, outside: make(chan error, 1)}
	jobLimiter, err := backoff.NewTracker[string](o.Retry, backoff.TrackerOptions{Clock: o.Clock})
	if err != nil {
		return nil, fmt.Errorf("jobcontroller: New: %w", err)
	}
	orphanLimiter, err := backoff.NewTracker[orphanKey](o.Retry, backoff.TrackerOptions{Clock: o.Clock})
	if err != nil {
		return nil, fmt.Errorf("jobcontroller: New: %w", err)
	}
	c.queue = workqueue.NewTypedRateLimitingQueueWithConfig(jobLimiter.RateLimiter(),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "job", Clock: o.Clock})
	c.orphans = workqueue.NewTypedRateLimitingQueueWithConfig(orphanLimiter.RateLimiter(),
		workqueue.TypedRateLimitingQueueConfig[orphanKey]{Name: "job_orphan_pod", Clock: o.Clock})
	if err := c.connect(); err != nil {
		c.stopQueues()
		return nil, fmt.Errorf("jobcontroller: New: %w", err)
	}
	return c, nil
}

// Metrics returns the counters that the Controller adds to. They are a Prometheus
// collector.
func (c *Controller) Metrics() *Metrics { return c.metrics }

// HasSynced reports whether the informers have seen every Job and pod once, so that
// the Controller acts.
func (c *Controller) HasSynced() bool { return c.informers.hasSynced() }

// Run runs Jobs until ctx is done, and returns when its goroutines are gone. Passes that
// are under way come to their end first, so that none of their requests can be carried
// out after Run has returned and another replica leads; what takes longer than 20s is
// given up. Their Events have another 5s to be written. To end at once, because another
// replica leads already, end the process.
//
// Logs go to the logger of ctx (klog.NewContext). The error is not nil if Run was called
// before, if the informers were stopped before they had synced, or if it wraps
// ErrUnlabelledPods; a context that is done is not an error.
func (c *Controller) Run(ctx context.Context) error {
	err := errors.New("jobcontroller: Run: a Controller runs once")
	c.started.Do(func() { err = c.run(ctx) })
	return err
}

func (c *Controller) run(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	ctx, end := context.WithCancel(ctx)
	defer end()
	if c.events == nil {
		stop := c.recordEvents(ctx)
		defer stop()
	}
	passes, endPasses := lingering(ctx, c.options.Clock, endWithin)
	defer endPasses()
	var running sync.WaitGroup
	defer running.Wait()
	defer c.stopQueues()
	stopInformers := c.informers.start(ctx)
	defer stopInformers()

	logger.Info("waiting for Jobs and pods", "managedBy", c.options.Engine.ManagedBy)
	if !cache.WaitForCacheSync(ctx.Done(), c.informers.synced()...) {
		if ctx.Err() != nil {
			return nil
		}
		return errors.New("jobcontroller: Run: the informers ended before they had synced")
	}
	logger.Info("running Jobs", "workers", c.options.Workers)
	for range c.options.Workers {
		running.Go(func() { work(ctx, passes, c.queue, c.syncJob) })
		running.Go(func() { work(ctx, passes, c.orphans, c.syncOrphan) })
	}
	if c.options.OnlyLabelledPods {
		c.orphans.Add(sweep)
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-c.outside:
		end()
	}
	logger.Info("ending")
	return err
}

// stopQueues ends the work queues, their goroutines and with them the workers.
func (c *Controller) stopQueues() {
	c.queue.ShutDown()
	c.orphans.ShutDown()
}

// endWithin is how long passes may take once the Controller is to end.
const endWithin = 20 * time.Second

// lingering returns a context that is done some time after ctx is, or when end is called.
func lingering(ctx context.Context, clock clock.WithTicker, after time.Duration) (lingers context.Context, end func()) {
	lingers, end = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-lingers.Done():
			return
		case <-ctx.Done():
		}
		timer := clock.NewTimer(after)
		defer timer.Stop()
		select {
		case <-lingers.Done():
		case <-timer.C():
			end()
		}
	}()
	return lingers, end
}

// work takes keys from the queue until the queue is shut down, and does nothing with them
// once ctx is done. A key whose work fails comes back after a delay. Work that has begun
// has the context passes.
func work[K comparable](ctx, passes context.Context, queue workqueue.TypedRateLimitingInterface[K], do func(context.Context, K) error) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if ctx.Err() != nil {
			queue.Done(key)
			continue
		}
		switch err := do(passes, key); {
		case err == nil:
			queue.Forget(key)
		case ctx.Err() != nil:
		default:
			logFailure(ctx, key, err)
			queue.AddRateLimited(key)
		}
		queue.Done(key)
	}
}

// logFailure logs why a key is tried again. A conflict is what happens when a Job or a
// pod is written by others, too; it is no error.
func logFailure(ctx context.Context, key any, err error) {
	if logger := klog.FromContext(ctx); errors.Is(err, errOutdated) {
		logger.V(2).Info("trying again with a newer Job", "key", key, "reason", err)
	} else {
		logger.Error(err, "trying again", "key", key)
	}
}

// keyOf is the key of a Job or a pod: namespace/name.
func keyOf(namespace, name string) string { return cache.NewObjectName(namespace, name).String() }

var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")
