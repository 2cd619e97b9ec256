// Package jobpolicy implements the decisions of the Kubernetes Job controller about
// failed pods (KEP-3329, KEP-3850) as pure functions on the types of package batch.
// Start with [Engine.Plan], which plans the next step. [MatchPod] and [MatchExit]
// evaluate a pod failure policy. [Match.NextCounts], [Match.IndexFailed],
// [Engine.Remaining] and [EndLimits.Verdict] work without Job objects. A scheduler
// without Kubernetes makes pods of its own records with [batch.NewPod] and
// [batch.Pod.Finish].
package jobpolicy

import (
	"fmt"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Plan returns the next step for a Job. It is deterministic. If the Engine, the Input
// or the Job's status is invalid, the error wraps field.Errors. The plan is empty for a
// finished Job, and has only a note for a Job with another controller or an unknown
// completion mode.
//
// Set ExpectationsPending until Pods reflects all creations and deletions of earlier
// plans. Meanwhile Plan records and releases ended pods, but creates no pods, deletes
// no surplus pods and does not end the Job. After removing a pod's finalizer, list the
// pod in FinalizersRemoved until Pods shows the removal; otherwise Plan releases it
// again.
//
// Pass the latest version of the Job. If its status is older than State, Plan plans
// nothing until the status catches up or five minutes have passed. If State is lost,
// read Job and Pods from storage, not a cache, before the next plan.
func (e Engine) Plan(in Input) (Plan, error) {
	// Each of the three steps only reads the result of the one before. observe builds
	// the view, decide makes the decision, and record turns both into the plan.
	if err := e.validateInput(in); err != nil {
		return Plan{}, fmt.Errorf("jobpolicy: Plan: %w", err)
	}
	if why := e.leavesAlone(&in.Job.Spec); why != "" {
		return Plan{State: in.State, Notes: []string{why}}, nil
	}
	if _, finished := in.Job.Status.Finished(); finished {
		return Plan{}, nil
	}
	v, err := observe(e, in)
	if err != nil {
		return Plan{}, fmt.Errorf("jobpolicy: Plan: %w", err)
	}
	if v.olderFor > 0 {
		return Plan{State: v.in.State, RequeueAfter: v.olderFor, RequeueReason: RequeueStaleJob, Notes: v.notes}, nil
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

// leavesAlone returns why the Engine does not act for a Job, "" if it does. The Job may
// have another controller or an unknown completion mode.
func (e Engine) leavesAlone(spec *batch.JobSpec) string {
	switch spec.CompletionMode {
	case "", batch.NonIndexedCompletion, batch.IndexedCompletion:
	default:
		return fmt.Sprintf("nothing is planned: the completion mode %q is unknown", spec.CompletionMode)
	}
	if ours := orDefault(e.ManagedBy, jobControllerName); orDefault(spec.ManagedBy, jobControllerName) != ours {
		return fmt.Sprintf("nothing is planned: spec.managedBy is %q, but this Engine acts for %q", spec.ManagedBy, ours)
	}
	return ""
}

// jobControllerName is the managedBy of the Jobs of the Job controller.
const jobControllerName = "kubernetes.io/job-controller"
