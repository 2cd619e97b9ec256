package jobpolicy

import (
	"errors"
	"fmt"
	"time"

	"github.com/restartkit/restart/backoff"
)

// Engine decides what to do next about a Job. Its zero value decides as
// Kubernetes 1.36 does with its default feature gates. API servers from 1.31 on
// accept the statuses; that of 1.30 refuses SuccessCriteriaMet for most Jobs.
// Call Plan, carry out what it says, and call it again whenever something about
// the Job or its pods has changed, the plan's own effects included, or
// RequeueAfter has passed.
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
	ManagedBy    string        // acts for the Jobs with this spec.managedBy; "" means those with none or with Kubernetes' own name
}

// Input is what Plan decides on. It is not changed and may be shared, also
// between goroutines.
type Input struct {
	Job         *Job      // as it was last written, or older, which Plan notices by Memory
	Pods        []*Pod    // all that the caller can see of the Job's pods, in any order; each has a UID or at least a name
	Memory      Memory    // what the last plan handed back, once its Record was written; zero at first
	Unsettled   bool      // creations or deletions of an earlier plan are not visible in Pods yet
	Released    []string  // UIDs, or names without, of pods whose finalizer was taken off and which Pods may still show with it
	AccountOnly bool      // creations or deletions are refused: plan none, and no end that needs one
	Now         time.Time // the caller's clock; must be set
}

// Plan is what to do, in this order: Delete, Create, Record, Release, Status. A
// pod's end is first written down in the status (Record), then its finalizer is
// taken off (Release), and only then does the counter rise (Status), so that a
// crash at any point neither loses a failure nor counts it twice (KEP-3850, and
// the Job tracking protocol it builds on). A Plan is a plain value that shares
// nothing that is written to.
//
// If an effect fails, the rest of the plan must not be carried out. After a
// refused deletion or creation make another plan with AccountOnly, so that what
// has ended is still counted and released; in all cases plan again later.
type Plan struct {
	Delete  []Deletion // delete these pods …
	Create  []NewPod   // … create these …
	Record  *JobStatus // … write this status (nil: nothing to write) …
	Release []PodRef   // … take the tracking finalizer off these pods, running ones among them when the Job ends …
	Status  *JobStatus // … and write this (nil: nothing more to write)

	Memory        Memory        // for the next pass; keep it once Record is written, at once if there is none
	RequeueAfter  time.Duration // 0: nothing to wait for
	RequeueReason RequeueReason // what RequeueAfter waits for
	Decisions     []PodDecision // one per newly finished pod, in the order of index and UID; a pod has one in all
	Counts        Counts        // metric increments, valid once Record is written, at once if there is none
	Notes         []string      // what a lenient reading passed over, and why nothing was planned
}

// RequeueReason says what a plan waits for: RequeueDelay, RequeueBatch,
// RequeueDeadline or RequeueStaleJob; "" is nothing.
type RequeueReason string

// PodRef names a pod.
type PodRef struct{ Name, UID string }

// Deletion is a pod to delete. With Untrack its tracking finalizer is taken off
// first: it is not wanted any more, and its end does not count.
type Deletion struct {
	PodRef
	Untrack bool
}

