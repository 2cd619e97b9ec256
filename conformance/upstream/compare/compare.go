// Package compare runs Kubernetes' Job controller and this repository's on one API
// server, each with its own Jobs.
package compare

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	upstream "k8s.io/kubernetes/pkg/controller/job"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/kube/jobcontroller"
)

// A Side is one of the two controllers.
type Side string

// The sides.
const (
	Upstream Side = "upstream"
	Ours     Side = "ours"
)

// Sides lists both.
var Sides = []Side{Upstream, Ours}

// Claim assigns a Job to the side's controller.
func (s Side) Claim(job *batchv1.Job) {
	if s == Ours {
		name := jobcontroller.DefaultManagedBy
		job.Spec.ManagedBy = &name
	}
}

// Options of a run. Zero durations mean Kubernetes' defaults.
type Options struct {
	Config    *rest.Config
	Workers   int           // 0 means 5, Kubernetes' default
	BaseDelay time.Duration // after the first failure; the maximum is 60 times as long
	Requests  *atomic.Int64 // incremented for each request of the controller; may be nil
}

// Run runs the side's controller until ctx ends, and calls ready once its informers
// have synced. Upstream's delays are package variables, so all its runs in a process
// must use the same.
func (s Side) Run(ctx context.Context, o Options, ready func()) error {
	if o.Workers == 0 {
		o.Workers = 5
	}
	config := rest.CopyConfig(o.Config)
	config.UserAgent = string(s) // the field manager of its writes
	if o.Requests != nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counter{next, o.Requests} })
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("compare: Run %s: %w", s, err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods, jobs := factory.Core().V1().Pods(), factory.Batch().V1().Jobs()
	var run func()
	if s == Ours {
		engine := jobpolicy.Engine{BaseDelay: o.BaseDelay, MaxDelay: 60 * o.BaseDelay}
		c, err := jobcontroller.New(client, jobcontroller.Options{Engine: engine, Workers: o.Workers, Pods: pods, Jobs: jobs})
		if err != nil {
			return fmt.Errorf("compare: Run %s: %w", s, err)
		}
		run = func() { c.Run(ctx) }
	} else {
		if o.BaseDelay > 0 {
			upstream.DefaultJobPodFailureBackOff, upstream.MaxJobPodFailureBackOff = o.BaseDelay, 60*o.BaseDelay
		}
		c, err := upstream.NewController(ctx, client, pods, jobs, nil, nil)
		if err != nil {
			return fmt.Errorf("compare: Run %s: %w", s, err)
		}
		run = func() { c.Run(ctx, o.Workers) }
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	for kind, ok := range factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("compare: Run %s: no list of %v: %w", s, kind, context.Cause(ctx))
		}
	}
	ready()
	run()
	return nil
}

// counter counts requests.
type counter struct {
	next     http.RoundTripper
	requests *atomic.Int64
}

func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return c.next.RoundTrip(r)
}

// Finished reports whether a Job is Complete or Failed.
func Finished(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == "True" {
			return true
		}
	}
	return false
}

// Await waits until all Jobs of a namespace, at least one, have finished. It watches them, so
// that waiting takes little of the machine.
func Await(ctx context.Context, client kubernetes.Interface, namespace string) error {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	jobs := factory.Batch().V1().Jobs().Informer()
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if _, err := jobs.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }}); err != nil {
		return fmt.Errorf("compare: Await: %w", err)
	}
	watching, cancel := context.WithCancel(ctx)
	defer factory.Shutdown()
	defer cancel()
	factory.Start(watching.Done())
	cache.WaitForCacheSync(ctx.Done(), jobs.HasSynced)
	for {
		list, left := jobs.GetStore().List(), 0
		for _, job := range list {
			if !Finished(job.(*batchv1.Job)) {
				left++
			}
		}
		if left == 0 && len(list) > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("compare: Await: %d Jobs of %s have not finished: %w", left, namespace, context.Cause(ctx))
		case <-changed:
		}
	}
}
