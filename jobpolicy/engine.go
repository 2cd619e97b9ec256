package jobpolicy

import (
	"errors"
	"fmt"
	"time"
)

// Engine decides what to do next about a Job. Its zero value decides as
// Kubernetes 1.36 does. Call Plan, carry out what it says, and call it again
// whenever something about the Job or its pods has changed, the plan's own
// effects included, or RequeueAfter has passed.
//
// An Engine only holds settings: it may be copied, compared and used by multiple
// goroutines at once.
type Engine struct {
	BaseDelay    time.Duration // before the first replacement; 0 means 10s
	MaxDelay     time.Duration // to which the delay doubles; 0 means 10m
	MinRequeue   time.Duration // shortest RequeueAfter for a delay; 0 means 1s
	MaxPerPass   int           // creations, or deletions of surplus pods, in one plan; 0 means 500
	SkipWaiting  bool          // start other pending indexes while some wait; Kubernetes lets waiting ones block the head of the line
	IgnoredDelay IgnoredDelay  // whether ignored failures lengthen the delay
}

// Input is what Plan decides on. It is not changed and may be shared, also
// between goroutines.
type Input struct {
	Job       *Job
	Pods      []*Pod    // all that the caller can see of the Job's pods, in any order
	Memory    Memory    // what the last plan handed back, once its Record was written; zero at first
	Unsettled bool      // creations or deletions of an earlier plan are not visible in Pods yet
	Now       time.Time // the caller's clock
}

// Plan is what to do, in this order: Delete, Create, Record, Release, Status. If
// an effect fails, stop there and plan again. A pod's end is first written down
// in the status (Record), then its finalizer is taken off (Release), and only
// then does the counter rise (Status), so that a crash at any point neither
// loses a failure nor counts it twice (KEP-3850, and the Job tracking protocol
// it builds on). A Plan is a plain value that shares nothing that is written to.
type Plan struct {
	Delete  []Deletion // delete these pods …
	Create  []NewPod   // … create these …
	Record  *JobStatus // … write this status (nil: nothing to write) …
	Release []PodRef   // … take the tracking finalizer off these pods, running ones among them when the Job ends …
	Status  *JobStatus // … and write this (nil: nothing more to write)

	Memory       Memory        // for the next pass; keep it once Record is written, at once if there is none
	RequeueAfter time.Duration // 0: nothing to wait for
	Decisions    []PodDecision // one per newly finished pod, in the order of index and UID
	Counts       Counts        // metric increments, valid once Record is written, at once if there is none
	Notes        []string      // what a lenient reading passed over
}

// PodRef names a pod.
type PodRef struct{ Name, UID string }

// Deletion is a pod to delete. With Untrack its tracking finalizer is taken off
// first: it is not wanted any more, and its end does not count.
type Deletion struct {
	PodRef
	Untrack bool
}

// NewPod is a pod to create from the Job's template. Its ObjectMeta is complete
// but for the name: the template's labels and annotations, the Job's own, and
// the tracking finalizer.
type NewPod struct {
	Index int // completion index, -1 for a NonIndexed Job
	ObjectMeta
}

// PodDecision is what the pod failure policy says of a newly finished pod. For
// one that succeeded, or if no rule matches, Match.Rule is -1.
type PodDecision struct {
	PodRef
	Match Match
}

// Counts are increments of the Job controller's metrics. Summed over the plans
// whose Record was written they count every pod, index and Job once, whatever
// was cut off or repeated. The zero value adds nothing.
type Counts struct {
	Finished         Reason         // job_finished_total{reason}: the end was decided, for this reason; "" if it was not
	PodsSucceeded    int            // job_pods_finished_total{result="succeeded"}
	PodsFailed       int            // job_pods_finished_total{result="failed"}
	IndexesSucceeded int            // job_finished_indexes_total{status="succeeded"}
	IndexesFailed    int            // job_finished_indexes_total{status="failed"}
	PerIndex         bool           // the label backoffLimit of the two: "perIndex", or "global"
	Handled          map[Action]int // pod_failures_handled_by_failure_policy_total{action}
}

// Plan decides what to do next about a Job. It is pure and deterministic: the
// same input gives the same plan, whatever the order of the pods. The error is
// for an Engine or an Input that cannot be, and nothing is planned then; a status
// that cannot be is reported as FieldErrors. A Job that has finished, that
// another controller manages or whose completion mode is unknown needs nothing.
func (e Engine) Plan(in Input) (Plan, error) {
	if err := e.valid(); err != nil {
		return Plan{}, err
	}
	if in.Job == nil {
		return Plan{}, errors.New("jobpolicy: Plan(nil Job): a Job is needed")
	}
	if in.Job.notOurs() {
		return Plan{Memory: in.Memory}, nil
	}
	if _, finished := in.Job.Status.Finished(); finished {
		return Plan{}, nil
	}
	p, err := newPass(e, in)
	if err != nil {
		return Plan{}, err
	}
	p.remember()

	// Completions are judged last, when it is known how many pods stay active.
	end := p.standing()
	if end == nil {
		end = p.verdict()
	}
	if end != nil && (end.standing || end.reason != JobReasonCompletionsReached) {
		p.deleteActive()
	} else {
		managed := !in.Unsettled && in.Job.DeletionTimestamp.IsZero()
		if managed {
			p.manage()
		}
		if end = p.verdict(); end == nil && managed {
			p.markSuspended()
		}
	}
	if in.Unsettled {
		end = nil // pods may be on their way: decide again when they are seen
	}
	p.account(end)
	return p.plan, nil
}

// valid reports settings that no Engine can have.
func (e Engine) valid() error {
	var errs []error
	negative := func(field string, v int64) {
		if v < 0 {
			errs = append(errs, fmt.Errorf("jobpolicy: Engine.%s is %d: must not be negative", field, v))
		}
	}
	negative("BaseDelay", int64(e.BaseDelay))
	negative("MaxDelay", int64(e.MaxDelay))
	negative("MinRequeue", int64(e.MinRequeue))
	negative("MaxPerPass", int64(e.MaxPerPass))
	if e.IgnoredDelay < IgnoredSame || e.IgnoredDelay > IgnoredNone {
		errs = append(errs, fmt.Errorf("jobpolicy: Engine.IgnoredDelay is %d: must be IgnoredSame, IgnoredOwn or IgnoredNone", e.IgnoredDelay))
	}
	return errors.Join(errs...)
}

func (e Engine) baseDelay() time.Duration  { return orDefault(e.BaseDelay, 10*time.Second) }
func (e Engine) maxDelay() time.Duration   { return orDefault(e.MaxDelay, 10*time.Minute) }
func (e Engine) minRequeue() time.Duration { return orDefault(e.MinRequeue, time.Second) }
func (e Engine) maxPerPass() int           { return orDefault(e.MaxPerPass, 500) }

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// notOurs reports whether the Job is left alone: another controller's, or in a
// mode that this package does not know.
func (j *Job) notOurs() bool {
	switch j.Spec.CompletionMode {
	case "", NonIndexedCompletion, IndexedCompletion:
		return j.Spec.ManagedBy != "" && j.Spec.ManagedBy != jobControllerName
	}
	return true
}

// jobControllerName is the managedBy of Jobs that are left to the Job controller.
const jobControllerName = "kubernetes.io/job-controller"