// PodDecision is what the pod failure policy says of a newly finished pod. For
// one that succeeded, or if no rule matches, Match.Rule is -1. A pod is decided
// on once: what was recorded of it stands, even if it shows another end later.
type PodDecision struct {
	PodRef
	Match     Match
	Untracked bool // it has no tracking finalizer: its end counts nothing
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
// same input gives the same plan, whatever the order of the pods. It returns an
// error if the Engine or the Input is invalid, and FieldErrors if the status is;
// then nothing is planned. A Job that has finished needs nothing, and neither
// does one that the Engine is not for or whose completion mode is unknown, with
// a note.
//
// Pods are settled when they show every creation and deletion of earlier plans.
// While they do not, say Unsettled: then no pod is created, no surplus pod is
// deleted and the Job does not end, but pods that have ended are accounted for.
// A release that is not visible does not unsettle them: name its pod in Released
// as soon as the API server has taken the finalizer off, until Pods show it; a
// pod that is shown with its finalizer and is not named is released again.
//
// Job should be the one that was last written. One whose status says less than
// the last Record is recognized by Memory: nothing is planned, until it has
// caught up or five minutes have passed. Without Memory, after it was lost, only
// a fresh view will do: read Job and Pods from where they are stored.
func (e Engine) Plan(in Input) (Plan, error) {
	if err := e.Validate(); err != nil {
		return Plan{}, fmt.Errorf("jobpolicy: Plan: %w", err)
	}
	switch {
	case in.Job == nil:
		return Plan{}, errors.New("jobpolicy: Plan(nil Job): a Job is needed")
	case in.Now.IsZero():
		return Plan{}, errors.New("jobpolicy: Plan(zero Now): the time is needed")
	}
	if why := e.leavesAlone(&in.Job.Spec); why != "" {
		return Plan{Memory: in.Memory, Notes: []string{why}}, nil
	}
	if _, finished := in.Job.Status.Finished(); finished {
		return Plan{}, nil
	}
	p, err := newPass(e, in)
	if err != nil {
		return Plan{}, err
	}
	if left, behind := p.behind(); behind {
		return p.wait(left), nil
	}
	p.remember()
	p.account(p.decide())
	return p.plan, nil
}

// decide plans deletions and creations and returns how the Job ends, nil if it
// goes on. Completions are judged last, when it is known how many pods stay
// active.
func (p *pass) decide() *end {
	end := p.standing()
	if end == nil {
		end = p.verdict()
	}
	switch {
	case end != nil && (end.standing || end.reason != JobReasonCompletionsReached):
		if p.in.AccountOnly && p.active > 0 {
			return nil // its pods cannot be deleted: decide again when they can
		}
		p.deleteActive()
	default:
		managed := !p.in.Unsettled && !p.in.AccountOnly && p.in.Job.DeletionTimestamp.IsZero()
		if managed {
			p.manage()
		}
		if end = p.verdict(); end == nil && managed {
			p.markSuspended()
		}
	}
	if p.in.Unsettled {
		return nil // pods may be on their way: decide again when they are seen
	}
	return end
}

// Validate returns every setting that no Engine can have as FieldErrors, nil if
// there is none.
func (e Engine) Validate() error {
	var errs backoff.FieldErrors
	if e.BaseDelay < 0 {
		errs.Add(backoff.ErrorTypeInvalid, "BaseDelay", e.BaseDelay, "must not be negative")
	}
	if e.MaxDelay < 0 {
		errs.Add(backoff.ErrorTypeInvalid, "MaxDelay", e.MaxDelay, "must not be negative")
	}
	if e.MinRequeue < 0 {
		errs.Add(backoff.ErrorTypeInvalid, "MinRequeue", e.MinRequeue, "must not be negative")
	}
	if e.MaxPerPass < 0 {
		errs.Add(backoff.ErrorTypeInvalid, "MaxPerPass", e.MaxPerPass, "must not be negative")
	}
	if e.IgnoredDelay < IgnoredSame || e.IgnoredDelay > IgnoredNone {
		errs.Add(backoff.ErrorTypeNotSupported, "IgnoredDelay", e.IgnoredDelay, "must be IgnoredSame, IgnoredOwn or IgnoredNone")
	}
	return errs.Err()
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

// leavesAlone says why a Job is left alone, "" if it is not: it is another
// controller's, or in a mode that this package does not know.
func (e Engine) leavesAlone(spec *JobSpec) string {
	switch spec.CompletionMode {
	case "", NonIndexedCompletion, IndexedCompletion:
	default:
		return fmt.Sprintf("the Job is left alone: its completion mode %q is unknown", spec.CompletionMode)
	}
	if ours := orDefault(e.ManagedBy, jobControllerName); orDefault(spec.ManagedBy, jobControllerName) != ours {
		return fmt.Sprintf("the Job is left alone: its spec.managedBy is %q, this Engine acts for %q", spec.ManagedBy, ours)
	}
	return ""
}

// jobControllerName is the managedBy of Jobs that are left to the Job controller.
const jobControllerName = "kubernetes.io/job-controller"
