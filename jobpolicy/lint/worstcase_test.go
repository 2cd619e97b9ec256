package lint_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
)

func TestWorstCase(t *testing.T) {
	n := pointerTo[int32]
	ignore := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{Action: batch.ActionIgnore, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{137}}}}}
	disruptions := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{Action: batch.ActionIgnore, OnPodConditions: []batch.OnPodCondition{{Type: batch.DisruptionTarget}}}}}
	counted := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{Action: batch.ActionCount, OnPodConditions: []batch.OnPodCondition{{Type: batch.DisruptionTarget}}}}}
	hidden := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{
		{Action: batch.ActionCount, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpNotIn, Values: []int32{0}}},
		{Action: batch.ActionIgnore, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{1}}},
	}}
	for _, tt := range []struct {
		name   string
		engine jobpolicy.Engine
		spec   batch.JobSpec
		want   lint.WorstCaseResult
	}{
		{"defaults: 10 20 40 80 160 320", jobpolicy.Engine{}, batch.JobSpec{}, lint.WorstCaseResult{Runs: 7, Wait: 630 * time.Second}},
		{"up to the longest delay: … 320 600 600", jobpolicy.Engine{}, batch.JobSpec{BackoffLimit: n(8)}, lint.WorstCaseResult{Runs: 9, Wait: 1830 * time.Second}},
		{"no failure tolerated", jobpolicy.Engine{}, batch.JobSpec{Completions: n(3), Parallelism: n(2), BackoffLimit: n(0)}, lint.WorstCaseResult{Runs: 3}},
		{"work queue", jobpolicy.Engine{}, batch.JobSpec{Parallelism: n(3), BackoffLimit: n(1)}, lint.WorstCaseResult{Runs: 4, Wait: 10 * time.Second}},
		{"the most failures there can be", jobpolicy.Engine{}, batch.JobSpec{BackoffLimit: n(math.MaxInt32)},
			lint.WorstCaseResult{Runs: lint.Saturated(1 << 31), Wait: math.MaxInt64}},
		{"its own delays", jobpolicy.Engine{BaseDelay: time.Millisecond, MaxDelay: 3 * time.Millisecond}, batch.JobSpec{BackoffLimit: n(4)}, lint.WorstCaseResult{Runs: 5, Wait: 9 * time.Millisecond}},
		{"a first delay above the longest", jobpolicy.Engine{BaseDelay: 5 * time.Second, MaxDelay: time.Second}, batch.JobSpec{Completions: n(2), BackoffLimit: n(3)},
			lint.WorstCaseResult{Runs: 5, Wait: 11 * time.Second}},
		{"a deadline after 10 20 40", jobpolicy.Engine{}, batch.JobSpec{ActiveDeadlineSeconds: pointerTo[int64](90)}, lint.WorstCaseResult{Runs: 4, Wait: 90 * time.Second}},
		{"a deadline at the end of a delay", jobpolicy.Engine{}, batch.JobSpec{ActiveDeadlineSeconds: pointerTo[int64](70)}, lint.WorstCaseResult{Runs: 3, Wait: 70 * time.Second}},
		{"a deadline after all delays", jobpolicy.Engine{}, batch.JobSpec{ActiveDeadlineSeconds: pointerTo[int64](700)}, lint.WorstCaseResult{Runs: 7, Wait: 630 * time.Second}},
		{"a deadline, and pods that fail together: 2 at once, 3 after 20", jobpolicy.Engine{}, batch.JobSpec{Parallelism: n(3), ActiveDeadlineSeconds: pointerTo[int64](200)},
			lint.WorstCaseResult{Runs: 8, Wait: 200 * time.Second}},
		{"a deadline before the most failures there can be: 630 and 599 times 600", jobpolicy.Engine{}, batch.JobSpec{BackoffLimit: n(math.MaxInt32), ActiveDeadlineSeconds: pointerTo[int64](360_031)},
			lint.WorstCaseResult{Runs: 1 + 6 + 599, Wait: 360_031 * time.Second}},
		{"a deadline per index: 10 for each of 20, 20 for 15", jobpolicy.Engine{}, func() batch.JobSpec {
			s := indexed(20, 5, n(3), n(4))
			s.ActiveDeadlineSeconds = pointerTo[int64](100)
			return s
		}(), lint.WorstCaseResult{Runs: 20 + 20 + 15, Wait: 100 * time.Second}},
		{"a deadline per index, far away", jobpolicy.Engine{}, func() batch.JobSpec {
			s := indexed(1, 1, n(math.MaxInt32), nil)
			s.ActiveDeadlineSeconds = pointerTo[int64](360_031)
			return s
		}(), lint.WorstCaseResult{Runs: 1 + 6 + 599, Wait: 360_031 * time.Second}},
		{"a deadline that has passed", jobpolicy.Engine{}, batch.JobSpec{ActiveDeadlineSeconds: pointerTo[int64](0)}, lint.WorstCaseResult{}},
		{"no parallelism", jobpolicy.Engine{}, batch.JobSpec{Completions: n(1), Parallelism: n(0)}, lint.WorstCaseResult{}},
		{"no completions", jobpolicy.Engine{}, batch.JobSpec{Completions: n(0), Parallelism: n(1)}, lint.WorstCaseResult{}},
		{"disruptions ignored", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: disruptions}, lint.WorstCaseResult{Runs: 7, IgnoresDisruptions: true, Wait: 630 * time.Second}},
		{"disruptions ignored, beside a rule that fails the Job", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: &batch.PodFailurePolicy{Rules: append(slices.Clone(disruptions.Rules), hidden.Rules[0])}},
			lint.WorstCaseResult{Runs: 7, IgnoresDisruptions: true, Wait: 630 * time.Second}},
		{"disruptions counted before they are ignored", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: &batch.PodFailurePolicy{Rules: append(slices.Clone(counted.Rules), disruptions.Rules...)}},
			lint.WorstCaseResult{Runs: 7, Wait: 630 * time.Second}},
		{"disruptions and exit codes ignored", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: &batch.PodFailurePolicy{Rules: append(slices.Clone(disruptions.Rules), ignore.Rules...)}},
			lint.WorstCaseResult{Runs: math.MaxInt, Unbounded: true, IgnoresDisruptions: true, Wait: math.MaxInt64}},
		{"a condition ignored that no disruption sets", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: policyFor(batch.ActionIgnore)}, lint.WorstCaseResult{Runs: math.MaxInt, Unbounded: true, Wait: math.MaxInt64}},
		{"ignored", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: ignore}, lint.WorstCaseResult{Runs: math.MaxInt, Unbounded: true, Wait: math.MaxInt64}},
		{"ignored without a delay", jobpolicy.Engine{IgnoredDelay: jobpolicy.NoDelay}, batch.JobSpec{PodFailurePolicy: ignore},
			lint.WorstCaseResult{Runs: math.MaxInt, Unbounded: true, Wait: 630 * time.Second}},
		{"ignored until the deadline", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: ignore, ActiveDeadlineSeconds: pointerTo[int64](90)},
			lint.WorstCaseResult{Runs: math.MaxInt, Unbounded: true, Wait: 90 * time.Second}},
		{"disruptions ignored under a misspelt name", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: ignoring("DisruptionTraget")}, lint.WorstCaseResult{Runs: 7, Wait: 630 * time.Second}},
		{"a misspelt name beside disruptions", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: ignoring("OOMKilled", batch.DisruptionTarget)}, lint.WorstCaseResult{Runs: 7, IgnoresDisruptions: true, Wait: 630 * time.Second}},
		{"disruptions counted, and ignored beside another condition", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: &batch.PodFailurePolicy{Rules: append(slices.Clone(counted.Rules), ignoring("DisruptionTraget", batch.DisruptionTarget).Rules...)}},
			lint.WorstCaseResult{Runs: 7, Wait: 630 * time.Second}},
		{"an exit code ignored that no container has", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{
			{Action: batch.ActionIgnore, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{300}}}}}}, lint.WorstCaseResult{Runs: 7, Wait: 630 * time.Second}},
		{"any failure counted before disruptions are ignored", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: &batch.PodFailurePolicy{Rules: append(slices.Clone(hidden.Rules[:1]), disruptions.Rules...)}},
			lint.WorstCaseResult{Runs: 7, IgnoresDisruptions: true, Wait: 630 * time.Second}}, // pods of which no container failed
		{"another failure counted before disruptions are ignored", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: &batch.PodFailurePolicy{Rules: append([]batch.PodFailurePolicyRule{
			{Action: batch.ActionCount, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{1, 137}}}}, disruptions.Rules...)}}, lint.WorstCaseResult{Runs: 7, IgnoresDisruptions: true, Wait: 630 * time.Second}},
		{"an Ignore rule that decides on no pod", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: hidden}, lint.WorstCaseResult{Runs: 7, Wait: 630 * time.Second}},
		{"an ignored exit code that no container has, and one counted before", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{
			{Action: batch.ActionCount, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{1}}},
			{Action: batch.ActionIgnore, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{1, 300}}}}}}, lint.WorstCaseResult{Runs: 7, Wait: 630 * time.Second}},
		{"per index", jobpolicy.Engine{}, indexed(3, 3, n(2), nil), lint.WorstCaseResult{Runs: 9, Wait: 90 * time.Second}},
		{"per index and for the Job", jobpolicy.Engine{}, func() batch.JobSpec { s := indexed(3, 3, n(2), nil); s.BackoffLimit = n(3); return s }(),
			lint.WorstCaseResult{Runs: 6, Wait: 40 * time.Second}},
		{"per index, no failure tolerated", jobpolicy.Engine{}, indexed(3, 3, n(0), nil), lint.WorstCaseResult{Runs: 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := lint.WorstCase(tt.engine, &tt.spec)
			got.IndexBytes = 0 // see TestIndexBytesBoundTheLongestFields
			if err != nil || got != tt.want {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, tt.want)
			}
		})
	}
}

