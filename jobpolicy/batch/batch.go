// Package batch has the types of batch/v1 and core/v1 that decide about restarts, with
// their names, defaults and validation. It decides nothing itself; see package
// jobpolicy. The types mirror the JSON of the API, so that a manifest or the output of
// kubectl get -o json fills them.
package batch

import (
	"encoding/json"
	"time"
)

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

// Finished returns the condition that ended the Job, Complete or Failed, if one
// is True.
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

// HasCondition reports whether the condition is there and True.
func (s *JobStatus) HasCondition(t JobConditionType) bool {
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == t && c.Status == ConditionTrue {
			return true
		}
	}
	return false
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
