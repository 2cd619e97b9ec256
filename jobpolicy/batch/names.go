package batch

import "github.com/restartkit/restart/backoff"

// Action is what a pod failure policy's rule does about a pod that it matches:
// ActionFailJob, ActionFailIndex, ActionIgnore or ActionCount.
type Action string

// Operator relates an exit code to a list of values: OpIn or OpNotIn.
type Operator string

// CompletionMode says how a Job counts its successes: NonIndexedCompletion or
// IndexedCompletion.
type CompletionMode string

// PodReplacementPolicy says when the replacement of a pod may be created:
// PodReplacementTerminatingOrFailed or PodReplacementFailed.
type PodReplacementPolicy string

// RestartPolicy is a container's restart policy, one of the constants
// RestartPolicy…. A Job's pods have OnFailure or Never.
type RestartPolicy = backoff.RestartPolicy

// PodPhase is how far a pod has come, from PodPending to PodSucceeded or PodFailed.
type PodPhase string

// ConditionStatus says whether a condition holds: ConditionTrue, ConditionFalse or
// ConditionUnknown.
type ConditionStatus string

// PodConditionType names a condition of a pod, such as DisruptionTarget.
type PodConditionType string

// JobConditionType names a condition of a Job, such as JobFailed.
type JobConditionType string

// Reason says why a Job has a condition: one of the constants JobReason….
type Reason string

// Succeeded reports whether a Job that ended for this reason has succeeded.
func (r Reason) Succeeded() bool {
	return r == JobReasonSuccessPolicy || r == JobReasonCompletionsReached
}

// Known reports whether the action is one of the four that this package carries
// out. Rules with any other, of a later Kubernetes perhaps, are skipped.
func (a Action) Known() bool {
	switch a {
	case ActionFailJob, ActionFailIndex, ActionIgnore, ActionCount:
		return true
	}
	return false
}

// The restart policies.
const (
	RestartPolicyAlways    = backoff.RestartPolicyAlways
	RestartPolicyOnFailure = backoff.RestartPolicyOnFailure
	RestartPolicyNever     = backoff.RestartPolicyNever
)

// The actions of a pod failure policy.
const (
	ActionFailJob   Action = "FailJob"   // the Job fails at once
	ActionFailIndex Action = "FailIndex" // the index fails at once
	ActionIgnore    Action = "Ignore"    // replaced without counting
	ActionCount     Action = "Count"     // counted, as if no rule matched
)

// The operators of OnExitCodes.
const (
	OpIn    Operator = "In"
	OpNotIn Operator = "NotIn"
)

// The completion modes.
const (
	NonIndexedCompletion CompletionMode = "NonIndexed" // any pod's success counts
	IndexedCompletion    CompletionMode = "Indexed"    // one success for each index
)

// The pod replacement policies.
const (
	PodReplacementTerminatingOrFailed PodReplacementPolicy = "TerminatingOrFailed" // as soon as the pod is being deleted or has failed
	PodReplacementFailed              PodReplacementPolicy = "Failed"              // only when the pod has reached its end
)

// The phases of a pod.
const (
	PodPending   PodPhase = "Pending"
	PodRunning   PodPhase = "Running"
	PodSucceeded PodPhase = "Succeeded"
	PodFailed    PodPhase = "Failed"
	PodUnknown   PodPhase = "Unknown"
)

// The statuses of a condition.
const (
	ConditionTrue    ConditionStatus = "True"
	ConditionFalse   ConditionStatus = "False"
	ConditionUnknown ConditionStatus = "Unknown"
)

// The conditions of a pod that decide something about its Job.
const (
	PodReady         PodConditionType = "Ready"
	DisruptionTarget PodConditionType = "DisruptionTarget" // about to be killed for a reason outside it (KEP-3329)
)

// The reasons of a DisruptionTarget condition (KEP-3329, "New PodConditions"; the
// KEP spells the first PreemptionByKubeScheduler).
const (
	PodReasonPreemptionByScheduler  = "PreemptionByScheduler"
	PodReasonDeletionByTaintManager = "DeletionByTaintManager"
	PodReasonEvictionByEvictionAPI  = "EvictionByEvictionAPI"
	PodReasonDeletionByPodGC        = "DeletionByPodGC"
	PodReasonTerminationByKubelet   = "TerminationByKubelet"
)

// The conditions of a Job.
const (
	JobSuspended          JobConditionType = "Suspended"
	JobComplete           JobConditionType = "Complete"
	JobFailed             JobConditionType = "Failed"
	JobFailureTarget      JobConditionType = "FailureTarget"      // will be Failed once every pod has ended
	JobSuccessCriteriaMet JobConditionType = "SuccessCriteriaMet" // will be Complete once every pod has ended
)

// The reasons of a Job's conditions.
const (
	JobReasonPodFailurePolicy         Reason = "PodFailurePolicy"
	JobReasonBackoffLimitExceeded     Reason = "BackoffLimitExceeded"
	JobReasonDeadlineExceeded         Reason = "DeadlineExceeded"
	JobReasonMaxFailedIndexesExceeded Reason = "MaxFailedIndexesExceeded"
	JobReasonFailedIndexes            Reason = "FailedIndexes"
	JobReasonSuccessPolicy            Reason = "SuccessPolicy"
	JobReasonCompletionsReached       Reason = "CompletionsReached"
	JobReasonSuspended                Reason = "JobSuspended"
	JobReasonResumed                  Reason = "JobResumed"
)

// The annotations and the finalizer of a Job's pods. JobCompletionIndexAnnotation
// is a label too.
const (
	JobCompletionIndexAnnotation          = "batch.kubernetes.io/job-completion-index"
	JobIndexFailureCountAnnotation        = "batch.kubernetes.io/job-index-failure-count"
	JobIndexIgnoredFailureCountAnnotation = "batch.kubernetes.io/job-index-ignored-failure-count"
	JobTrackingFinalizer                  = "batch.kubernetes.io/job-tracking"
)

// JobCompletionIndexEnv is the environment variable that tells a container its
// completion index.
const JobCompletionIndexEnv = "JOB_COMPLETION_INDEX"
