// Package jobpolicy decides what a Kubernetes Job does next: which pods to create and
// delete, which failures count, how long replacements wait, and when the Job ends. It
// is the Job controller without a cluster, as pure functions on the types of package
// batch.
//
// Start with [Engine.Plan]. It takes a Job, its pods and the time, and returns the
// next step:
//
//	plan, err := jobpolicy.Engine{}.Plan(jobpolicy.Input{
//		Job: job, Pods: pods, State: state, Now: time.Now(),
//	})
//
// A program without Kubernetes makes pods of its own records with [batch.NewPod] and
// [batch.Pod.Finish].
//
// Parts of the decision also work alone: [MatchPod] and [MatchExit] apply a pod failure
// policy (KEP-3329), [Explain] says why a rule did or did not match, [MatchSuccess]
// applies a success policy, [Match.NextCounts] and [Match.IndexFailed] count the
// failures of an index (KEP-3850), [Engine.Remaining] is the delay before a
// replacement, and [EndLimits.Verdict] says whether a Job ends.
package jobpolicy

import (
	"fmt"
	"strconv"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Engine plans the steps of a Job. The zero value decides like Kubernetes 1.36 to 1.38
// with default feature gates. API servers from 1.31 on accept its statuses; 1.30
// rejects SuccessCriteriaMet for most Jobs.
//
// Carry out each plan. Call Plan again after RequeueAfter and after every change to the
// Job or its pods, including your own.
type Engine struct {
	BaseDelay      time.Duration // before the first replacement; 0 means 10s
	MaxDelay       time.Duration // limit on the doubled delay; 0 means 10m
	MinRequeue     time.Duration // minimum RequeueAfter for a delay; 0 means 1s
	MaxPodsPerPlan int           // limit on creations, and on deletions of surplus pods; 0 means 500

	// StartReadyIndexes starts pending indexes while lower ones wait. By default, as in
	// Kubernetes, a waiting index holds back higher ones.
	StartReadyIndexes bool

	// IgnoredDelay says how ignored failures affect the delay.
	IgnoredDelay IgnoredDelay

	// RuleInReason extends the reason PodFailurePolicy to PodFailurePolicy_NAME. NAME
	// is the FailJob rule's name, or its index if unnamed (KEP-4443).
	RuleInReason bool

	// ManagedBy is the spec.managedBy of the Jobs to plan. In either, "" means the
	// Kubernetes Job controller.
	ManagedBy string
}

// IgnoredDelay says how failures that match an Ignore rule affect the delay before a
// replacement.
type IgnoredDelay int

// The effects of ignored failures.
const (
	DelayLikeFailure IgnoredDelay = 0 // like any other failure, as in Kubernetes
	DelaySeparately  IgnoredDelay = 1 // counted separately, with their own delay
	NoDelay          IgnoredDelay = 2 // no delay, as KEP-3850 says
)

// String returns the name of the constant.
func (d IgnoredDelay) String() string {
	switch d {
	case DelayLikeFailure:
		return "DelayLikeFailure"
	case DelaySeparately:
		return "DelaySeparately"
	case NoDelay:
		return "NoDelay"
	}
	return "IgnoredDelay(" + strconv.Itoa(int(d)) + ")"
}

// Validate returns all invalid settings as field.Errors, or nil.
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
	if e.MaxPodsPerPlan < 0 {
		errs.Add(field.Invalid, "MaxPodsPerPlan", e.MaxPodsPerPlan, "must not be negative")
	}
	if e.IgnoredDelay < DelayLikeFailure || e.IgnoredDelay > NoDelay {
		errs.Add(field.NotSupported, "IgnoredDelay", e.IgnoredDelay, "must be DelayLikeFailure, DelaySeparately or NoDelay")
	}
	return errs.Err()
}

func (e Engine) baseDelay() time.Duration { return orDefault(e.BaseDelay, 10*time.Second) }

func (e Engine) maxDelay() time.Duration { return orDefault(e.MaxDelay, 10*time.Minute) }

func (e Engine) minRequeue() time.Duration { return orDefault(e.MinRequeue, time.Second) }

func (e Engine) maxPodsPerPlan() int { return orDefault(e.MaxPodsPerPlan, 500) }

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Plan returns the next step for a Job. Equal inputs give equal plans. If the Engine,
// the Input or the Job's status is invalid, the error wraps field.Errors. Plan does not
// check the Job's spec; call Spec.Default and Spec.Validate before. The plan is empty for a
// finished Job, and has only a note for a Job with another controller or an unknown
// completion mode.
//
// Pods often come from a cache that lags behind the caller's own changes. While Pods
// does not show all creations and deletions of earlier plans, set ExpectationsPending;
// otherwise Plan would create the same pods again. Plan then only records and releases
// ended pods. It creates no pods, deletes no surplus pods and does not end the Job.
// Likewise, list a pod in FinalizersRemoved from the removal of its finalizer until Pods
// shows the removal; otherwise Plan releases the pod again.
//
// Pass the latest version of the Job. If its status is older than State, Plan plans
// nothing until the status catches up or five minutes have passed. If State is lost,
// read Job and Pods from storage, not a cache, before the next plan.
func (e Engine) Plan(in Input) (Plan, error) {
	// Plan has three steps, each of which only reads the result of the one before:
	// observe turns the Input into a view, decide turns the view into a decision, and
	// record writes both down as a plan.
	if err := e.validateInput(in); err != nil {
		return Plan{}, fmt.Errorf("jobpolicy: Plan: %w", err)
	}
	if why := e.whyNotPlanned(&in.Job.Spec); why != "" {
		return Plan{State: in.State, Notes: []string{why}}, nil
	}
	if _, finished := in.Job.Status.Finished(); finished {
		return Plan{}, nil
	}
	v, err := observe(e, in)
	if err != nil {
		return Plan{}, fmt.Errorf("jobpolicy: Plan: %w", err)
	}
	if v.staleFor > 0 {
		return Plan{State: v.in.State, RequeueAfter: v.staleFor, RequeueReason: RequeueStaleJob, Notes: v.notes}, nil
	}
	return record(v, v.decide()), nil
}

// validateInput returns field.Errors for an invalid Engine or for an Input without a
// Job or a time.
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

// whyNotPlanned returns a note if the Engine does not act for a Job, because it has
// another controller or an unknown completion mode. Otherwise it returns "".
func (e Engine) whyNotPlanned(spec *batch.JobSpec) string {
	switch spec.CompletionMode {
	case "", batch.NonIndexedCompletion, batch.IndexedCompletion:
	default:
		return fmt.Sprintf("nothing is planned: the completion mode %q is unknown", spec.CompletionMode)
	}
	ours, theirs := orDefault(e.ManagedBy, jobControllerName), orDefault(spec.ManagedBy, jobControllerName)
	if ours != theirs {
		return fmt.Sprintf("nothing is planned: spec.managedBy is %q, but this Engine acts for %q", spec.ManagedBy, ours)
	}
	return ""
}

// jobControllerName is the managedBy that stands for the Kubernetes Job controller.
const jobControllerName = "kubernetes.io/job-controller"
