package lint_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
	"github.com/restartkit/restart/jobpolicy/lint"
)

func TestWorstCase(t *testing.T) {
	n := pointerTo[int32]
	ignore := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{{Action: batch.ActionIgnore, OnPodConditions: []batch.OnPodCondition{{Type: batch.DisruptionTarget}}}}}
	hidden := &batch.PodFailurePolicy{Rules: []batch.PodFailurePolicyRule{
		{Action: batch.ActionCount, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpNotIn, Values: []int32{0}}},
		{Action: batch.ActionIgnore, OnExitCodes: &batch.OnExitCodes{Operator: batch.OpIn, Values: []int32{1}}},
	}}
	indexed := func(completions, parallelism int32, perIndex, maxFailed *int32) batch.JobSpec {
		return batch.JobSpec{CompletionMode: batch.IndexedCompletion, Completions: &completions, Parallelism: &parallelism, BackoffLimitPerIndex: perIndex, MaxFailedIndexes: maxFailed}
	}
	limited := func(s batch.JobSpec, backoffLimit int32) batch.JobSpec {
		s.BackoffLimit = &backoffLimit
		return s
	}
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
		{"deadline", jobpolicy.Engine{}, batch.JobSpec{ActiveDeadlineSeconds: pointerTo[int64](90)}, lint.WorstCaseResult{Runs: 7, Wait: 90 * time.Second}},
		{"a deadline that has passed", jobpolicy.Engine{}, batch.JobSpec{ActiveDeadlineSeconds: pointerTo[int64](0)}, lint.WorstCaseResult{}},
		{"no parallelism", jobpolicy.Engine{}, batch.JobSpec{Completions: n(1), Parallelism: n(0)}, lint.WorstCaseResult{}},
		{"no completions", jobpolicy.Engine{}, batch.JobSpec{Completions: n(0), Parallelism: n(1)}, lint.WorstCaseResult{}},
		{"ignored", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: ignore}, lint.WorstCaseResult{Runs: math.MaxInt, Unbounded: true, Wait: math.MaxInt64}},
		{"ignored without a delay", jobpolicy.Engine{IgnoredDelay: jobpolicy.NoDelay}, batch.JobSpec{PodFailurePolicy: ignore},
			lint.WorstCaseResult{Runs: math.MaxInt, Unbounded: true, Wait: 630 * time.Second}},
		{"ignored until the deadline", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: ignore, ActiveDeadlineSeconds: pointerTo[int64](90)},
			lint.WorstCaseResult{Runs: math.MaxInt, Unbounded: true, Wait: 90 * time.Second}},
		{"an Ignore rule that decides on no pod", jobpolicy.Engine{}, batch.JobSpec{PodFailurePolicy: hidden}, lint.WorstCaseResult{Runs: 7, Wait: 630 * time.Second}},
		{"per index", jobpolicy.Engine{}, indexed(3, 3, n(2), nil), lint.WorstCaseResult{Runs: 9, Wait: 90 * time.Second, IndexBytes: len("0,2") + len("1")}},
		{"per index and for the Job", jobpolicy.Engine{}, func() batch.JobSpec { s := indexed(3, 3, n(2), nil); s.BackoffLimit = n(3); return s }(),
			lint.WorstCaseResult{Runs: 6, Wait: 40 * time.Second, IndexBytes: 4}},
		{"per index, no failure tolerated", jobpolicy.Engine{}, indexed(3, 3, n(0), nil), lint.WorstCaseResult{Runs: 3, IndexBytes: 4}},
		// The figures for one and for both fields at 10^5 completions.
		{"10^5 indexes", jobpolicy.Engine{}, indexed(100_000, 100_000, nil, nil), lint.WorstCaseResult{Runs: 100_006, Wait: 630 * time.Second, IndexBytes: 392_593}},
		{"10^5 indexes, per index", jobpolicy.Engine{}, indexed(100_000, 100_000, n(0), nil), lint.WorstCaseResult{Runs: 100_000, IndexBytes: 588_888}},
		{"one index at a time", jobpolicy.Engine{}, indexed(100_000, 1, nil, nil), lint.WorstCaseResult{Runs: 100_006, Wait: 630 * time.Second, IndexBytes: len("0-99999")}},
		{"two indexes at a time", jobpolicy.Engine{}, indexed(100_000, 2, nil, nil), lint.WorstCaseResult{Runs: 100_006, Wait: 630 * time.Second, IndexBytes: len("0-99996,99998,99999")}},
		{"one index at a time, one may fail", jobpolicy.Engine{}, indexed(100_000, 1, n(0), n(0)),
			lint.WorstCaseResult{Runs: 100_000, IndexBytes: len("0-99998") + len("99999")}},
		{"one index at a time, two may fail", jobpolicy.Engine{}, indexed(100_000, 1, n(0), n(1)),
			lint.WorstCaseResult{Runs: 100_000, IndexBytes: len("0-99995,99997,99998") + len("99996,99999")}},
		{"too few failures for an index to fail", jobpolicy.Engine{}, limited(indexed(1_000, 1, n(1), nil), 0),
			lint.WorstCaseResult{Runs: 1_000, IndexBytes: len("0-999")}},
		{"enough for one, which another pod's failure leaves without its place", jobpolicy.Engine{}, limited(indexed(1_000, 1, n(1), nil), 1),
			lint.WorstCaseResult{Runs: 1_001, Wait: 10 * time.Second, IndexBytes: len("0-998") + len("999")}},
		{"a rule that fails an index at once", jobpolicy.Engine{}, func() batch.JobSpec {
			s := limited(indexed(1_000, 1, n(1), nil), 0)
			s.PodFailurePolicy = policyFor(batch.ActionFailIndex)
			return s
		}(), lint.WorstCaseResult{Runs: 1_000, IndexBytes: len("0-998") + len("999")}},
		{"as many indexes as there can be, per index", jobpolicy.Engine{}, indexed(math.MaxInt32, 10_000, n(0), n(10_000)),
			lint.WorstCaseResult{Runs: math.MaxInt32, IndexBytes: 659_989}},
		{"as many indexes as there can be, any number of them waiting", jobpolicy.Engine{StartReadyIndexes: true}, indexed(math.MaxInt32, 1, n(1), n(0)),
			lint.WorstCaseResult{Runs: lint.Saturated(2 * math.MaxInt32), Wait: math.MaxInt64, IndexBytes: lint.Saturated(15_007_472_681)}},
		{"no index can wait", jobpolicy.Engine{StartReadyIndexes: true}, indexed(math.MaxInt32, 1, n(0), n(0)),
			lint.WorstCaseResult{Runs: math.MaxInt32, IndexBytes: len("0-2147483645") + len("2147483646")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := lint.WorstCase(tt.engine, &tt.spec)
			if err != nil || got != tt.want {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, tt.want)
			}
		})
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
