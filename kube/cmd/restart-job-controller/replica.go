package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // rest_client_*
	_ "k8s.io/component-base/metrics/prometheus/workqueue"  // workqueue_*
	"k8s.io/klog/v2"

	"github.com/restartkit/restart/kube/jobcontroller"
)

// replica is this process, one of several controllers of which one leads.
type replica struct {
	cluster  *cluster
	options  *options
	metrics  *jobcontroller.Metrics
	registry *prometheus.Registry
	election *election                                // nil without an election
	running  atomic.Pointer[jobcontroller.Controller] // nil while this replica does not lead
	allPods  bool                                     // watch pods of other owners than Jobs as well
}

func newReplica(c *cluster, o *options) *replica {
	r := &replica{cluster: c, options: o, metrics: jobcontroller.NewMetrics(), registry: prometheus.NewRegistry()}
	r.registry.MustRegister(r.metrics, thisBuild().metric())
	if o.elect {
		r.election = newElection(r.lock(), o.leaseDuration, o.renewDeadline, o.retry)
	}
	r.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "leader_election_master_status",
		Help:        "1 while this replica runs Jobs, otherwise 0.",
		ConstLabels: prometheus.Labels{"name": o.leaseName},
	}, func() float64 {
		if r.running.Load() != nil {
			return 1
		}
		return 0
	}))
	return r
}

// lock returns the Lease for this process.
func (r *replica) lock() resourcelock.Interface {
	namespace := r.options.leaseNamespace
	if namespace == "" {
		namespace = r.cluster.namespace
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: r.options.leaseName},
		Client:     r.cluster.lease.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}
}

// run runs Jobs, while this replica leads, until ctx is done.
func (r *replica) run(ctx context.Context) error {
	if r.election == nil {
		return r.work(ctx)
	}
	return r.election.run(ctx, r.work)
}

// work runs Jobs until ctx is done. It starts the informers now, so that they show all
// changes by earlier leaders. The controller detects later changes by another one. work
// begins with a controller for pods with the label of Jobs. Once a Job needs all pods,
// a controller for all pods replaces it until this process ends.
func (r *replica) work(ctx context.Context) error {
	defer r.running.Store(nil)
	for {
		o := r.options.controller(r.metrics)
		o.OnlyLabelledPods = !r.allPods
		controller, err := jobcontroller.New(r.cluster.jobs, o)
		if err != nil {
			return fmt.Errorf("controller: %w", err)
		}
		r.running.Store(controller)
		switch err := controller.Run(ctx); {
		case errors.Is(err, jobcontroller.ErrUnlabelledPods):
			klog.FromContext(ctx).Info("watching all pods from now on", "reason", err)
			r.allPods = true
		case err != nil:
			return fmt.Errorf("running Jobs: %w", err)
		default:
			return nil
		}
	}
}

// serve starts the servers of probes, metrics and profiles, as the flags say.
func (r *replica) serve(s *servers) error {
	o := r.options
	if o.listen != "" {
		if err := s.serve(o.listen, newProbes(r.healthy, r.ready), nil); err != nil {
			return fmt.Errorf("-listen: %w", err)
		}
	}
	if o.metricsListen == "" {
		return nil
	}
	handler, secure := r.insight(), (*tls.Config)(nil)
	if o.metricsAuth {
		var err error
		if secure, err = tlsConfig(o.certFile, o.keyFile, time.Now()); err != nil {
			return err
		}
		handler = newGuard(r.cluster.guard).protect(handler)
	}
	if err := s.serve(o.metricsListen, handler, secure); err != nil {
		return fmt.Errorf("-metrics-listen: %w", err)
	}
	return nil
}

// insight returns the handler of /metrics and /debug/pprof/, without access control.
// Packages of k8s.io/component-base register the metrics of work queues, clients and
// Go.
func (r *replica) insight() http.Handler {
	return newInsight(prometheus.Gatherers{r.registry, legacyregistry.DefaultGatherer}, r.options.pprof)
}

// healthy returns an error if this replica lacks a permission, or if it holds a Lease
// that it has neither renewed nor given up in time.
func (r *replica) healthy() error {
	if err := r.refused(); err != nil || r.election == nil {
		return err
	}
	return r.election.healthy()
}

// refused returns an error while the API server forbids this replica to list or watch
// Jobs or pods. Other list errors are temporary.
func (r *replica) refused() error {
	controller := r.running.Load()
	if controller == nil {
		return nil
	}
	if err := controller.ListError(); apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return fmt.Errorf("missing permission: %w", err)
	}
	return nil
}

// ready returns an error while this replica neither runs Jobs nor stands by.
func (r *replica) ready() error {
	if err := r.refused(); err != nil {
		return err
	}
	switch controller := r.running.Load(); {
	case controller != nil && controller.HasSynced():
		return nil
	case controller != nil:
		return errors.Join(errors.New("waiting for the first list of Jobs and pods"), controller.ListError())
	case r.election != nil && r.election.standsBy():
		return nil
	}
	return errors.New("waiting for the first read of the Lease")
}
