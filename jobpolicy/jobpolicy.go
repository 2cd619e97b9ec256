// Package jobpolicy decides about the failed pods of a Job, as Kubernetes' Job
// controller does (KEP-3329, KEP-3850), in pure functions on the types of package
// batch. [Engine.Plan] is a pass of the controller; start there. [MatchPod] judges a
// pod, [MatchExit] an exit code; [Match.NextCounts], [Match.IndexFailed],
// [Engine.Remaining] and [EndLimits.Verdict] count without Job objects. Package lint
// reviews specifications, and package jobtest runs Jobs in tests.
package jobpolicy

import (
	"fmt"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Plan decides what to do next about a Job. It is pure and deterministic: the
// same input gives the same plan, whatever the order of the pods. If the Engine,
// the Input or the Job's status is invalid, Plan returns field.Errors, wrapped, and
// plans nothing. It plans nothing either for a Job that has finished and, with a
// note, for one that belongs to another controller or whose completion mode is
// unknown.
//
// Set ExpectationsPending while Pods do not show every creation and deletion of earlier
// plans. Then no pod is created, no surplus pod is deleted and the Job does not
// end, but pods that have ended are recorded and released. Name a pod in FinalizersRemoved
// from when the API server has taken its finalizer off until Pods show it so. A pod
// that is shown with its finalizer and not named is released again.
//
// Job should be as it was last written. Plan recognizes by State a status that
// says less than the last InterimStatus, and then plans nothing until the status has
// caught up or five minutes have passed. If the state is lost, read Job and Pods
// from where they are stored before the next plan.
func (e Engine) Plan(in Input) (Plan, error) {
	// There are three steps, each of which only reads what the one before has made:
	// observe works out what is seen, decide says what to do about it, and record turns
	// both into what is written.
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
