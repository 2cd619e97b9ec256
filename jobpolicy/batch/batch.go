// Package batch has the types of batch/v1 and core/v1 that decide about restarts, with
// their names, defaults and validation. It decides nothing itself; see package
// jobpolicy. The types mirror the JSON of the API, so that a manifest or the output of
// kubectl get -o json fills them.
package batch

import (
	"encoding/json"
	"time"

	"github.com/restartkit/restart/backoff"
)

// ObjectMeta is the part of an API object's metadata that restart decisions need.
type ObjectMeta struct {
	Name                       string            `json:"name,omitempty"`
	GenerateName               string            `json:"generateName,omitempty"`
	Namespace                  string            `json:"namespace,omitempty"`
	UID                        string            `json:"uid,omitempty"`
	CreationTimestamp          time.Time         `json:"creationTimestamp,omitzero"`
	DeletionTimestamp          time.Time         `json:"deletionTimestamp,omitzero"` // zero: not being deleted
	DeletionGracePeriodSeconds *int64            `json:"deletionGracePeriodSeconds,omitempty"`
	Labels                     map[string]string `json:"labels,omitempty"`
	Annotations                map[string]string `json:"annotations,omitempty"`
	Finalizers                 []string          `json:"finalizers,omitempty"`
}

// Job is a batch/v1 Job: its specification and what is known of its progress.
//
// JobSpec.Default, Pod.Track and Pod.Untrack change their receiver. All other
// functions of this package only read.
type Job struct {
	Kind       string `json:"kind,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	ObjectMeta `json:"metadata,omitzero"`
	Spec       JobSpec   `json:"spec,omitzero"`
	Status     JobStatus `json:"status,omitzero"`
}

// JobSpec is the specification of a Job. Absent fields have the defaults that
// Default fills in.
type JobSpec struct {
	Parallelism *int32 `json:"parallelism,omitempty"` // pods at once
	// Completions are the successes wanted. Nil: one is, and no pod starts after it.
	Completions           *int32            `json:"completions,omitempty"`
	ActiveDeadlineSeconds *int64            `json:"activeDeadlineSeconds,omitempty"`
	PodFailurePolicy      *PodFailurePolicy `json:"podFailurePolicy,omitempty"`
	SuccessPolicy         *SuccessPolicy    `json:"successPolicy,omitempty"`
	// BackoffLimit is how many counted failures of the Job are tolerated,
	// BackoffLimitPerIndex how many of each index (KEP-3850).
	BackoffLimit         *int32 `json:"backoffLimit,omitempty"`
	BackoffLimitPerIndex *int32 `json:"backoffLimitPerIndex,omitempty"`
	// MaxFailedIndexes is how many failed indexes are tolerated. Nil: all.
	MaxFailedIndexes        *int32               `json:"maxFailedIndexes,omitempty"`
	Template                PodTemplateSpec      `json:"template,omitzero"`
	TTLSecondsAfterFinished *int32               `json:"ttlSecondsAfterFinished,omitempty"`
	CompletionMode          CompletionMode       `json:"completionMode,omitempty"`
	Suspend                 bool                 `json:"suspend,omitempty"`
	PodReplacementPolicy    PodReplacementPolicy `json:"podReplacementPolicy,omitempty"`
	ManagedBy               string               `json:"managedBy,omitempty"` // another controller's name; empty: ours

	// Unknown holds the fields that are none of these, such as scheduling, as they were
	// read.
	Unknown map[string]json.RawMessage `json:"-"`
}

// PodTemplateSpec describes the pods that a Job creates.
type PodTemplateSpec struct {
	ObjectMeta `json:"metadata,omitzero"`
	Spec       PodSpec `json:"spec,omitzero"`
}

// PodSpec is the part of a pod's specification that restart decisions, and the
// programs that carry them out, need.
type PodSpec struct {
	InitContainers                []Container   `json:"initContainers,omitempty"`
	Containers                    []Container   `json:"containers,omitempty"`
	RestartPolicy                 RestartPolicy `json:"restartPolicy,omitempty"`
	TerminationGracePeriodSeconds *int64        `json:"terminationGracePeriodSeconds,omitempty"`
	NodeName                      string        `json:"nodeName,omitempty"`
	Hostname                      string        `json:"hostname,omitempty"`
	Subdomain                     string        `json:"subdomain,omitempty"`
}

// Container is one container of a pod.
type Container struct {
	Name          string        `json:"name,omitempty"`
	Image         string        `json:"image,omitempty"`
	Command       []string      `json:"command,omitempty"`
	Args          []string      `json:"args,omitempty"`
	WorkingDir    string        `json:"workingDir,omitempty"`
	Env           []EnvVar      `json:"env,omitempty"`
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"` // Always makes a sidecar of an init container
	// RestartPolicyRules are about restarts in place (KEP-5307). Only package lint looks at
	// them.
	RestartPolicyRules []ContainerRestartRule `json:"restartPolicyRules,omitempty"`
}

// ContainerRestartRule is a rule about the restarts of a container in place.
type ContainerRestartRule struct {
	Action backoff.Action `json:"action,omitempty"` // Restart or RestartAllContainers (KEP-5532)
}

// EnvVar is one environment variable of a container.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// PodFailurePolicy is an ordered list of rules about failed pods; the first
// that matches decides (KEP-3329). A nil policy has no rules.
type PodFailurePolicy struct {
	Rules []PodFailurePolicyRule `json:"rules"`
}

