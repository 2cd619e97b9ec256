package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/restartkit/restart/kube/jobcontroller"
)

// replica is this process: one of several controllers, of which one leads.
type replica struct {
	cluster  *cluster
	options  *options
	metrics  *jobcontroller.Metrics
	registry *prometheus.Registry
	election *election                                // nil without one
	running  atomic.Pointer[jobcontroller.Controller] // nil while it does not lead
}

func newReplica(c *cluster, o *options) *replica {
	r := &replica{cluster: c, options: o, metrics: jobcontroller.NewMetrics(), registry: prometheus.NewRegistry()}
	r.registry.MustRegister(r.metrics, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if o.elect {
		r.election = newElection(r.lock(), o.leaseDuration, o.renewDeadline, o.retry)
	}
	r.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "leader_election_master_status",
		Help:        "Whether this replica runs Jobs: 1 if it does.",
		ConstLabels: prometheus.Labels{"name": o.leaseName},
	}, func() float64 {
		if r.running.Load() != nil {
			return 1
		}
		return 0
	}))
	return r
}

// lock is the Lease, for this process.
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

// work runs Jobs until ctx is done. The informers start here, so that they show all that
// another replica has done before. What is done to a Job later, the controller notices.
func (r *replica) work(ctx context.Context) error {
	controller, err := jobcontroller.New(r.cluster.jobs, r.options.controller(r.metrics))
	if err != nil {
		return fmt.Errorf("the controller: %w", err)
	}
	r.running.Store(controller)
	defer r.running.Store(nil)
	if err := controller.Run(ctx); err != nil {
		return fmt.Errorf("running Jobs: %w", err)
	}
	return nil
}

// handler answers /healthz, /readyz and /metrics.
func (r *replica) handler() http.Handler {
	return newHandler(r.healthy, r.ready, r.registry)
}

// healthy returns an error if this replica holds a Lease that it has not renewed in
// time, and has not ended either.
func (r *replica) healthy() error {
	if r.election == nil {
		return nil
	}
	return r.election.healthy()
}

// ready returns an error while this replica neither runs Jobs nor stands by.
func (r *replica) ready() error {
	switch controller := r.running.Load(); {
	case controller != nil && controller.HasSynced():
		return nil
	case controller != nil:
		return errors.New("waiting for the first list of Jobs and pods")
	case r.election != nil && r.election.standsBy():
		return nil
	}
	return errors.New("the Lease has not been read")
}
