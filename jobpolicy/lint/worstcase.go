package lint

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// WorstCaseResult is the most that a Job can come to by failures of its own pods; changes
// of the Job and deletions by hand come on top. A number that an int or a
// Duration cannot hold is the largest that it can.
type WorstCaseResult struct {
	Runs int // pods created; restarts of containers in place are not among them
	// Unbounded says that there is no most, because an Ignore rule can decide on pods, which
	// are replaced for ever. Then Runs is the largest int.
	Unbounded bool
	// Wait is how long delays can hold back replacements in total. If Unbounded, only
	// activeDeadlineSeconds bounds it, unless the engine has NoDelay.
	Wait time.Duration
	// IndexBytes is the length of completedIndexes and failedIndexes together (KEP-3850,
	// "The Job object too big").
	IndexBytes int
}

// WorstCase returns the most that a Job with this specification can come to under the
// engine, if it is not suspended. WorstCase fills in the defaults itself. For each number
// some run of the Job reaches it, with three exceptions, in which no run exceeds it:
//
//   - A success policy may end every such run before.
//   - Delays may last longer than activeDeadlineSeconds.
//   - With StartReadyIndexes, delays overlap, and an index that fails for good may have to wait
//     while others stay open. Then Runs alone is exact.
//
// WorstCase returns an error if s is nil. If the engine is invalid, or if
// [jobpolicy.JobSpec.Validate] refuses the specification's numbers or its completion
// mode, the error wraps field.Errors.
func WorstCase(e jobpolicy.Engine, s *batch.JobSpec) (WorstCaseResult, error) {
	if err := e.Validate(); err != nil {
		return WorstCaseResult{}, fmt.Errorf("lint: WorstCase: %w", err)
	}
	if s == nil {
		return WorstCaseResult{}, errors.New("lint: WorstCase(nil): a specification is needed")
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

// validateNumbers checks the counts, limits and completion mode of a
// specification, and nothing else.
func validateNumbers(s batch.JobSpec) error {
	s.PodFailurePolicy, s.SuccessPolicy, s.PodReplacementPolicy = nil, nil, ""
	s.Template.Spec.RestartPolicy = batch.RestartPolicyNever
	return s.Validate()
}