// PodFailurePolicyRule is an action and exactly one of two requirements. If
// both are there only OnExitCodes is looked at.
type PodFailurePolicyRule struct {
	// Name is unique and stands in the Job's reason if the Engine has RuleReasons
	// (KEP-4443). No Kubernetes up to 1.37 knows it.
	Name            string           `json:"name,omitempty"`
	Action          Action           `json:"action"`
	OnExitCodes     *OnExitCodes     `json:"onExitCodes,omitempty"`
	OnPodConditions []OnPodCondition `json:"onPodConditions,omitempty"`

	// Unknown holds the fields that are none of these, as they were read.
	Unknown map[string]json.RawMessage `json:"-"`
}

// OnExitCodes is met by a pod with a container that ended with a non-zero exit
// code in, or not in, Values.
type OnExitCodes struct {
	ContainerName *string  `json:"containerName,omitempty"` // nil: any container
	Operator      Operator `json:"operator"`
	Values        []int32  `json:"values"`
}

// OnPodCondition is met by a pod that has this condition.
type OnPodCondition struct {
	Type   PodConditionType `json:"type"`
	Status ConditionStatus  `json:"status,omitempty"` // empty: True
}

// SuccessPolicy says when an Indexed Job has succeeded before all its indexes
// have: as soon as one of its rules is met.
type SuccessPolicy struct {
	Rules []SuccessPolicyRule `json:"rules"`
}

// SuccessPolicyRule is met when the succeeded indexes hold all of
// SucceededIndexes or, with SucceededCount, that many of them.
type SuccessPolicyRule struct {
	SucceededIndexes *string `json:"succeededIndexes,omitempty"` // as text, 1,3-5; nil: every index
	SucceededCount   *int32  `json:"succeededCount,omitempty"`
}

// JobStatus is what is known of a Job's progress. Index sets are text, as on the
// wire.
type JobStatus struct {
	Conditions              []JobCondition           `json:"conditions,omitempty"`
	StartTime               time.Time                `json:"startTime,omitzero"`
	CompletionTime          time.Time                `json:"completionTime,omitzero"`
	Active                  int32                    `json:"active,omitempty"`
	Ready                   *int32                   `json:"ready,omitempty"`
	Terminating             *int32                   `json:"terminating,omitempty"`
	Succeeded               int32                    `json:"succeeded,omitempty"`
	Failed                  int32                    `json:"failed,omitempty"`
	CompletedIndexes        string                   `json:"completedIndexes,omitempty"`
	FailedIndexes           *string                  `json:"failedIndexes,omitempty"` // nil without a limit per index
	UncountedTerminatedPods *UncountedTerminatedPods `json:"uncountedTerminatedPods,omitempty"`
}

// UncountedTerminatedPods holds the UIDs of finished pods that are recorded but
// not yet in the counters: they become counted when their finalizer is gone.
type UncountedTerminatedPods struct {
	Succeeded []string `json:"succeeded,omitempty"`
	Failed    []string `json:"failed,omitempty"`
}

// JobCondition is one condition of a Job.
type JobCondition struct {
	Type               JobConditionType `json:"type"`
	Status             ConditionStatus  `json:"status"`
	LastProbeTime      time.Time        `json:"lastProbeTime,omitzero"`
	LastTransitionTime time.Time        `json:"lastTransitionTime,omitzero"`
	Reason             Reason           `json:"reason,omitempty"`
	Message            string           `json:"message,omitempty"`
}

// Pod is one attempt at a piece of a Job.
type Pod struct {
	Kind       string `json:"kind,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	ObjectMeta `json:"metadata,omitzero"`
	Spec       PodSpec   `json:"spec,omitzero"`
	Status     PodStatus `json:"status,omitzero"`
}

// PodStatus is what is known of a pod.
type PodStatus struct {
	Phase                 PodPhase          `json:"phase,omitempty"`
	Conditions            []PodCondition    `json:"conditions,omitempty"`
	Message               string            `json:"message,omitempty"`
	Reason                string            `json:"reason,omitempty"`
	StartTime             time.Time         `json:"startTime,omitzero"`
	InitContainerStatuses []ContainerStatus `json:"initContainerStatuses,omitempty"`
	ContainerStatuses     []ContainerStatus `json:"containerStatuses,omitempty"`
}

// PodCondition is one condition of a pod.
type PodCondition struct {
	Type               PodConditionType `json:"type"`
	Status             ConditionStatus  `json:"status"`
	LastTransitionTime time.Time        `json:"lastTransitionTime,omitzero"`
	Reason             string           `json:"reason,omitempty"`
	Message            string           `json:"message,omitempty"`
}

// ContainerStatus is what is known of one container of a pod.
type ContainerStatus struct {
	Name         string         `json:"name"`
	State        ContainerState `json:"state,omitzero"`
	Ready        bool           `json:"ready"`
	RestartCount int32          `json:"restartCount"`
}

// ContainerState is one of three states; with none set the container waits.
type ContainerState struct {
	Waiting    *ContainerStateWaiting    `json:"waiting,omitempty"`
	Running    *ContainerStateRunning    `json:"running,omitempty"`
	Terminated *ContainerStateTerminated `json:"terminated,omitempty"`
}

// ContainerStateWaiting says why a container has not started.
type ContainerStateWaiting struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// ContainerStateRunning says since when a container runs.
type ContainerStateRunning struct {
	StartedAt time.Time `json:"startedAt,omitzero"`
}

// ContainerStateTerminated says how and when a container ended.
type ContainerStateTerminated struct {
	ExitCode   int32     `json:"exitCode"`
	Signal     int32     `json:"signal,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	Message    string    `json:"message,omitempty"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
}
