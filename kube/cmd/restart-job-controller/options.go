package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	apimachineryvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/kube/jobcontroller"
)

const usage = `Usage: restart-job-controller [flags]

Runs the Jobs of a Kubernetes cluster whose spec.managedBy names this controller,
restartkit.dev/job-controller unless -managed-by says otherwise. Kubernetes' own
Job controller leaves these Jobs alone.

Several replicas may run. The holder of a Lease leads, and the others stand by. On
a signal a replica finishes its pending requests, gives up the Lease and ends. A
replica that loses the Lease ends at once, without finishing its requests.

/healthz reports whether this replica renews the Lease that it holds, /readyz
whether it runs Jobs or stands by. Both fail while it lacks the permission to list
or watch Jobs or pods. /metrics has workqueue_*, rest_client_* and the counters of
Kubernetes' own Job controller, under the same names. It requires TLS and the
bearer token of a user with permission to get the path /metrics.

Annotations of a Job set its delays:
  restartkit.dev/backoff-base    first delay of a failed pod's replacement, such as 30s
  restartkit.dev/backoff-max     longest delay, such as 1h
  restartkit.dev/skip-waiting    true to start other indexes while some wait
  restartkit.dev/ignored-delay   effect on delays of failures that the pod failure
                                 policy ignores: Same, Own or None

Flags:
`

const moreUsage = `
Exit codes:
  0  ended by a signal, with the Lease given up
  1  the cluster's configuration is unusable, or the program cannot listen or run Jobs
  2  a flag is invalid
  3  the Lease was lost, so another replica may lead

Examples:
  restart-job-controller -namespace batch -workers 10
  restart-job-controller -kubeconfig ~/.kube/config -leader-elect=false -v 2

More: https://github.com/restartkit/restart/tree/main/kube
`

// options holds the flags.
type options struct {
	kubeconfig, context string
	qps                 float64
	burst               int

	managedBy string
	takeOver  bool
	namespace string
	workers   int

	elect                               bool
	leaseName, leaseNamespace           string
	leaseDuration, renewDeadline, retry time.Duration

	listen            string
	metricsListen     string
	metricsAuth       bool
	certFile, keyFile string
	pprof             bool

	logFormat string
	verbosity int
}

// errVersion says that the version was requested and printed.
var errVersion = errors.New("the version is printed")

// parseOptions parses the flags. For -h it writes the help text to stdout and returns
// flag.ErrHelp, for -version the version and errVersion. Otherwise the error lists all
// mistakes.
func parseOptions(args []string, stdout io.Writer) (*options, error) {
	var o options
	flags := flag.NewFlagSet("restart-job-controller", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "configuration `file` of the cluster; default: the one that kubectl uses\nor, without one, the configuration of the program's own pod")
	flags.StringVar(&o.context, "context", "", "`name` of the kubeconfig's context; default: the current context")
	flags.Float64Var(&o.qps, "kube-api-qps", 50, "limit of requests per second to the API server; 0: no limit\n")
	flags.IntVar(&o.burst, "kube-api-burst", 100, "burst of requests beyond -kube-api-qps\n")
	flags.StringVar(&o.managedBy, "managed-by", jobcontroller.DefaultManagedBy, "run the Jobs with this `spec.managedBy`")
	flags.BoolVar(&o.takeOver, "take-over", false, "run the Jobs of Kubernetes' own Job controller, which must be disabled")
	flags.StringVar(&o.namespace, "namespace", "", "run only the Jobs of this `namespace`; default: all namespaces")
	flags.IntVar(&o.workers, "workers", 5, "number of Jobs handled at once")
	flags.BoolVar(&o.elect, "leader-elect", true, "run Jobs only while holding the Lease; false: only with a single replica")
	flags.StringVar(&o.leaseName, "leader-elect-resource-name", "restart-job-controller", "`name` of the Lease")
	flags.StringVar(&o.leaseNamespace, "leader-elect-resource-namespace", "", "`namespace` of the Lease; default: the namespace of the kubeconfig's context\nor, without a kubeconfig, of the program's own pod")
	flags.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "`time` without a renewal after which another replica may take the Lease")
	flags.DurationVar(&o.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "`time` without a renewal after which the leader ends")
	flags.DurationVar(&o.retry, "leader-elect-retry-period", 2*time.Second, "`time` between attempts to take or renew the Lease")
	flags.StringVar(&o.listen, "listen", ":8080", "`address` of /healthz and /readyz; empty: not served")
	flags.StringVar(&o.metricsListen, "metrics-listen", ":8443", "`address` of /metrics; empty: not served")
	flags.BoolVar(&o.metricsAuth, "metrics-auth", true, "serve /metrics over TLS to permitted users; false: over HTTP to everyone, on a loopback\naddress only")
	flags.StringVar(&o.certFile, "tls-cert-file", "", "`file` with the certificate of -metrics-listen; default: a self-signed certificate")
	flags.StringVar(&o.keyFile, "tls-private-key-file", "", "`file` with the key of -tls-cert-file")
	flags.BoolVar(&o.pprof, "pprof", false, "serve /debug/pprof/ beside /metrics")
	flags.StringVar(&o.logFormat, "log-format", "text", "`format` of the log on standard error: text or json\n")
	flags.IntVar(&o.verbosity, "v", 0, "`level` of the log, from 0 to 10; level 1 adds client-go's feature gates\n")
	showVersion := flags.Bool("version", false, "print the version and exit")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		var help bytes.Buffer
		help.WriteString(usage)
		flags.SetOutput(&help)
		flags.PrintDefaults()
		help.WriteString(moreUsage)
		if _, err := stdout.Write(help.Bytes()); err != nil {
			return nil, err
		}
		return nil, flag.ErrHelp
	case err != nil:
		return nil, explained(flags, err)
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected arguments %q; only flags are accepted", flags.Args())
	}
	if *showVersion {
		if _, err := fmt.Fprintln(stdout, thisBuild()); err != nil {
			return nil, err
		}
		return nil, errVersion
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return &o, o.validate(given)
}

