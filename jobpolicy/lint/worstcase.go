package lint

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// WorstCaseResult is the maximum that a Job can reach through failures of its own pods,
// without changes of the Job or manual deletions. Numbers saturate.
type WorstCaseResult struct {
	Runs int // pods created, without restarts in place
	// Unbounded is set if an Ignore rule can decide on pods, so that replacements never
	// end. Runs is then the largest int.
	Unbounded bool
	// Wait is the longest total delay of replacements. If Unbounded, only
	// activeDeadlineSeconds bounds it, except with NoDelay.
	Wait time.Duration
	// IndexBytes is the total length of completedIndexes and failedIndexes (KEP-3850,
	// "The Job object too big").
	IndexBytes int
}

// WorstCase returns the maximum that a Job with this specification can reach under the
// engine while not suspended. It applies the defaults. No run exceeds the numbers. For
// each number some run reaches it, with three exceptions:
//
//   - A success policy may end every such run earlier.
//   - Delays may last longer than activeDeadlineSeconds.
//   - With StartReadyIndexes delays overlap, and an index that fails for good may have
//     to wait while others stay open. Only Runs is then exact.
//
// The error wraps field.Errors if the engine is invalid or [batch.JobSpec.Validate]
// rejects the numbers or the completion mode.
func WorstCase(e jobpolicy.Engine, s *batch.JobSpec) (WorstCaseResult, error) {
	if err := e.Validate(); err != nil {
		return WorstCaseResult{}, fmt.Errorf("lint: WorstCase: %w", err)
	}
	if s == nil {
		return WorstCaseResult{}, errors.New("lint: WorstCase: the specification is nil")
	}
	spec := *s
	spec.Default()
	if err := validateNumbers(spec); err != nil {
		return WorstCaseResult{}, fmt.Errorf("lint: WorstCase: %w", err)
	}
	w := newWorstCase(e, &spec)
	if w.nothingRuns() {
		return WorstCaseResult{}, nil
	}
	b := WorstCaseResult{Runs: w.runs(), Wait: w.wait(), IndexBytes: w.indexBytes()}
	if w.ignores {
		b.Unbounded, b.Runs = true, math.MaxInt
		if e.IgnoredDelay != jobpolicy.NoDelay {
			b.Wait = math.MaxInt64
		}
	}
	if spec.ActiveDeadlineSeconds != nil {
		b.Wait = min(b.Wait, time.Duration(mulSaturating(*spec.ActiveDeadlineSeconds, int64(time.Second))))
	}
	return b, nil
}

// validateNumbers checks only the counts, limits and completion mode.
func validateNumbers(s batch.JobSpec) error {
	s.PodFailurePolicy, s.SuccessPolicy, s.PodReplacementPolicy = nil, nil, ""
	s.Template.Spec.RestartPolicy = batch.RestartPolicyNever
	return s.Validate()
}
