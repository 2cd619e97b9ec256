// Package jobpolicy decides about the failed pods of a Job, as Kubernetes' Job
// controller does (KEP-3329, KEP-3850), in pure functions on the types of package
// batch. [Engine.Plan] is a pass of the controller; start there. [MatchPod] judges a
// pod, [MatchExit] an exit code; [Match.NextCounts], [Match.IndexFailed],
// [Engine.Remaining] and [Limits.Verdict] count without Job objects. Package lint
// reviews specifications.
package jobpolicy

import (
	"fmt"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Engine decides what to do next about a Job. Its zero value decides as
// Kubernetes 1.36 and 1.37 do with their default feature gates. API servers from 1.31 on
// accept the statuses; that of 1.30 refuses SuccessCriteriaMet for most Jobs.
//
// Call Plan and carry out what it says. Call it again when RequeueAfter has
// passed, and whenever the Job or its pods have changed, the plan's own effects
// included.
//
// An Engine only holds settings. It may be copied and compared, and it is safe
// for concurrent use by multiple goroutines.
type Engine struct {
	BaseDelay  time.Duration // before the first replacement; 0 means 10s
	MaxDelay   time.Duration // to which the delay doubles; 0 means 10m
	MinRequeue time.Duration // shortest RequeueAfter for a delay; 0 means 1s
	MaxPerPass int           // creations, or deletions of surplus pods, in one plan; 0 means 500
	// SkipWaiting starts other pending indexes while some wait for their delay. Without it,
	// as in Kubernetes, a waiting index holds back the higher ones.
	SkipWaiting  bool
	IgnoredDelay IgnoredDelay // whether ignored failures lengthen the delay
	// RuleReasons gives a Job that a FailJob rule fails the reason PodFailurePolicy_ with
	// the rule's name, or its index if it has none (KEP-4443).
	RuleReasons bool
	// ManagedBy says for which Jobs to act: those with this spec.managedBy. Here and in a
	// Job, "" stands for the name of Kubernetes' own controller.
	ManagedBy string
}

// Input is what Plan decides on. Plan does not change it, so it may be shared
// between goroutines.
type Input struct {
	Job *batch.Job // as it was last written; Memory tells Plan if it is older
	// Pods are all of the Job's pods that the caller can see, in any order. Each has a UID
	// or at least a name.
	Pods      []*batch.Pod
	Memory    Memory // of the last plan whose Record was written; zero at first
	Unsettled bool   // creations or deletions of an earlier plan are not visible in Pods yet
	// Released names the pods whose finalizer was taken off and which Pods may still show
	// with it, by UID, or by name if a pod has none.
	Released   []string
	RecordOnly bool      // the API server refuses creations or deletions: plan none, and no end that needs one
	Now        time.Time // the caller's clock; must be set
}

// Plan is what to do, in this order: Delete, Create, Record, Release, Status.
// Record writes the ends of pods down in the status, Release takes the finalizers
// of these pods off, and only Status raises the counters. So a crash at any point
// neither loses a failure nor counts it twice (KEP-3850, and the Job tracking
// protocol it builds on). A Plan shares nothing that anybody writes to.
//
// If an effect fails, leave out the rest of the plan and plan again later. After
// a refused deletion or creation make another plan at once, with RecordOnly: it
// still records and releases what has ended.
type Plan struct {
	Delete  []Deletion       // delete these pods …
	Create  []NewPod         // … create these …
	Record  *batch.JobStatus // … write this status (nil: nothing to write) …
	Release []PodRef         // … take the tracking finalizer off these pods, when the Job ends off running ones too …
	Status  *batch.JobStatus // … and write this (nil: nothing more to write)

	Memory        Memory        // for the next plan; keep it once Record is written, at once if there is none
	RequeueAfter  time.Duration // 0: nothing to wait for
	RequeueReason RequeueReason // what RequeueAfter waits for
	Decisions     []PodDecision // one for each newly finished pod, in the order of index and UID
	Counts        Counts        // metric increments, valid once Record is written, at once if there is none
	Notes         []string      // what Plan could not read or left out, and why nothing was planned
}

// RequeueReason says what a plan waits for: RequeueDelay, RequeueBatch,
// RequeueDeadline or RequeueStaleJob; "" is nothing.
type RequeueReason string

// Why to plan again after some time, though nothing changes.
const (
	RequeueDelay    RequeueReason = "Delay"    // the replacement of a failed pod is due
	RequeueBatch    RequeueReason = "Batch"    // the same, put off to MinRequeue so that others may join it
	RequeueDeadline RequeueReason = "Deadline" // activeDeadlineSeconds are over
	RequeueStaleJob RequeueReason = "StaleJob" // the Job is older than what was written; read it anew, or wait for it
)

// PodRef names a pod. UID is "" if the pod was given without one.
type PodRef struct{ Name, UID string }

// Deletion is a pod to delete. With Untrack take its tracking finalizer off
// first: the Job does not want the pod any more, and its end does not count.
type Deletion struct {
	PodRef
	Untrack bool
}

// PodDecision is what Plan decided about a newly finished pod. Each pod is
// decided on once: what was recorded of it stands, even if it shows another end
// later.
type PodDecision struct {
	PodRef
	Index       int       // completion index, -1 for a NonIndexed Job
	Match       Match     // what the pod failure policy says; Rule is -1 if the pod succeeded or no rule matches
	Failures    int       // counted failures of its index, with this one if it counts; 0 without a limit per index
	IndexFailed bool      // the index fails with this pod
	Finished    time.Time // when the pod ended, as FinishTime says
	Untracked   bool      // it has no tracking finalizer: its end counts nothing
}

// Counts are increments of the Job controller's metrics, whose names begin with
// job_controller_. Add those of every plan
// whose Record was written: each pod, index and Job is then counted once, whatever
// crashed or was repeated in between. The zero value adds nothing.
type Counts struct {
	Finished         batch.Reason         // jobs_finished_total{reason}: why the Job is to end; "" if it is not
	PodsSucceeded    int                  // job_pods_finished_total{result="succeeded"}
	PodsFailed       int                  // job_pods_finished_total{result="failed"}
	IndexesSucceeded int                  // job_finished_indexes_total{status="succeeded"}
	IndexesFailed    int                  // job_finished_indexes_total{status="failed"}
	PerIndex         bool                 // of these two, the label backoffLimit: "perIndex" if true, else "global"
	Handled          map[batch.Action]int // pod_failures_handled_by_failure_policy_total{action}
}

// Plan decides what to do next about a Job. It is pure and deterministic: the
// same input gives the same plan, whatever the order of the pods. If the Engine,
// the Input or the Job's status is invalid, Plan returns field.Errors, wrapped, and
// plans nothing. It plans nothing either for a Job that has finished and, with a
// note, for one that belongs to another controller or whose completion mode is
// unknown.
//
// Set Unsettled while Pods do not show every creation and deletion of earlier
// plans. Then no pod is created, no surplus pod is deleted and the Job does not
// end, but pods that have ended are recorded and released. Name a pod in Released
// from when the API server has taken its finalizer off until Pods show it so. A pod
// that is shown with its finalizer and not named is released again.
//
// Job should be as it was last written. Plan recognizes by Memory a status that
// says less than the last Record, and then plans nothing until the status has
// caught up or five minutes have passed. If the memory is lost, read Job and Pods
// from where they are stored before the next plan.
func (e Engine) Plan(in Input) (Plan, error) {
	// There are three steps, each of which only reads what the one before has made:
	// observe works out what is seen, decide says what to do about it, and record turns
	// both into what is written.
	if err := e.validateInput(in); err != nil {
		return Plan{}, fmt.Errorf("jobpolicy: Plan: %w", err)
	}
	if why := e.leavesAlone(&in.Job.Spec); why != "" {
		return Plan{Memory: in.Memory, Notes: []string{why}}, nil
	}
	if _, finished := in.Job.Status.Finished(); finished {
		return Plan{}, nil
	}
	v, err := observe(e, in)
	if err != nil {
		return Plan{}, fmt.Errorf("jobpolicy: Plan: %w", err)
	}
	if v.olderFor > 0 {
		return Plan{Memory: v.in.Memory, RequeueAfter: v.olderFor, RequeueReason: RequeueStaleJob, Notes: v.notes}, nil
	}
	return record(v, v.decide()), nil
}

// validateInput returns field.Errors for settings that no Engine can have and for an
// Input without a Job or a time.
func (e Engine) validateInput(in Input) error {
	if err := e.Validate(); err != nil {
		return err
	}
	var errs field.Errors
	if in.Job == nil {
		errs.Add(field.Required, "Job", nil, "")
	}
	if in.Now.IsZero() {
		errs.Add(field.Required, "Now", nil, "")
	}
	return errs.Err()
}

// Validate returns every setting that no Engine can have as field.Errors, nil if
// there is none.
func (e Engine) Validate() error {
	var errs field.Errors
	if e.BaseDelay < 0 {
		errs.Add(field.Invalid, "BaseDelay", e.BaseDelay, "must not be negative")
	}
	if e.MaxDelay < 0 {
		errs.Add(field.Invalid, "MaxDelay", e.MaxDelay, "must not be negative")
	}
	if e.MinRequeue < 0 {
		errs.Add(field.Invalid, "MinRequeue", e.MinRequeue, "must not be negative")
	}
	if e.MaxPerPass < 0 {
		errs.Add(field.Invalid, "MaxPerPass", e.MaxPerPass, "must not be negative")
	}
	if e.IgnoredDelay < IgnoredSame || e.IgnoredDelay > IgnoredNone {
		errs.Add(field.NotSupported, "IgnoredDelay", e.IgnoredDelay, "must be IgnoredSame, IgnoredOwn or IgnoredNone")
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
func (e Engine) leavesAlone(spec *batch.JobSpec) string {
	switch spec.CompletionMode {
	case "", batch.NonIndexedCompletion, batch.IndexedCompletion:
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
