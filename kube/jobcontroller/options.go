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

// DefaultManagedBy is the spec.managedBy of the Jobs that a Controller runs unless its
// Options say otherwise. Kubernetes' own controller leaves them alone.
const DefaultManagedBy = "restartkit.dev/job-controller"

// BuiltInManagedBy, as Options.Engine.ManagedBy, makes a Controller run the Jobs of
// Kubernetes' own controller: those that name it and those that name none. Use it only
// where that controller does not run.
const BuiltInManagedBy = batchv1.JobControllerName

// Options are the settings of a Controller. The zero value is usable: it runs the Jobs
// of all namespaces whose spec.managedBy is DefaultManagedBy, as Kubernetes would.
type Options struct {
	// Engine decides on Jobs. Its ManagedBy says whose Jobs: "" means DefaultManagedBy,
	// BuiltInManagedBy those of Kubernetes' own controller. A Job's annotations override
	// the delays, StartReadyIndexes and IgnoredDelay; see AnnotationBaseDelay.
	Engine jobpolicy.Engine

	// Namespace is the only namespace whose Jobs are run; "" means all. Informers that are
	// given have their own.
	Namespace   string
	Workers     int            // Jobs that are worked on at once; 0 means 5
	Parallel    int            // requests for pods of one Job at once; 0 means 50
	BatchPeriod time.Duration  // pod events of a Job within this time are one pass; 0 means 1s
	Retry       backoff.Policy // delays of a Job after errors, 10s at most if its status could not be written; the zero value means 1s, doubled to 1m

	// OnlyLabelledPods keeps the informer to pods with PodLabel, which all pods of Jobs have
	// whose selector the API server has made. Memory and requests then follow the number of
	// those pods, not of all in the cluster. Once a Job is seen that may have others, because
	// its selector was written by hand, Run ends with ErrUnlabelledPods: run another
	// Controller without OnlyLabelledPods then. It counts anew what it sees at first. Pods
	// that are given need not be limited so.
	OnlyLabelledPods bool

	// Pods and Jobs are the informers to read from. With nil for both, the Controller makes
	// informers of its own, and runs them while it runs. Informers that are given are the
	// caller's to start, for instance through their factory; they must not be older than
	// the last write of an earlier controller, so start them when this one leads.
	Pods coreinformers.PodInformer
	Jobs batchinformers.JobInformer

	// Recorder takes Events, and names its own component as their source. With nil the
	// Controller makes one, which writes them to the API server while it runs. Its
	// component is job-controller in the place of Kubernetes' own controller, else
	// restart-job-controller.
	Recorder record.EventRecorder

	Metrics *Metrics         // counters to add to; nil: new ones, which Controller.Metrics returns
	Clock   clock.WithTicker // nil: the real clock
}

// Validate returns every setting that no Controller can have as field.Errors,
// nil if there is none.
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
		errs.Add(field.Required, "Jobs", nil, "Jobs and Pods are given together or not at all")
	}
	return errs.Err()
}

// within returns the mistakes of a field's value with the field in front.
func within(path string, err error) field.Errors {
	var errs field.Errors
	errors.As(err, &errs)
	for i := range errs {
		errs[i].Field = path + "." + errs[i].Field
	}
	return errs
}

// withDefaults returns the options with what their zero values mean.
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
		o.Metrics = NewMetrics()
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}
