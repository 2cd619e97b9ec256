package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/api/validation"
	apimachineryvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/kube/jobcontroller"
)

const usage = `Usage: restart-job-controller [flags]

Runs the Jobs of a Kubernetes cluster whose spec.managedBy names this controller,
restartkit.dev/job-controller unless --managed-by says otherwise. Kubernetes' own
Job controller leaves these Jobs alone.

Several replicas may run with --leader-elect. The holder of a Lease leads, and the
others stand by. On a signal a replica finishes its pending requests, gives up the
Lease and ends. A replica that cannot renew the Lease ends without finishing its
requests.

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
  1  the Lease was lost, or the program cannot reach the cluster, listen or run Jobs
  2  a flag is invalid

Examples:
  restart-job-controller --namespace=batch --workers=10
  restart-job-controller --kubeconfig="$HOME/.kube/config" --zap-log-level=2

More: https://github.com/restartkit/restart/tree/main/kube
`

// options holds the flags.
type options struct {
	context string
	qps     float64
	burst   int

	managedBy string
	takeOver  bool
	namespace string
	workers   int

	elect                                     bool
	leaseName, leaseNamespace                 string
	leaseDuration, renewDeadline, retryPeriod time.Duration

	metricsAddress             string
	metricsSecure              bool
	certDir, certName, keyName string
	probeAddress, pprofAddress string

	zap zap.Options
}

// errVersion says that the version was requested and printed.
var errVersion = errors.New("the version is printed")

// parseOptions parses the flags. For --help it writes the help text to stdout and returns
// flag.ErrHelp, for --version the version and errVersion. Otherwise the error lists all
// mistakes.
func parseOptions(args []string, stdout io.Writer) (*options, error) {
	o := options{zap: zap.Options{StacktraceLevel: zapcore.PanicLevel}}
	flags := flag.NewFlagSet("restart-job-controller", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o.bind(flags)
	showVersion := flags.Bool("version", false, "Print the version and exit.")
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
		return nil, err
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected arguments %q; only flags are accepted", flags.Args())
	}
	if *showVersion {
		if _, err := fmt.Fprintln(stdout, thisBuild()); err != nil {
			return nil, err
		}
		return nil, errVersion
	}
	return &o, o.validate()
}

// bind adds the flags. Those of controller-runtime and kube-controller-manager have their
// names.
func (o *options) bind(flags *flag.FlagSet) {
	config.RegisterFlags(flags) // --kubeconfig
	flags.StringVar(&o.context, "context", "", "The `name` of the kubeconfig's context. Default: the current context.")
	flags.Float64Var(&o.qps, "kube-api-qps", 50, "The limit of requests per second to the API server. 0: no limit.")
	flags.IntVar(&o.burst, "kube-api-burst", 100, "The burst of requests beyond --kube-api-qps.")

	flags.StringVar(&o.managedBy, "managed-by", jobcontroller.DefaultManagedBy, "Run the Jobs with this `spec.managedBy`.")
	flags.BoolVar(&o.takeOver, "take-over", false, "Run the Jobs of Kubernetes' own Job controller, which must be disabled.")
	flags.StringVar(&o.namespace, "namespace", "", "Run only the Jobs of this `namespace`. Default: all namespaces.")
	flags.IntVar(&o.workers, "workers", 5, "The number of Jobs handled at once.")

	flags.BoolVar(&o.elect, "leader-elect", false, "Run Jobs only while holding a Lease. Required with more than one replica.")
	flags.StringVar(&o.leaseName, "leader-elect-resource-name", "restart-job-controller", "The `name` of the Lease.")
	flags.StringVar(&o.leaseNamespace, "leader-elect-resource-namespace", "", "The `namespace` of the Lease. Default: that of the program's own pod.")
	flags.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "The `time` without a renewal after which another replica may take the Lease.")
	flags.DurationVar(&o.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "The `time` without a renewal after which the leader ends.")
	flags.DurationVar(&o.retryPeriod, "leader-elect-retry-period", 2*time.Second, "The `time` between attempts to take or renew the Lease.")

	flags.StringVar(&o.metricsAddress, "metrics-bind-address", "0", "The `address` of the metrics, such as :8443. 0: not served.")
	flags.BoolVar(&o.metricsSecure, "metrics-secure", true, "Serve the metrics over HTTPS to users with permission to get the path /metrics.\nfalse: over HTTP to everyone.")
	flags.StringVar(&o.certDir, "metrics-cert-path", "", "The `folder` with the certificate of the metrics' server, which may be renewed.\nDefault: a self-signed certificate.")
	flags.StringVar(&o.certName, "metrics-cert-name", "tls.crt", "The `file` of the certificate in --metrics-cert-path.")
	flags.StringVar(&o.keyName, "metrics-cert-key", "tls.key", "The `file` of the key in --metrics-cert-path.")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "The `address` of /healthz and /readyz. 0: not served.")
	flags.StringVar(&o.pprofAddress, "pprof-bind-address", "0", "The `address` of /debug/pprof/, over HTTP to everyone, such as 127.0.0.1:6060. 0: not served.")

	o.zap.BindFlags(flags)
}