// ignoring is a policy that ignores pods with any of the conditions.
func ignoring(conditions ...batch.PodConditionType) *batch.PodFailurePolicy {
	rule := batch.PodFailurePolicyRule{Action: batch.ActionIgnore}
	for _, condition := range conditions {
		rule.OnPodConditions = append(rule.OnPodConditions, batch.OnPodCondition{Type: condition})
	}
	return &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{rule}}
}

// indexed returns an Indexed Job.
func indexed(completions, parallelism int32, perIndex, maxFailed *int32) batch.JobSpec {
	return batch.JobSpec{CompletionMode: batch.IndexedCompletion, Completions: &completions, Parallelism: &parallelism, BackoffLimitPerIndex: perIndex, MaxFailedIndexes: maxFailed}
}

// IndexBytes is at least the length of the longest fields, which are known for these
// Jobs, and near it where it matters. The runs of small Jobs are in
// TestLongestRunReachesWorstCase.
func TestIndexBytesBoundTheLongestFields(t *testing.T) {
	n := pointerTo[int32]
	for _, tt := range []struct {
		name           string
		engine         jobpolicy.Engine
		spec           batch.JobSpec
		longest, bound int
	}{
		{"not Indexed", jobpolicy.Engine{}, batch.JobSpec{Completions: n(9), Parallelism: n(9)}, 0, 0},
		{"one index at a time", jobpolicy.Engine{}, indexed(100_000, 1, nil, nil), len("0-99999"), len("99998,99999")},
		{"two indexes at a time", jobpolicy.Engine{}, indexed(100_000, 2, nil, nil), len("0-99996,99998,99999"), len("99996,99997,99998,99999")},
		{"10^5 indexes", jobpolicy.Engine{}, indexed(100_000, 100_000, nil, nil), 392_593, 400_001},
		{"per index", jobpolicy.Engine{}, indexed(3, 3, n(2), nil), len("0,2") + len("1"), len("0,1,2")},
		{"10^5 indexes, per index", jobpolicy.Engine{}, indexed(100_000, 100_000, n(0), nil), 588_888, 588_889},
		{"one index at a time, one may fail", jobpolicy.Engine{}, indexed(100_000, 1, n(0), n(0)), len("0-99998") + len("99999"), 5*len("99999,") - 1},
		{"as many indexes as there can be, per index", jobpolicy.Engine{}, indexed(math.MaxInt32, 10_000, n(0), n(10_000)), 659_989, 660_021},
		{"any number of indexes waiting", jobpolicy.Engine{StartReadyIndexes: true}, indexed(math.MaxInt32, 1, n(1), n(0)), lint.Saturated(15_007_472_681), lint.Saturated(22_511_209_006)},
	} {
		got, err := lint.WorstCase(tt.engine, &tt.spec)
		if err != nil || got.IndexBytes != tt.bound || got.IndexBytes < tt.longest {
			t.Errorf("%s: %d bytes, want %d, which is at least %d: %v", tt.name, got.IndexBytes, tt.bound, tt.longest, err)
		}
	}
}

