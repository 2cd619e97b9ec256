// Package batch has the parts of Kubernetes' batch/v1 and core/v1 that affect restarts,
// which are Jobs, their policies and their pods. JSON manifests and the output of
// kubectl get -o json unmarshal into them:
//
//	var job batch.Job
//	err := json.Unmarshal(manifest, &job)
//	job.Spec.Default()        // as the API server does
//	err = job.Spec.Validate() // nil, or all mistakes as field.Errors
package batch

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/restartkit/restart/indexset"
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

// UncountedTerminatedPods holds the UIDs of finished pods that the status does not count
// yet. A pod is counted once its finalizer has been removed.
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

// CompletedIndexSet returns CompletedIndexes as a set. If the text is malformed, the
// set has all readable indexes, as with indexset.ParseLenient, and the error wraps an
// indexset.ParseError with the first mistake.
func (s *JobStatus) CompletedIndexSet() (indexset.Set, error) {
	return indexSet("CompletedIndexSet", s.CompletedIndexes)
}

// FailedIndexSet returns FailedIndexes as a set, like CompletedIndexSet. The set of nil
// is empty.
func (s *JobStatus) FailedIndexSet() (indexset.Set, error) {
	if s.FailedIndexes == nil {
		return indexset.Set{}, nil
	}
	return indexSet("FailedIndexSet", *s.FailedIndexes)
}

func indexSet(call, text string) (indexset.Set, error) {
	set, report := indexset.ParseLenient(text)
	if report.First != nil {
		return set, fmt.Errorf("batch: JobStatus.%s: %w", call, report.First)
	}
	return set, nil
}

// Default sets absent fields to the defaults of the API server:
//
//   - parallelism: 1, and completions: 1 if both are absent;
//   - backoffLimit: 6, or 2^31-1 with backoffLimitPerIndex, so that only the limit
//     per index counts (KEP-3850, "Job API");
//   - completionMode: NonIndexed;
//   - podReplacementPolicy: Failed with a podFailurePolicy, otherwise
//     TerminatingOrFailed;
//   - status in onPodConditions: True (KEP-3329, "JobSpec API").
//
// It replaces pointers instead of writing through them, so copies of s stay
// independent.
func (s *JobSpec) Default() {
	if s == nil {
		return
	}
	if s.Parallelism == nil {
		if s.Completions == nil {
			s.Completions = pointerTo[int32](1)
		}
		s.Parallelism = pointerTo[int32](1)
	}
	if s.BackoffLimit == nil {
		s.BackoffLimit = pointerTo[int32](6)
		if s.BackoffLimitPerIndex != nil {
			s.BackoffLimit = pointerTo[int32](math.MaxInt32)
		}
	}
	if s.CompletionMode == "" {
		s.CompletionMode = NonIndexedCompletion
	}
	if s.PodReplacementPolicy == "" {
		s.PodReplacementPolicy = PodReplacementTerminatingOrFailed
		if s.PodFailurePolicy != nil {
			s.PodReplacementPolicy = PodReplacementFailed
		}
	}
	s.PodFailurePolicy = s.PodFailurePolicy.withDefaults()
}

// withDefaults returns the policy, or a copy if it lacks a default.
func (p *PodFailurePolicy) withDefaults() *PodFailurePolicy {
	if p == nil {
		return nil
	}
	open := func(o OnPodCondition) bool { return o.Status == "" }
	copied := false
	for i := range p.Rules {
		if !slices.ContainsFunc(p.Rules[i].OnPodConditions, open) {
			continue
		}
		if !copied {
			p, copied = &PodFailurePolicy{Rules: slices.Clone(p.Rules)}, true
		}
		patterns := slices.Clone(p.Rules[i].OnPodConditions)
		for k := range patterns {
			if open(patterns[k]) {
				patterns[k].Status = ConditionTrue
			}
		}
		p.Rules[i].OnPodConditions = patterns
	}
	return p
}

func pointerTo[T any](v T) *T { return &v }
