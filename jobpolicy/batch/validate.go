package batch

import (
	"fmt"
	"math"
	"strings"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/count"
	"github.com/restartkit/restart/internal/quote"
)

// Limits of a specification (KEP-3850, "The Job object too big").
const (
	maxIndexedParallelism   = 100_000
	maxFailedIndexesLimit   = 100_000
	manyCompletions         = 100_000 // the two limits below apply above this number and with a limit per index
	maxParallelismWithMany  = 10_000
	maxFailedIndexesForMany = 10_000
)

// Validate returns all mistakes in the specification as field.Errors, or nil. Their
// order, paths and types match the API server's on create. Call [JobSpec.Default]
// first. Validate ignores managedBy and unknown fields; of the pod template it reads
// only container names and the restart policy.
func (s *JobSpec) Validate() error {
	var errs field.Errors
	s.validate(&errs)
	return errs.Err()
}

func (s *JobSpec) validate(errs *field.Errors) {
	if s == nil {
		errs.Add(field.Required, "spec", nil, "a Job needs a specification")
		return
	}
	s.validateNumbers(errs)
	s.validateMode(errs)
	s.validatePodFailurePolicy(errs)
	s.validateSuccessPolicy(errs)
	s.validateReplacement(errs)
	s.validateRestartPolicy(errs)
}

// validateNumbers checks that counts are not negative and that a limit of failed
// indexes comes with a limit per index.
func (s *JobSpec) validateNumbers(errs *field.Errors) {
	count.NotNegative(errs, "spec.parallelism", s.Parallelism)
	count.NotNegative(errs, "spec.completions", s.Completions)
	count.NotNegative(errs, "spec.activeDeadlineSeconds", s.ActiveDeadlineSeconds)
	count.NotNegative(errs, "spec.backoffLimit", s.BackoffLimit)
	count.NotNegative(errs, "spec.ttlSecondsAfterFinished", s.TTLSecondsAfterFinished)
	count.NotNegative(errs, "spec.backoffLimitPerIndex", s.BackoffLimitPerIndex)
	count.NotNegative(errs, "spec.maxFailedIndexes", s.MaxFailedIndexes)
	if s.MaxFailedIndexes != nil && s.BackoffLimitPerIndex == nil {
		errs.Add(field.Required, "spec.backoffLimitPerIndex", nil, "maxFailedIndexes needs it")
	}
}

// validateMode checks the completion mode and the fields that depend on it.
func (s *JobSpec) validateMode(errs *field.Errors) {
	switch s.CompletionMode {
	case IndexedCompletion:
		s.validateIndexed(errs)
	case NonIndexedCompletion, "":
		if s.BackoffLimitPerIndex != nil {
			errs.Add(field.Invalid, "spec.backoffLimitPerIndex", *s.BackoffLimitPerIndex, "needs completionMode Indexed")
		}
		if s.MaxFailedIndexes != nil {
			errs.Add(field.Invalid, "spec.maxFailedIndexes", *s.MaxFailedIndexes, "needs completionMode Indexed")
		}
	default:
		errs.Add(field.NotSupported, "spec.completionMode", string(s.CompletionMode), "must be NonIndexed or Indexed")
	}
}

// validateIndexed limits the size of an Indexed Job's status.
func (s *JobSpec) validateIndexed(errs *field.Errors) {
	if s.Completions == nil {
		errs.Add(field.Required, "spec.completions", nil, "completionMode Indexed needs it")
	}
	atMost(errs, "spec.parallelism", s.Parallelism, maxIndexedParallelism, "completionMode Indexed")
	if s.Completions != nil {
		atMost(errs, "spec.maxFailedIndexes", s.MaxFailedIndexes, *s.Completions, "so many completions")
	}
	atMost(errs, "spec.maxFailedIndexes", s.MaxFailedIndexes, maxFailedIndexesLimit, "completionMode Indexed")
	if s.Completions == nil || *s.Completions <= manyCompletions || s.BackoffLimitPerIndex == nil {
		return
	}
	const reason = "more than 100000 completions and backoffLimitPerIndex"
	if s.MaxFailedIndexes == nil {
		errs.Add(field.Required, "spec.maxFailedIndexes", nil, reason+" need it")
	}
	atMost(errs, "spec.parallelism", s.Parallelism, maxParallelismWithMany, reason)
	atMost(errs, "spec.maxFailedIndexes", s.MaxFailedIndexes, maxFailedIndexesForMany, reason)
}

func atMost(errs *field.Errors, path string, n *int32, limit int32, reason string) {
	if n != nil && *n > limit {
		errs.Add(field.Invalid, path, *n, fmt.Sprintf("must be at most %d with %s", limit, reason))
	}
}

// validateReplacement checks the replacement policy. With a pod failure policy, only
// failed pods are replaced.
func (s *JobSpec) validateReplacement(errs *field.Errors) {
	const path = "spec.podReplacementPolicy"
	switch s.PodReplacementPolicy {
	case "", PodReplacementFailed:
	case PodReplacementTerminatingOrFailed:
		if s.PodFailurePolicy != nil {
			errs.Add(field.NotSupported, path, string(s.PodReplacementPolicy), "must be Failed with a podFailurePolicy")
		}
	default:
		errs.Add(field.NotSupported, path, string(s.PodReplacementPolicy), "must be Failed or TerminatingOrFailed")
	}
}

