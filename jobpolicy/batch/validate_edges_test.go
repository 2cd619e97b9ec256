package batch_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Each limit, at and one above its number.
func TestValidateEdges(t *testing.T) {
	n := ptr[int32]
	indexed := func(completions int32, change func(*batch.JobSpec)) func(*batch.JobSpec) {
		return func(s *batch.JobSpec) {
			s.CompletionMode, s.Completions = batch.IndexedCompletion, n(completions)
			change(s)
		}
	}
	policy := func(rules ...batch.PodFailurePolicyRule) func(*batch.JobSpec) {
		return func(s *batch.JobSpec) {
			s.PodFailurePolicy, s.PodReplacementPolicy = &batch.PodFailurePolicy{Rules: rules}, batch.PodReplacementFailed
		}
	}
	codes := func(values ...int32) batch.PodFailurePolicyRule {
		return batch.PodFailurePolicyRule{Action: batch.ActionCount, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: values}}
	}
	upTo := func(last int32) (values []int32) {
		for v := range last {
			values = append(values, v+1)
		}
		return values
	}
	condition := batch.OnPodCondition{Type: "A", Status: batch.ConditionTrue}
	conditions := func(n int) batch.PodFailurePolicyRule {
		return batch.PodFailurePolicyRule{Action: batch.ActionCount, OnPodConditions: slices.Repeat([]batch.OnPodCondition{condition}, n)}
	}
	success := func(rules ...batch.SuccessPolicyRule) func(*batch.JobSpec) {
		return func(s *batch.JobSpec) { s.SuccessPolicy = &batch.SuccessPolicy{Rules: rules} }
	}
	count := func(c int32) batch.SuccessPolicyRule { return batch.SuccessPolicyRule{SucceededCount: n(c)} }
	indexes := func(text string) batch.SuccessPolicyRule { return batch.SuccessPolicyRule{SucceededIndexes: &text} }
	limits := func(perIndex, maxFailed, parallelism *int32) func(*batch.JobSpec) {
		return func(s *batch.JobSpec) {
			s.BackoffLimitPerIndex, s.MaxFailedIndexes, s.Parallelism = perIndex, maxFailed, parallelism
		}
	}
	const (
		rules = "spec.podFailurePolicy.rules"
		met   = "spec.successPolicy.rules"
	)
	for _, tt := range []struct {
		name   string
		change func(*batch.JobSpec)
		want   string // "Type field" of every mistake
	}{
		{"parallelism 10^5", indexed(5, limits(nil, nil, n(100_000))), ""},
		{"parallelism 10^5+1", indexed(5, limits(nil, nil, n(100_001))), "Invalid spec.parallelism"},
		{"parallelism of a NonIndexed Job", limits(nil, nil, n(math.MaxInt32)), ""},
		{"maxFailedIndexes = completions", indexed(5, limits(n(0), n(5), n(1))), ""},
		{"maxFailedIndexes > completions", indexed(5, limits(n(0), n(6), n(1))), "Invalid spec.maxFailedIndexes"},
		{"10^5 completions", indexed(100_000, limits(n(1), n(100_000), n(100_000))), ""},
		{"10^5 completions, any number may fail", indexed(100_000, limits(n(1), nil, n(100_000))), ""},
		{"10^5+1 completions", indexed(100_001, limits(n(1), n(10_000), n(10_000))), ""},
		{"10^5+1 completions, parallelism", indexed(100_001, limits(n(1), n(10_000), n(10_001))), "Invalid spec.parallelism"},
		{"10^5+1 completions, maxFailedIndexes", indexed(100_001, limits(n(1), n(10_001), n(10_000))), "Invalid spec.maxFailedIndexes"},
		{"10^5+1 completions, any number may fail", indexed(100_001, limits(n(1), nil, n(1))), "Required spec.maxFailedIndexes"},
		{"10^5+1 completions without a limit per index", indexed(100_001, limits(nil, nil, n(100_000))), ""},
		{"maxFailedIndexes alone", indexed(5, limits(nil, n(1), n(1))), "Required spec.backoffLimitPerIndex"},
		{"20 rules", policy(slices.Repeat([]batch.PodFailurePolicyRule{codes(1)}, 20)...), ""},
		{"21 rules", policy(slices.Repeat([]batch.PodFailurePolicyRule{codes(1)}, 21)...), "TooMany " + rules},
		{"255 codes", policy(codes(upTo(255)...)), ""},
		{"256 codes", policy(codes(upTo(256)...)), "TooMany " + rules + "[0].onExitCodes.values"},
		{"20 conditions", policy(conditions(20)), ""},
		{"21 conditions", policy(conditions(20), conditions(21)), "TooMany " + rules + "[1].onPodConditions"},
		{"a duplicate code", policy(codes(1, 2, 2)), "Duplicate " + rules + "[0].onExitCodes.values[2]"},
		{"a duplicate code later", policy(codes(1, 2, 1)), "Duplicate " + rules + "[0].onExitCodes.values[2], Invalid " + rules + "[0].onExitCodes.values"},
		{"20 success rules", indexed(5, success(slices.Repeat([]batch.SuccessPolicyRule{count(1)}, 20)...)), ""},
		{"21 success rules", indexed(5, success(slices.Repeat([]batch.SuccessPolicyRule{count(1)}, 21)...)), "TooMany " + met},
		{"no success rules", indexed(5, success()), "Required " + met},
		{"success rules of a NonIndexed Job", success(count(1)), "Invalid spec.successPolicy"},
		{"indexes of 64 KiB", indexed(math.MaxInt32, success(indexes(strings.Repeat("0", 65_536)))), ""},
		{"indexes above 64 KiB", indexed(math.MaxInt32, success(indexes(strings.Repeat("0", 65_537)))), "TooLong " + met + "[0].succeededIndexes"},
		{"the last index", indexed(5, success(indexes("0-4"))), ""},
		{"the index after", indexed(5, success(indexes("0-5"))), "Invalid " + met + "[0].succeededIndexes"},
		{"every index there is", indexed(math.MaxInt32, success(indexes("0-2147483646"))), ""},
		{"success policy without completions", func(s *batch.JobSpec) {
			s.CompletionMode, s.Completions = batch.IndexedCompletion, nil
			success(batch.SuccessPolicyRule{SucceededIndexes: ptr("0-2"), SucceededCount: n(4)})(s)
		}, "Required spec.completions, Invalid " + met + "[0].succeededCount"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := validSpec()
			tt.change(s)
			if got := typesAndFields(s.Validate()); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func typesAndFields(err error) string {
	var all []string
	if err != nil {
		for _, e := range err.(field.Errors) {
			all = append(all, fmt.Sprintf("%s %s", e.Type, e.Field))
		}
	}
	return strings.Join(all, ", ")
}

// The number of another rule is no name, because an unnamed rule has its number in its
// reason. Other numbers are names.
func TestNumbersAsRuleNames(t *testing.T) {
	for name, valid := range map[string]bool{"0": true, "1": false, "2": true, "01": true} {
		rule := batch.PodFailurePolicyRule{Action: batch.ActionFailJob, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{1}}}
		named := rule
		named.Name = name
		job := batch.Job{Spec: batch.JobSpec{
			PodFailurePolicy: &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{named, rule}},
			Template:         batch.PodTemplateSpec{Spec: batch.PodSpec{RestartPolicy: batch.RestartPolicyNever}},
		}}
		if err := job.Spec.Validate(); (err == nil) != valid {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func TestValidateUpdate(t *testing.T) {
	n := ptr[int32]
	job := func(changes ...func(*batch.JobSpec)) *batch.JobSpec {
		s := validSpec()
		s.CompletionMode, s.Completions, s.Parallelism = batch.IndexedCompletion, n(3), n(3)
		for _, change := range changes {
			change(s)
		}
		return s
	}
	size := func(completions, parallelism *int32) func(*batch.JobSpec) {
		return func(s *batch.JobSpec) { s.Completions, s.Parallelism = completions, parallelism }
	}
	policy := func(p *batch.PodFailurePolicy) func(*batch.JobSpec) {
		return func(s *batch.JobSpec) { s.PodFailurePolicy, s.PodReplacementPolicy = p, batch.PodReplacementFailed }
	}
	rule := func(container *string, values ...int32) *batch.PodFailurePolicy {
		return &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{Action: batch.ActionCount,
			OnExitCodes: &batch.OnExitCodes{ContainerName: container, Operator: batch.OpIn, Values: values}}}}
	}
	success := func(p *batch.SuccessPolicy) func(*batch.JobSpec) {
		return func(s *batch.JobSpec) { s.SuccessPolicy = p }
	}
	nonIndexed := func(s *batch.JobSpec) { s.CompletionMode = batch.NonIndexedCompletion }
	for _, tt := range []struct {
		name     string
		old, new *batch.JobSpec
		want     string
	}{
		{"nothing", job(), job(), ""},
		{"what may change", job(), job(func(s *batch.JobSpec) {
			s.Parallelism, s.BackoffLimit, s.ActiveDeadlineSeconds, s.Suspend, s.TTLSecondsAfterFinished = n(1), n(1), ptr[int64](1), true, n(1)
		}), ""},
		{"resize", job(), job(size(n(5), n(5))), ""},
		{"resize with another parallelism", job(), job(size(n(5), n(3))), "Invalid spec.completions"},
		{"resize to the default parallelism", job(), job(size(n(1), nil)), ""},
		{"resize with the default parallelism", job(), job(size(n(2), nil)), "Invalid spec.completions"},
		{"no completions any more", job(), job(size(nil, n(3))), "Required spec.completions"},
		{"resize of a NonIndexed Job", job(nonIndexed), job(nonIndexed, size(n(5), n(5))), "Invalid spec.completions"},
		{"no completions any more, NonIndexed", job(nonIndexed), job(nonIndexed, size(nil, n(3))), "Invalid spec.completions"},
		{"mode", job(nonIndexed), job(), "Invalid spec.completionMode"},
		{"policy added", job(), job(policy(rule(nil, 1))), "Invalid spec.podFailurePolicy"},
		{"policy removed", job(policy(rule(nil, 1))), job(), "Invalid spec.podFailurePolicy"},
		{"policy kept", job(policy(rule(ptr("a"), 1))), job(policy(rule(ptr("a"), 1))), ""},
		{"policy: a code", job(policy(rule(nil, 1))), job(policy(rule(nil, 2))), "Invalid spec.podFailurePolicy"},
		{"policy: a container", job(policy(rule(nil, 1))), job(policy(rule(ptr("a"), 1))), "Invalid spec.podFailurePolicy"},
		{"policy: no list for an empty one", job(policy(&batch.PodFailurePolicy{})), job(policy(&batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{}})), ""},
		{"limit per index", job(func(s *batch.JobSpec) { s.BackoffLimitPerIndex = n(1) }), job(func(s *batch.JobSpec) { s.BackoffLimitPerIndex = n(2) }), "Invalid spec.backoffLimitPerIndex"},
		{"success policy added", job(), job(success(&batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededCount: n(1)}}})), "Invalid spec.successPolicy"},
		{"success policy: indexes", job(success(&batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededIndexes: ptr("1")}}})),
			job(success(&batch.SuccessPolicy{Rules: []batch.SuccessPolicyRule{{SucceededIndexes: ptr("2")}}})), "Invalid spec.successPolicy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := typesAndFields(tt.new.ValidateUpdate(tt.old)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