// explained adds the expected form of the value where package flag only says "parse
// error".
func explained(flags *flag.FlagSet, err error) error {
	text, unclear := strings.CutSuffix(err.Error(), ": parse error")
	if !unclear {
		return err
	}
	flags.VisitAll(func(f *flag.Flag) {
		value, ok := f.Value.(flag.Getter)
		if !ok || !strings.HasSuffix(text, " -"+f.Name) {
			return
		}
		switch value.Get().(type) {
		case bool:
			err = errors.New(text + ": must be true or false")
		case int:
			err = errors.New(text + ": must be a whole number")
		case float64:
			err = errors.New(text + ": must be a number")
		case time.Duration:
			err = errors.New(text + ": must be a number with a unit, such as 10s or 5m")
		}
	})
	return err
}

// validate returns all mistakes in the flags.
func (o *options) validate(given map[string]bool) error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(!given["managed-by"] || !o.takeOver, "-managed-by and -take-over cannot be combined")
	if mistakes := apimachineryvalidation.IsDomainPrefixedPath(field.NewPath("managed-by"), o.managedBy); len(mistakes) > 0 {
		detail := mistakes[0].Detail
		if o.managedBy == "" {
			detail = "must not be empty" // upstream's text is empty
		}
		check(false, "-managed-by %q: %s", o.managedBy, detail)
	}
	check(o.managedBy != jobcontroller.BuiltInManagedBy, "-managed-by %s: use -take-over to run the Jobs of Kubernetes' own Job controller", o.managedBy)
	name := func(flag, value string, validate validation.ValidateNameFunc) {
		if mistakes := validate(value, false); value != "" && len(mistakes) > 0 {
			check(false, "-%s %q: %s", flag, value, mistakes[0])
		}
	}
	name("namespace", o.namespace, validation.ValidateNamespaceName)
	name("leader-elect-resource-namespace", o.leaseNamespace, validation.ValidateNamespaceName)
	name("leader-elect-resource-name", o.leaseName, validation.NameIsDNSSubdomain)
	check(o.leaseName != "", "-leader-elect-resource-name: must not be empty")
	check(o.qps >= 0, "-kube-api-qps %v: must not be negative", o.qps)
	check(o.burst >= 1 || o.qps == 0, "-kube-api-burst %d: must be at least 1", o.burst)
	check(o.workers >= 1, "-workers %d: must be at least 1", o.workers)
	check(o.retry > 0, "-leader-elect-retry-period %v: must be positive", o.retry)
	check(float64(o.renewDeadline) > 1.2*float64(o.retry), "-leader-elect-renew-deadline %v: must be longer than 1.2 times -leader-elect-retry-period, %v", o.renewDeadline, o.retry)
	check(o.leaseDuration > o.renewDeadline, "-leader-elect-lease-duration %v: must be longer than -leader-elect-renew-deadline, %v", o.leaseDuration, o.renewDeadline)
	check(o.leaseDuration >= time.Second, "-leader-elect-lease-duration %v: must be at least 1s", o.leaseDuration)
	check(o.metricsAuth || o.metricsListen == "" || loopback(o.metricsListen), "-metrics-auth=false: -metrics-listen %s is not a loopback address, such as 127.0.0.1:8443", o.metricsListen)
	check((o.certFile == "") == (o.keyFile == ""), "-tls-cert-file and -tls-private-key-file require each other")
	check(o.metricsAuth || o.certFile == "", "-tls-cert-file: requires -metrics-auth, which enables TLS")
	check(!o.pprof || o.metricsListen != "", "-pprof requires -metrics-listen")
	check(o.logFormat == "text" || o.logFormat == "json", "-log-format %q: must be text or json", o.logFormat)
	check(o.verbosity >= 0 && o.verbosity <= 10, "-v %d: must be from 0 to 10", o.verbosity)
	return errors.Join(errs...)
}

// loopback reports whether the address is reachable only from this machine.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// controller returns the controller's options from the flags.
func (o *options) controller(metrics *jobcontroller.Metrics) jobcontroller.Options {
	managedBy := o.managedBy
	if o.takeOver {
		managedBy = jobcontroller.BuiltInManagedBy
	}
	return jobcontroller.Options{
		Engine:    jobpolicy.Engine{ManagedBy: managedBy},
		Namespace: o.namespace,
		Workers:   o.workers,
		Metrics:   metrics,
	}
}