func TestWorstCaseRejectsInvalidArguments(t *testing.T) {
	var fields field.Errors
	for _, s := range []*batch.JobSpec{
		{BackoffLimit: pointerTo[int32](-1)},
		{CompletionMode: batch.IndexedCompletion, Parallelism: pointerTo[int32](1)},
		{CompletionMode: "x"},
	} {
		if _, err := lint.WorstCase(jobpolicy.Engine{}, s); !errors.As(err, &fields) {
			t.Errorf("%s: %v", jsonText(s), err)
		}
	}
	if _, err := lint.WorstCase(jobpolicy.Engine{}, nil); err == nil {
		t.Error("no specification: no error")
	}
	if _, err := lint.WorstCase(jobpolicy.Engine{MaxDelay: -1}, &batch.JobSpec{}); err == nil {
		t.Error("an Engine that cannot be: no error")
	}
}

func TestSumsAndProductsSaturate(t *testing.T) {
	const most = math.MaxInt64
	for _, tt := range []struct{ a, b, sum, product int64 }{
		{0, 0, 0, 0}, {2, 3, 5, 6}, {most, 0, most, 0}, {0, most, most, 0}, {most, 1, most, most}, {1, most, most, most},
		{most/2 + 1, 2, most/2 + 3, most}, {most / 2, 2, most/2 + 2, most - 1}, {most, most, most, most}, {1 << 31, 600e9, 1<<31 + 600e9, most},
	} {
		if sum, product := lint.AddSaturating(tt.a, tt.b), lint.MulSaturating(tt.a, tt.b); sum != tt.sum || product != tt.product {
			t.Errorf("%d and %d: sum %d, product %d; want %d, %d", tt.a, tt.b, sum, product, tt.sum, tt.product)
		}
	}
}