// validateRestartPolicy reports a missing or unknown restart policy twice, like the API
// server, whose first error comes from its general check of pod templates.
func (s *JobSpec) validateRestartPolicy(errs *field.Errors) {
	const path = "spec.template.spec.restartPolicy"
	switch policy := s.Template.Spec.RestartPolicy; policy {
	case RestartPolicyNever:
	case RestartPolicyOnFailure:
		if s.PodFailurePolicy != nil {
			errs.Add(field.Invalid, path, string(policy), "must be Never with a podFailurePolicy")
		}
	case RestartPolicyAlways:
		errs.Add(field.Required, path, string(policy), "a Job's pods need OnFailure or Never")
	case "":
		errs.Add(field.Required, path, nil, "every pod template needs one")
		errs.Add(field.Required, path, nil, "a Job's pods need OnFailure or Never")
	default:
		errs.Add(field.NotSupported, path, string(policy), "must be Always, OnFailure or Never")
		errs.Add(field.NotSupported, path, string(policy), "must be OnFailure or Never in a Job")
	}
}

// Limits of a success policy.
const (
	maxSuccessRules      = 20
	maxSuccessIndexBytes = 64 << 10
)

func (s *JobSpec) validateSuccessPolicy(errs *field.Errors) {
	switch {
	case s.SuccessPolicy == nil:
		return
	case s.CompletionMode != IndexedCompletion:
		errs.Add(field.Invalid, "spec.successPolicy", nil, "needs completionMode Indexed")
		return
	}
	const path = "spec.successPolicy.rules"
	rules := s.SuccessPolicy.Rules
	switch n := len(rules); {
	case n == 0:
		errs.Add(field.Required, path, nil, "must have at least one rule")
	case n > maxSuccessRules:
		errs.Add(field.TooMany, path, n, fmt.Sprintf("must be at most %d", maxSuccessRules))
	}
	// Missing completions are reported elsewhere and set no limit here.
	completions := int32(math.MaxInt32)
	if s.Completions != nil {
		completions = *s.Completions
	}
	for i := range rules {
		validateSuccessRule(errs, i, &rules[i], completions)
	}
}

func validateSuccessRule(errs *field.Errors, rule int, r *SuccessPolicyRule, completions int32) {
	path := func(name string) string { return fmt.Sprintf("spec.successPolicy.rules[%d]%s", rule, name) }
	if r.SucceededIndexes == nil && r.SucceededCount == nil {
		errs.Add(field.Required, path(""), nil, "must have succeededIndexes, succeededCount or both")
	}
	total := int32(0)
	if r.SucceededIndexes != nil {
		text := *r.SucceededIndexes
		if len(text) > maxSuccessIndexBytes {
			errs.Add(field.TooLong, path(".succeededIndexes"), nil, fmt.Sprintf("must be at most %d bytes", maxSuccessIndexBytes))
		}
		var mistake string
		if total, mistake = checkIndexes(text, completions); mistake != "" {
			errs.Add(field.Invalid, path(".succeededIndexes"), text, mistake)
		}
	}
	if r.SucceededCount == nil {
		return
	}
	count := *r.SucceededCount
	if count < 0 {
		errs.Add(field.Invalid, path(".succeededCount"), count, "must be 0 or more")
	}
	if count > completions {
		errs.Add(field.Invalid, path(".succeededCount"), count, fmt.Sprintf("must be at most the %d completions", completions))
	}
	if r.SucceededIndexes != nil && count > total {
		errs.Add(field.Invalid, path(".succeededCount"), count, fmt.Sprintf("must be at most the %d indexes of succeededIndexes", total))
	}
}

// checkIndexes validates the text of a set of indexes below completions as the API
// server does. It returns the number of indexes, or 0 and the first mistake. Unlike
// indexset.Parse it accepts signs and leading zeros; both accept adjacent ranges.
func checkIndexes(text string, completions int32) (total int32, mistake string) {
	if text == "" {
		return 0, ""
	}
	last := int32(-1)
	for part := range strings.SplitSeq(text, ",") {
		first, end, mistake := checkInterval(part, completions)
		if mistake != "" {
			return 0, mistake
		}
		if first <= last {
			return 0, fmt.Sprintf("index %d after %d is out of order", first, last)
		}
		total += end - first + 1
		last = end
	}
	return total, ""
}

// checkInterval parses "a", or "a-b" with a < b, below completions.
func checkInterval(part string, completions int32) (first, last int32, mistake string) {
	firstText, lastText, isRange := strings.Cut(part, "-")
	if first, mistake = checkIndex(firstText, completions); mistake != "" || !isRange {
		return first, first, mistake
	}
	if strings.Contains(lastText, "-") {
		return 0, 0, quote.Text(part) + " has more than one '-'"
	}
	if last, mistake = checkIndex(lastText, completions); mistake != "" {
		return 0, 0, mistake
	}
	if first >= last {
		return 0, 0, fmt.Sprintf("range %s must end after its start", quote.Text(part))
	}
	return first, last, ""
}

func checkIndex(text string, completions int32) (index int32, mistake string) {
	digits := strings.TrimPrefix(text, "+")
	n := int64(0)
	for i := range len(digits) {
		if !isDigit(digits[i]) {
			return 0, quote.Text(text) + " is not an index"
		}
		n = min(n*10+int64(digits[i]-'0'), math.MaxInt32)
	}
	switch {
	case digits == "":
		return 0, quote.Text(text) + " is not an index"
	case n >= int64(completions):
		return 0, fmt.Sprintf("index %s is not below the %d completions", text[:min(len(text), 20)], completions)
	}
	return int32(n), ""
}
