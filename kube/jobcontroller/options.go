package jobcontroller

import (
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/restartkit/restart/backoff"
	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy"
)

// DefaultManagedBy is the default of Options.Engine.ManagedBy. Kubernetes' own
// controller ignores these Jobs.
const DefaultManagedBy = "restartkit.dev/job-controller"

// BuiltInManagedBy, as Options.Engine.ManagedBy, selects the Jobs of Kubernetes' own
// controller, which must be disabled, including Jobs without spec.managedBy.
const BuiltInManagedBy = batchv1.JobControllerName

// Options configure a Controller. The zero value runs the Jobs of all namespaces with
// DefaultManagedBy, as Kubernetes would.
type Options struct {
	// Engine plans Jobs. Its ManagedBy selects them and defaults to DefaultManagedBy; see
	// also BuiltInManagedBy. A Job's annotations override the delays, StartReadyIndexes and
	// IgnoredDelay; see AnnotationBaseDelay.
	Engine jobpolicy.Engine

	// Namespace limits the Controller's own informers to one namespace; "" means all.
	Namespace   string
	Workers     int            // Jobs handled at once; 0 means 5
	Parallel    int            // concurrent requests for the pods of one Job; 0 means 50
	BatchPeriod time.Duration  // time over which a Job's pod events are batched; 0 means 1s
	Retry       backoff.Policy // delays of a Job after errors, at most 10s after a failed status write; zero means 1s, doubling up to 1m

	// OnlyLabelledPods limits the Controller's pod informer to pods with PodLabel, so that
	// memory and requests grow with the pods of Jobs. Once a Job with a manual selector may
	// have other pods, Run returns an error wrapping ErrUnlabelledPods. Then run a new
	// Controller without OnlyLabelledPods. If it shares Metrics, Jobs and pods of its first
	// list are counted again.
	OnlyLabelledPods bool

	// Pods and Jobs are the informers to read from. If both are nil, the Controller runs
	// its own. Otherwise the caller must start them, but only once this replica leads,
	// because they must show the last write of an earlier controller.
	Pods coreinformers.PodInformer
	Jobs batchinformers.JobInformer

	// Recorder records Events. If nil, Run writes them to the API server, with the source
	// job-controller in place of Kubernetes' own controller, otherwise
	// restart-job-controller.
	Recorder record.EventRecorder

	Metrics *Metrics         // nil means new counters
	Clock   clock.WithTicker // nil means the real clock
}

// Validate returns all invalid settings as field.Errors, or nil.
func (o Options) Validate() error {
	var errs field.Errors
	negative := func(path string, value any, is bool) {
		if is {
			errs.Add(field.Invalid, path, value, "must not be negative")
		}
	}
	errs = append(errs, within("Engine", o.Engine.Validate())...)
	negative("Workers", o.Workers, o.Workers < 0)
	negative("Parallel", o.Parallel, o.Parallel < 0)
	negative("BatchPeriod", o.BatchPeriod, o.BatchPeriod < 0)
	if o.Retry != (backoff.Policy{}) {
		errs = append(errs, within("Retry", o.Retry.Validate())...)
	}
	if (o.Pods == nil) != (o.Jobs == nil) {
		errs.Add(field.Required, "Jobs", nil, "Jobs and Pods require each other")
	}
	return errs.Err()
}

// within returns errs with the field's path prepended.
func within(path string, err error) field.Errors {
	var errs field.Errors
	errors.As(err, &errs)
	for i := range errs {
		errs[i].Field = path + "." + errs[i].Field
	}
	return errs
}

// withDefaults returns the options with zero values replaced by their defaults.
func (o Options) withDefaults() Options {
	if o.Engine.ManagedBy == "" {
		o.Engine.ManagedBy = DefaultManagedBy
	}
	if o.Workers == 0 {
		o.Workers = 5
	}
	if o.Parallel == 0 {
		o.Parallel = 50
	}
	if o.BatchPeriod == 0 {
		o.BatchPeriod = time.Second
	}
	if o.Retry == (backoff.Policy{}) {
		o.Retry = backoff.Policy{Initial: time.Second, Max: time.Minute}
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(MetricsOptions{})
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}
