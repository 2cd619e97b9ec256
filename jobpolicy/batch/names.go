package batch

import "github.com/restartkit/restart/backoff"

// Action is the action of a pod failure policy's rule.
type Action string

// Operator relates an exit code to a list of values.
type Operator string

// CompletionMode says how a Job counts its successes.
type CompletionMode string

// PodReplacementPolicy says when to replace a pod.
type PodReplacementPolicy string

// RestartPolicy is a container's restart policy. A Job's pods have OnFailure or Never.
type RestartPolicy = backoff.RestartPolicy

// PodPhase is a pod's phase.
type PodPhase string

// ConditionStatus says whether a condition holds.
type ConditionStatus string

// PodConditionType is a type of pod condition.
type PodConditionType string

// JobConditionType is a type of Job condition.
type JobConditionType string

// Reason says why a Job has a condition.
type Reason string

// Succeeded reports whether a Job that ended for this reason succeeded.
func (r Reason) Succeeded() bool {
	return r == JobReasonSuccessPolicy || r == JobReasonCompletionsReached
}

// Known reports whether this package supports the action. Rules with other actions are
// skipped.
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
	ActionIgnore    Action = "Ignore"    // the pod is replaced without counting the failure
	ActionCount     Action = "Count"     // the failure counts, as if no rule matched
)

// The operators of OnExitCodes.
const (
	OpIn    Operator = "In"
	OpNotIn Operator = "NotIn"
)

// The completion modes.
const (
	NonIndexedCompletion CompletionMode = "NonIndexed" // any pod's success counts
	IndexedCompletion    CompletionMode = "Indexed"    // one success per index
)

// The pod replacement policies.
const (
	PodReplacementTerminatingOrFailed PodReplacementPolicy = "TerminatingOrFailed" // once the pod is being deleted or has failed
	PodReplacementFailed              PodReplacementPolicy = "Failed"              // once the pod has ended
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

// The conditions of a pod that affect its Job.
const (
	PodReady         PodConditionType = "Ready"
	DisruptionTarget PodConditionType = "DisruptionTarget" // about to be killed for an external reason (KEP-3329)
)

// The reasons of a DisruptionTarget condition (KEP-3329, "New PodConditions").
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
	JobFailureTarget      JobConditionType = "FailureTarget"      // becomes Failed once every pod has ended
	JobSuccessCriteriaMet JobConditionType = "SuccessCriteriaMet" // becomes Complete once every pod has ended
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

// The annotations and the finalizer of a Job's pods. JobCompletionIndexAnnotation is
// also a label.
const (
	JobCompletionIndexAnnotation          = "batch.kubernetes.io/job-completion-index"
	JobIndexFailureCountAnnotation        = "batch.kubernetes.io/job-index-failure-count"
	JobIndexIgnoredFailureCountAnnotation = "batch.kubernetes.io/job-index-ignored-failure-count"
	JobTrackingFinalizer                  = "batch.kubernetes.io/job-tracking"
)

// JobCompletionIndexEnv is the environment variable with the completion index.
const JobCompletionIndexEnv = "JOB_COMPLETION_INDEX"
