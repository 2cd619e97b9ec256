package lint

import (
	"math"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

type worstCase struct {
	engine      jobpolicy.Engine
	spec        *batch.JobSpec // with defaults
	parallelism int64
	completions int64 // 0 for a Job without
	perIndex    bool
	ignores     bool // an Ignore rule can decide on pods
	failsIndex  bool // a FailIndex rule can decide on pods
}

func newWorstCase(e jobpolicy.Engine, s *batch.JobSpec) worstCase {
	w := worstCase{engine: e, spec: s, parallelism: int64(*s.Parallelism)}
	if s.Completions != nil {
		w.completions = int64(*s.Completions)
	}
	w.perIndex = s.CompletionMode == batch.IndexedCompletion && s.BackoffLimitPerIndex != nil
	for i, reach := range reachOf(s) {
		action := s.PodFailurePolicy.Rules[i].Action
		w.ignores = w.ignores || reach.decides && action == batch.ActionIgnore
		w.failsIndex = w.failsIndex || reach.decides && action == batch.ActionFailIndex
	}
	return w
}

// nothingRuns reports whether the Job wants no pods or ends before its first one.
func (w worstCase) nothingRuns() bool {
	s := w.spec
	return w.parallelism == 0 || s.Completions != nil && w.completions == 0 ||
		s.ActiveDeadlineSeconds != nil && *s.ActiveDeadlineSeconds == 0
}

// failures returns the number of failures followed by a replacement. One more ends the
// Job or its index.
func (w worstCase) failures() int64 {
	limit := int64(*w.spec.BackoffLimit)
	if w.perIndex {
		limit = min(limit, w.completions*int64(*w.spec.BackoffLimitPerIndex))
	}
	return limit
}

// runs returns the maximum number of pods. Besides the replaced failures, every pod has
// succeeded or is active, and these pods number at most completions. Without
// completions no pod is created after a success.
func (w worstCase) runs() int {
	others := w.completions
	if w.spec.Completions == nil {
		others = w.parallelism
	}
	return saturated(others + w.failures())
}

// wait returns the longest total delay. Because delays only grow, it occurs when
// failures follow one another without a success. If the first delay is the longest, it
// occurs when every streak of failures is short.
func (w worstCase) wait() time.Duration {
	failures, streaks, longest := w.failures(), max(w.completions, 1), w.failures()
	if w.perIndex {
		longest = int64(*w.spec.BackoffLimitPerIndex)
	}
	if failures == 0 {
		return 0
	}
	first, most := w.delay(1), w.delay(math.MaxInt32)
	if first > most {
		n := min(failures, streaks)
		return time.Duration(addSaturating(mulSaturating(n, first), mulSaturating(failures-n, most)))
	}
	all := mulSaturating(failures/longest, w.streak(longest))
	return time.Duration(addSaturating(all, w.streak(failures%longest)))
}

// delay returns the delay after the n-th failure in a row.
func (w worstCase) delay(n int64) int64 { return int64(w.engine.Remaining(int(n), 0)) }

// streak returns the sum of the delays after n failures in a row.
func (w worstCase) streak(n int64) (sum int64) {
	most := w.delay(math.MaxInt32)
	for k := int64(1); k <= n; k++ {
		delay := w.delay(k)
		if delay == most {
			return addSaturating(sum, mulSaturating(n-k+1, most))
		}
		sum = addSaturating(sum, delay)
	}
	return sum
}

// saturated returns n as an int, at most the largest int.
func saturated(n int64) int { return int(min(n, math.MaxInt)) }

// addSaturating adds non-negative numbers.
func addSaturating(a, b int64) int64 { return min(a, math.MaxInt64-b) + b }

// mulSaturating multiplies non-negative numbers.
func mulSaturating(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}
