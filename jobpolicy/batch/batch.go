// Package batch has the parts of batch/v1 and core/v1 that affect restarts, with their
// names, defaults and validation. JSON manifests and the output of kubectl get -o json
// unmarshal into them.
package batch

import (
	"encoding/json"
	"time"
)

// Job is a batch/v1 Job.
type Job struct {
	Kind       string `json:"kind,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	ObjectMeta `json:"metadata,omitzero"`
	Spec       JobSpec   `json:"spec,omitzero"`
	Status     JobStatus `json:"status,omitzero"`
}

// JobSpec is the specification of a Job.
type JobSpec struct {
	Parallelism *int32 `json:"parallelism,omitempty"` // pods at once
	// Completions is the number of successes wanted. If nil, one success suffices, and
	// no pod starts after it.
	Completions           *int32            `json:"completions,omitempty"`
	ActiveDeadlineSeconds *int64            `json:"activeDeadlineSeconds,omitempty"`
	PodFailurePolicy      *PodFailurePolicy `json:"podFailurePolicy,omitempty"`
	SuccessPolicy         *SuccessPolicy    `json:"successPolicy,omitempty"`
	// BackoffLimit and BackoffLimitPerIndex are the numbers of counted failures
	// tolerated in the Job and in each index (KEP-3850).
	BackoffLimit         *int32 `json:"backoffLimit,omitempty"`
	BackoffLimitPerIndex *int32 `json:"backoffLimitPerIndex,omitempty"`
	// MaxFailedIndexes is the number of failed indexes tolerated; nil means all.
	MaxFailedIndexes        *int32               `json:"maxFailedIndexes,omitempty"`
	Template                PodTemplateSpec      `json:"template,omitzero"`
	TTLSecondsAfterFinished *int32               `json:"ttlSecondsAfterFinished,omitempty"`
	CompletionMode          CompletionMode       `json:"completionMode,omitempty"`
	Suspend                 bool                 `json:"suspend,omitempty"`
	PodReplacementPolicy    PodReplacementPolicy `json:"podReplacementPolicy,omitempty"`
	ManagedBy               string               `json:"managedBy,omitempty"` // another controller's name

	// Unknown holds all other fields, such as scheduling.
	Unknown map[string]json.RawMessage `json:"-"`
}

// JobStatus is the status of a Job. Index sets are text such as 1,3-5, which
// CompletedIndexSet and FailedIndexSet parse.
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

// Finished returns the condition, Complete or Failed, that ended the Job.
func (s *JobStatus) Finished() (JobCondition, bool) {
	if s == nil {
		return JobCondition{}, false
	}
	for _, c := range s.Conditions {
		if (c.Type == JobComplete || c.Type == JobFailed) && c.Status == ConditionTrue {
			return c, true
		}
	}
	return JobCondition{}, false
}

// HasCondition reports whether the condition is True.
func (s *JobStatus) HasCondition(t JobConditionType) bool {
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == t && c.Status == ConditionTrue {
			return true
		}
	}
	return false
}

// UncountedTerminatedPods holds the UIDs of finished pods to count once their
// finalizers are removed.
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
