package batch

import (
	"fmt"
	"math"
	"strings"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/quote"
)

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
