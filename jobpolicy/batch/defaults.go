package batch

import (
	"math"
	"slices"
)

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
