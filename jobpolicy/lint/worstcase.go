package lint

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"time"

	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// WorstCaseResult bounds what a Job can do through failures of its own programs, without
// changes of the Job or manual deletions, and says whether disruptions add to that.
// Numbers saturate.
type WorstCaseResult struct {
	// Runs is the number of pods created, without restarts in place. With
	// activeDeadlineSeconds it leaves out those whose delays end after the deadline.
	Runs int

	// Unbounded is set if a rule ignores failures of the Job's own programs, so that
	// only activeDeadlineSeconds ends the replacements, if it is set. Runs is then the
	// largest int. To warn that nothing ends a Job, look for KindEndless.
	Unbounded bool

	// IgnoresDisruptions is set if a rule ignores disruptions, such as a drained node.
	// Then each disruption adds one pod to the number in Runs, and nothing limits the
	// number of disruptions. If it is not set, disruptions count as failures, and Runs
	// includes the pods that replace disrupted ones. A rule sets it even behind another one
	// that matches the exit codes of killed containers, 137 and 143, because it ignores the
	// disrupted pods in which no container has failed, such as those of a lost node.
	IgnoresDisruptions bool

	// Wait is the total delay before the replacements in Runs. If Unbounded is set, only
	// activeDeadlineSeconds limits it, except with NoDelay.
	Wait time.Duration

	// IndexBytes bounds the length of completedIndexes and failedIndexes together
	// (KEP-3850, "The Job object too big").
	IndexBytes int
}