// maxManagedBy is the longest spec.managedBy of a Job.
const maxManagedBy = 63

// validate returns all mistakes in the flags.
func (o *options) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(!o.takeOver || o.managedBy == jobcontroller.DefaultManagedBy, "--managed-by and --take-over cannot be combined")
	if mistakes := apimachineryvalidation.IsDomainPrefixedPath(field.NewPath("managed-by"), o.managedBy); len(mistakes) > 0 {
		detail := mistakes[0].Detail
		if o.managedBy == "" {
			detail = "must not be empty" // upstream's text is empty
		}
		check(false, "--managed-by %q: %s", o.managedBy, detail)
	}
	check(len(o.managedBy) <= maxManagedBy, "--managed-by %q: must be at most %d bytes, as in a Job", o.managedBy, maxManagedBy)
	check(o.managedBy != jobcontroller.BuiltInManagedBy, "--managed-by %s: use --take-over to run the Jobs of Kubernetes' own Job controller", o.managedBy)
	name := func(flag, value string, validate validation.ValidateNameFunc) {
		if mistakes := validate(value, false); value != "" && len(mistakes) > 0 {
			check(false, "--%s %q: %s", flag, value, mistakes[0])
		}
	}
	name("namespace", o.namespace, validation.ValidateNamespaceName)
	name("leader-elect-resource-namespace", o.leaseNamespace, validation.ValidateNamespaceName)
	name("leader-elect-resource-name", o.leaseName, validation.NameIsDNSSubdomain)
	check(o.leaseName != "", "--leader-elect-resource-name: must not be empty")
	check(o.qps >= 0, "--kube-api-qps %v: must not be negative", o.qps)
	check(o.burst >= 1 || o.qps == 0, "--kube-api-burst %d: must be at least 1", o.burst)
	check(o.workers >= 1, "--workers %d: must be at least 1", o.workers)
	check(o.retryPeriod > 0, "--leader-elect-retry-period %v: must be positive", o.retryPeriod)
	check(float64(o.renewDeadline) > 1.2*float64(o.retryPeriod), "--leader-elect-renew-deadline %v: must be longer than 1.2 times --leader-elect-retry-period, %v", o.renewDeadline, o.retryPeriod)
	check(o.leaseDuration > o.renewDeadline, "--leader-elect-lease-duration %v: must be longer than --leader-elect-renew-deadline, %v", o.leaseDuration, o.renewDeadline)
	check(o.leaseDuration >= time.Second, "--leader-elect-lease-duration %v: must be at least 1s", o.leaseDuration)
	check(o.metricsSecure || o.certDir == "", "--metrics-cert-path: requires --metrics-secure")
	for flag, file := range map[string]string{"metrics-cert-name": o.certName, "metrics-cert-key": o.keyName} {
		check(file != "" && !strings.ContainsRune(file, filepath.Separator), "--%s %q: must be the name of a file in --metrics-cert-path", flag, file)
	}
	return errors.Join(errs...)
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
