package batch

import (
	"slices"

	"github.com/restartkit/restart/field"
)

// ValidateUpdate returns the mistakes of [JobSpec.Validate], followed by all forbidden
// changes from old. The completion mode, pod failure policy, limit per index and
// success policy are fixed. Completions may change only in an Indexed Job, and must
// then equal parallelism. The pod template is ignored.
func (s *JobSpec) ValidateUpdate(old *JobSpec) error {
	var errs field.Errors
	s.validate(&errs)
	if s == nil || old == nil {
		return errs.Err()
	}
	s.validateResize(&errs, old)
	const fixed = "must not change"
	if s.CompletionMode != old.CompletionMode {
		errs.Add(field.Invalid, "spec.completionMode", string(s.CompletionMode), fixed)
	}
	if !s.PodFailurePolicy.equal(old.PodFailurePolicy) {
		errs.Add(field.Invalid, "spec.podFailurePolicy", nil, fixed)
	}
	if !equalPtr(s.BackoffLimitPerIndex, old.BackoffLimitPerIndex) {
		errs.Add(field.Invalid, "spec.backoffLimitPerIndex", pointee(s.BackoffLimitPerIndex), fixed)
	}
	if !s.SuccessPolicy.equal(old.SuccessPolicy) {
		errs.Add(field.Invalid, "spec.successPolicy", nil, fixed)
	}
	return errs.Err()
}

// validateResize checks that completions only change in an Indexed Job, together with
// parallelism. Missing completions of an Indexed Job are reported elsewhere.
func (s *JobSpec) validateResize(errs *field.Errors, old *JobSpec) {
	parallelism := int32(1)
	if s.Parallelism != nil {
		parallelism = *s.Parallelism
	}
	switch {
	case equalPtr(s.Completions, old.Completions):
	case s.CompletionMode != IndexedCompletion:
		errs.Add(field.Invalid, "spec.completions", pointee(s.Completions), "must not change, except in an Indexed Job")
	case s.Completions != nil && *s.Completions != parallelism:
		errs.Add(field.Invalid, "spec.completions", *s.Completions, "must only change together with parallelism, to the same number")
	}
}

// pointee returns the value that p points to, or nil, for an Error's Value.
func pointee[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func (p *PodFailurePolicy) equal(q *PodFailurePolicy) bool {
	if p == nil || q == nil {
		return p == q
	}
	return slices.EqualFunc(p.Rules, q.Rules, PodFailurePolicyRule.equal)
}

func (r PodFailurePolicyRule) equal(q PodFailurePolicyRule) bool {
	return r.Action == q.Action && r.OnExitCodes.equal(q.OnExitCodes) && slices.Equal(r.OnPodConditions, q.OnPodConditions)
}

func (o *OnExitCodes) equal(q *OnExitCodes) bool {
	if o == nil || q == nil {
		return o == q
	}
	return o.Operator == q.Operator && equalPtr(o.ContainerName, q.ContainerName) && slices.Equal(o.Values, q.Values)
}

func (p *SuccessPolicy) equal(q *SuccessPolicy) bool {
	if p == nil || q == nil {
		return p == q
	}
	return slices.EqualFunc(p.Rules, q.Rules, func(a, b SuccessPolicyRule) bool {
		return equalPtr(a.SucceededIndexes, b.SucceededIndexes) && equalPtr(a.SucceededCount, b.SucceededCount)
	})
}

func equalPtr[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