// WorstCase returns bounds of what a Job with this specification can do under the
// engine while not suspended. It applies the defaults. No run exceeds the bounds.
//
// IndexBytes is an upper bound. Some run reaches each of the other numbers, with these
// exceptions:
//
//   - A success policy may end every such run earlier.
//   - Delays may last longer than activeDeadlineSeconds. Fewer pods may fit into it if
//     the Job has several completions, or a first delay above the longest one.
//   - With StartReadyIndexes delays overlap.
//   - An Ignore or FailIndex rule may be unreachable because of several rules together,
//     which WorstCase does not see.
//
// WorstCase takes conditions that [Check] reports as [KindUnknownCondition] for ones that
// no pod has. A controller that sets such a condition makes runs possible that exceed the
// bounds.
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
	spec.PodFailurePolicy = withinBounds(spec.PodFailurePolicy)
	w := newWorstCase(e, &spec)
	if w.nothingRuns() {
		return WorstCaseResult{}, nil
	}
	b := WorstCaseResult{Runs: w.runs(), IgnoresDisruptions: w.ignoresDisruptions, Wait: w.wait(), IndexBytes: w.indexBytes()}
	if w.ignoresOwn {
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

// worstCase holds the facts that the bounds depend on.
type worstCase struct {
	engine      jobpolicy.Engine
	spec        *batch.JobSpec // with defaults
	parallelism int64
	completions int64 // 0 for a Job without
	perIndex    bool

	// What some rule may decide.
	ignoresOwn         bool // to ignore failures of the Job's own programs
	ignoresDisruptions bool // to ignore disruptions
	failsIndex         bool // to fail an index at once
}

func newWorstCase(e jobpolicy.Engine, s *batch.JobSpec) worstCase {
	w := worstCase{engine: e, spec: s, parallelism: int64(*s.Parallelism)}
	if s.Completions != nil {
		w.completions = int64(*s.Completions)
	}
	w.perIndex = s.CompletionMode == batch.IndexedCompletion && s.BackoffLimitPerIndex != nil
	c := checker{spec: *s}
	for i := range rulesOf(s) {
		rule, decides := c.effective(i)
		if !decides {
			continue
		}
		w.ignoresOwn = w.ignoresOwn || ignoresOwnFailures(&rule)
		w.ignoresDisruptions = w.ignoresDisruptions || rule.Action == batch.ActionIgnore && matchesDisruption(&rule)
		w.failsIndex = w.failsIndex || rule.Action == batch.ActionFailIndex
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

// together returns the greatest number of pods that run at once.
func (w worstCase) together() int64 {
	if w.spec.Completions == nil {
		return w.parallelism
	}
	return min(w.parallelism, w.completions)
}

// failuresInTime returns the number of failures whose replacements start before the
// deadline, if pods take no time. It is at most failures.
func (w worstCase) failuresInTime() int64 {
	limit := w.failures()
	if w.spec.ActiveDeadlineSeconds == nil {
		return limit
	}
	deadline := mulSaturating(*w.spec.ActiveDeadlineSeconds, int64(time.Second))
	if w.perIndex {
		return min(limit, w.failuresOfIndexes(deadline, w.together()))
	}
	return w.replacedBefore(deadline, limit, w.together())
}

// replacedBefore returns how many of at most limit failures, of at most together pods at
// once, can be replaced before the deadline. With a limit per index they are those of one
// index.
func (w worstCase) replacedBefore(deadline, limit, together int64) int64 {
	return int64(sort.Search(int(min(limit, math.MaxInt32)), func(n int) bool { return w.leastWait(int64(n)+1, together) >= deadline }))
}

// leastWait returns the least time in which n failures, of at most together pods at
// once, are all replaced. It does not decrease with n.
func (w worstCase) leastWait(n, together int64) (sum int64) {
	most := w.delay(math.MaxInt32)
	if w.completions > 1 && !w.perIndex {
		// A success starts the delays over, and lets pods that failed beside it be
		// replaced at once.
		n = max(n-mulSaturating(w.completions-1, together-1), 0)
		return mulSaturating((n+together-1)/together, min(w.delay(1), most))
	}
	// There is one streak of failures. Each replacement waits for the delay after all
	// failures so far, so the least waiting has as few replacements as possible.
	if w.delay(1) >= most { // all delays are the longest, or only the first one is longer
		return mulSaturating((n+together-1)/together, most)
	}
	// The delay doubles, so it is the longest one after more failures than this.
	const doublings = 64
	if far := (n - doublings) / together; far > 0 {
		sum, n = mulSaturating(far, most), n-far*together
	}
	for ; n > 0; n -= together {
		sum = addSaturating(sum, w.delay(n))
	}
	return sum
}

// failuresOfIndexes returns a bound of the failures that are replaced before the deadline
// if each index has delays of its own. A waiting index takes one of so many slots.
func (w worstCase) failuresOfIndexes(deadline, slots int64) (failures int64) {
	left, waited := mulSaturating(deadline, slots), int64(0)
	most, limit := w.delay(math.MaxInt32), int64(*w.spec.BackoffLimitPerIndex)
	for n := int64(1); n <= limit; n++ {
		delay, times := min(w.delay(n), most), int64(1)
		if delay == most { // as are all further ones
			times = min(limit-n+1, max((deadline-1-waited)/most, 0))
			n = limit
		}
		if waited = addSaturating(waited, delay); waited >= deadline {
			break
		}
		fit := mulSaturating(w.completions, times)
		if !w.engine.StartReadyIndexes {
			fit = min(fit, left/delay)
		}
		failures = addSaturating(failures, fit)
		left -= min(left, mulSaturating(fit, delay))
	}
	return failures
}

// runs returns the maximum number of pods. Besides the replaced failures, every pod has
// succeeded or is active, and these pods number at most completions. Without
// completions no pod is created after a success.
func (w worstCase) runs() int {
	others := w.completions
	if w.spec.Completions == nil {
		others = w.parallelism
	}
	return saturated(others + w.failuresInTime())
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

// indexBytes returns an upper bound of the length of the index fields: the number of
// indexes that they name, times the length of the highest indexes.
//
// A run of completed indexes takes two names, whatever its length. Runs are separated by
// indexes that are open, which means not ended, or that have failed. Failed indexes are
// named one by one in a field of their own.
//
// An index starts only if fewer than parallelism indexes below it are open. So an ended
// index has at most parallelism-1 open ones below it. The last pods of a Job may fail
// together, beyond what the Job tolerates, but each of them is then one open index less.
func (w worstCase) indexBytes() int {
	var names int64
	switch {
	case w.spec.CompletionMode != batch.IndexedCompletion:
		return 0
	case !w.perIndex: // at least every third index is open
		names = min(2*w.parallelism, (2*w.completions+2)/3)
	case w.engine.StartReadyIndexes: // waiting indexes are open, in any number
		names = w.completions
	default:
		failed := w.tolerated() + w.parallelism
		names = 2*(failed+1) + failed
	}
	names = min(names, w.completions)
	return saturated(namedBytes(w.completions-names, w.completions) - 1)
}

// tolerated returns the number of failed indexes that do not end the Job.
func (w worstCase) tolerated() int64 {
	failuresOfEach := int64(*w.spec.BackoffLimitPerIndex) + 1
	if w.failsIndex {
		failuresOfEach = 1
	}
	indexes := int64(*w.spec.BackoffLimit) / failuresOfEach
	if w.spec.MaxFailedIndexes != nil {
		indexes = min(indexes, int64(*w.spec.MaxFailedIndexes))
	}
	return indexes
}

// namedBytes returns the length of the numbers from first to below end, each with a
// separator.
func namedBytes(first, end int64) (bytes int64) {
	low, high := int64(0), int64(10)
	for digits := int64(1); low < end; digits++ {
		if from, to := max(first, low), min(end, high); from < to {
			bytes += (digits + 1) * (to - from)
		}
		low, high = high, 10*high
	}
	return bytes
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
