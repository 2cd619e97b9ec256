package jobcontroller

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

// Controller runs Jobs. Create one with New. It is safe for concurrent use by multiple
// goroutines.
type Controller struct {
	client  kubernetes.Interface
	options Options
	metrics *Metrics
	events  record.EventRecorder // created by Run, unless given

	informers informers
	jobs      jobStore
	pods      podStore
	records   records
	gone      goneJobs
	lists     listErrors
	outside   chan error // receives ErrUnlabelledPods

	server   serverVersion
	apiMinor int // of k8s.io/api; 0 if unknown

	queue   workqueue.TypedRateLimitingInterface[string]    // Jobs, as namespace/name
	orphans workqueue.TypedRateLimitingInterface[orphanKey] // pods that may be orphans

	started sync.Once
}

// New returns a Controller, or an error wrapping field.Errors if the options are
// invalid. Handlers that it adds to given informers are removed when Run returns.
func New(client kubernetes.Interface, o Options) (*Controller, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("jobcontroller: New: %w", err)
	}
	o = o.withDefaults()
	c := &Controller{client: client, options: o, metrics: o.Metrics, events: o.Recorder, outside: make(chan error, 1), apiMinor: apiMinor()}
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

// Metrics returns the Controller's counters.
func (c *Controller) Metrics() *Metrics { return c.metrics }

// HasSynced reports whether the informers have listed all Jobs and pods.
func (c *Controller) HasSynced() bool { return c.informers.hasSynced() }

// Run runs Jobs until ctx is done, and logs to its logger (klog.NewContext). It can be
// called only once. It returns nil when ctx is done, and an error wrapping
// ErrUnlabelledPods if a Job requires a Controller without OnlyLabelledPods.
//
// To spare the next leader late requests, Run waits for its goroutines. Passes under
// way have 20s before they are cancelled, and their Events 5s more. If another replica
// already leads, end the process instead of waiting.
func (c *Controller) Run(ctx context.Context) error {
	err := errors.New("jobcontroller: Run: called more than once")
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
		return nil // ctx is done
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

// stopQueues shuts the work queues down, which ends the workers.
func (c *Controller) stopQueues() {
	c.queue.ShutDown()
	c.orphans.ShutDown()
}

// endWithin is how long passes may take after the Controller is told to end.
const endWithin = 20 * time.Second

// lingering returns a context that outlives ctx by the given time, unless end is called
// first.
func lingering(ctx context.Context, clock clock.WithTicker, after time.Duration) (lingers context.Context, end func()) {
	lingers, end = context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		timer := clock.NewTimer(after)
		defer timer.Stop()
		select {
		case <-lingers.Done():
		case <-timer.C():
			end()
		}
	})
	return lingers, end
}

// work handles keys from the queue until it is shut down, and retries failed keys after
// a delay. Work runs with the context passes. Once ctx is done, work drops the
// remaining keys.
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

// logFailure logs why a key is tried again. Conflicts are expected and not logged as
// errors.
func logFailure(ctx context.Context, key any, err error) {
	if logger := klog.FromContext(ctx); errors.Is(err, errOutdated) {
		logger.V(2).Info("trying again with a newer Job", "key", key, "reason", err)
	} else {
		logger.Error(err, "trying again", "key", key)
	}
}

// keyOf returns the key of a Job or a pod, namespace/name.
func keyOf(namespace, name string) string { return cache.NewObjectName(namespace, name).String() }

var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")
