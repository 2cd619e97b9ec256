package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/restartkit/restart/kube/jobcontroller"
)

// newManager returns a manager that runs the controller while this process leads, and
// serves probes, metrics and profiles as the flags say.
func newManager(cluster *rest.Config, o *options) (manager.Manager, error) {
	cluster = rest.AddUserAgent(rest.CopyConfig(cluster), "restart-job-controller")
	cluster.QPS, cluster.Burst = float32(o.qps), o.burst
	if o.qps == 0 {
		cluster.QPS = -1 // no limit
	}
	m, err := ctrl.NewManager(cluster, manager.Options{
		LeaderElection:          o.elect,
		LeaderElectionID:        o.leaseName,
		LeaderElectionNamespace: o.leaseNamespace,
		LeaseDuration:           &o.leaseDuration,
		RenewDeadline:           &o.renewDeadline,
		RetryPeriod:             &o.retryPeriod,
		// The Lease is released after the controller has ended, and then the process ends.
		LeaderElectionReleaseOnCancel: true,

		HealthProbeBindAddress: o.probeAddress,
		PprofBindAddress:       o.pprofAddress,
		Metrics:                o.metricsServer(),
	})
	if err != nil {
		return nil, fmt.Errorf("starting: %w", err)
	}
	requests := rest.CopyConfig(cluster)
	requests.ContentType = "application/vnd.kubernetes.protobuf"
	requests.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfigAndClient(requests, m.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("client for Jobs: %w", err)
	}
	counters := jobcontroller.NewMetrics(jobcontroller.MetricsOptions{})
	metrics.Registry.MustRegister(counters, thisBuild().metric())
	r := &runner{client: client, options: o.controller(counters)}
	if err := errors.Join(
		m.Add(r),
		m.AddHealthzCheck("permissions", r.permitted),
		m.AddReadyzCheck("permissions", r.permitted),
		m.AddReadyzCheck("listed", r.listed),
	); err != nil {
		return nil, fmt.Errorf("starting: %w", err)
	}
	return m, nil
}

// metricsServer returns the options of the metrics' server.
func (o *options) metricsServer() server.Options {
	s := server.Options{
		BindAddress:   o.metricsAddress,
		SecureServing: o.metricsSecure,
		CertDir:       o.certDir,
		CertName:      o.certName,
		KeyName:       o.keyName,
		TLSOpts: []func(*tls.Config){
			func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }, // no streams to reset (CVE-2023-44487)
		},
	}
	if o.metricsSecure {
		s.FilterProvider = permittedReaders
	}
	return s
}

// permittedReaders asks the API server about readers of the metrics without the limit of
// --kube-api-qps, so that many wrong tokens do not hold up those of permitted readers.
func permittedReaders(cluster *rest.Config, client *http.Client) (server.Filter, error) {
	cluster = rest.CopyConfig(cluster)
	cluster.QPS = -1
	return filters.WithAuthenticationAndAuthorization(cluster, client)
}

// runner runs Jobs while this process leads. The manager starts it.
type runner struct {
	client  kubernetes.Interface
	options jobcontroller.Options
	running atomic.Pointer[jobcontroller.Controller] // nil while this process does not lead
}

var _ manager.LeaderElectionRunnable = (*runner)(nil)

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (r *runner) NeedLeaderElection() bool { return true }

// Start runs Jobs until ctx is done. It starts the informers now, so that they show all
// changes by earlier leaders. The controller detects later changes by another one. Start
// begins with a controller for pods with the label of Jobs. Once a Job needs all pods,
// a controller for all pods replaces it until this process ends.
func (r *runner) Start(ctx context.Context) error {
	defer r.running.Store(nil)
	for _, onlyLabelled := range []bool{true, false} {
		o := r.options
		o.OnlyLabelledPods = onlyLabelled
		controller, err := jobcontroller.New(r.client, o)
		if err != nil {
			return fmt.Errorf("controller: %w", err)
		}
		r.running.Store(controller)
		err = controller.Run(ctx)
		if !errors.Is(err, jobcontroller.ErrUnlabelledPods) {
			return err
		}
		klog.FromContext(ctx).Info("watching all pods from now on", "reason", err.Error())
	}
	return nil // a controller for all pods never asks for another one
}

// permitted returns an error while the API server forbids this process to list or watch
// Jobs or pods. Other list errors are temporary.
func (r *runner) permitted(*http.Request) error {
	controller := r.running.Load()
	if controller == nil {
		return nil
	}
	if err := controller.ListError(); apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return fmt.Errorf("missing permission: %w", err)
	}
	return nil
}

// listed returns an error while this process leads and has not listed all Jobs and pods.
// A process that stands by is ready.
func (r *runner) listed(*http.Request) error {
	if controller := r.running.Load(); controller != nil && !controller.HasSynced() {
		return errors.Join(errors.New("waiting for the first list of Jobs and pods"), controller.ListError())
	}
	return nil
}
