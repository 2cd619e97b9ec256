package lint

import (
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// indexBytes returns the length of the longest index fields.
//
// Fields are longest when they name as many indexes as possible one by one, and high
// ones, which have the most digits. A run of completed indexes takes two names
// regardless of its length. The fields therefore need indexes that separate runs,
// either failed ones, named in failedIndexes, or open ones, which have not ended yet.
//
// An index starts only if at most parallelism-1 lower ones are open, so an ended index
// has no more open ones below it. Indexes fail through counted failures. More than
// backoffLimit of them, or more failed indexes than maxFailedIndexes, end the Job. The
// failures of the last pods, which end together, are therefore free.
func (w worstCase) indexBytes() int {
	if w.spec.CompletionMode != batch.IndexedCompletion {
		return 0
	}
	bytes := fieldBytes(w.completions, 0, w.parallelism-1)
	switch {
	case !w.perIndex:
	case w.engine.StartReadyIndexes && (w.ignores && w.engine.IgnoredDelay != jobpolicy.NoDelay || *w.spec.BackoffLimitPerIndex > 0):
		bytes = max(bytes, w.bytesWithWaiting())
	default:
		bytes = max(bytes, w.bytesWithFailed())
	}
	return saturated(bytes)
}

// failedLimits returns the number of counted failures that fail an index, and the
// numbers of failures and of failed indexes that the Job tolerates.
func (w worstCase) failedLimits() (each, failures, indexes int64) {
	each, failures, indexes = int64(*w.spec.BackoffLimitPerIndex)+1, int64(*w.spec.BackoffLimit), w.completions
	if w.failsIndex {
		each = 1
	}
	if w.spec.MaxFailedIndexes != nil {
		indexes = min(indexes, int64(*w.spec.MaxFailedIndexes))
	}
	return each, failures, indexes
}

// bytesWithFailed returns the length of the longest fields with failed indexes.
//
// As few indexes as possible fail with the last pods, because these take the places of
// open indexes. The highest index fails with them, or it ended before and left them one
// place less.
func (w worstCase) bytesWithFailed() (longest int64) {
	each, failures, indexes := w.failedLimits()
	// A failed index makes the fields longer than an open one. Start at the highest
	// number of failed indexes up to which each takes at most one place.
	failed := failures / each
	if each == 1 {
		failed = failures + w.parallelism
	}
	failed = min(failed, indexes+w.parallelism, allNamed(w.completions))
	for ; failed <= allNamed(w.completions); failed++ {
		last := max(failed-indexes, each*failed-failures, 0)
		if last > min(failed, w.parallelism) {
			break
		}
		if last < w.parallelism {
			longest = max(longest, fieldBytes(w.completions, failed, w.parallelism-1-last))
		}
		if last > 0 {
			longest = max(longest, fieldBytesLastFailed(w.completions, failed, w.parallelism-last))
		}
	}
	return longest
}

// bytesWithWaiting returns an upper bound of the length of the fields if waiting
// indexes, which have failed once, leave their places to others. It ignores the time in
// which other indexes fail and the positions of the indexes that fail last.
func (w worstCase) bytesWithWaiting() (longest int64) {
	each, failures, indexes := w.failedLimits()
	for failed := range allNamed(w.completions) + 1 {
		last := min(failed, w.parallelism)
		if failed-last > indexes || each*failed-last > failures {
			break
		}
		open := failures - each*failed + w.parallelism
		if w.ignores {
			open = w.completions
		}
		longest = max(longest, fieldBytes(w.completions, failed, open))
	}
	return longest
}

// allNamed returns how many of n indexes must fail for the fields to name all n.
func allNamed(n int64) int64 { return n/3 + 1 }

// fieldBytes returns the length of the longest fields for n indexes with at most the
// given numbers of failed and open ones. From the top, every third index has failed.
// Below these, every third one is open. The rest is one run of completed indexes.
func fieldBytes(n, failed, open int64) int64 {
	bytes := separatedBytes(n, failed, open) - 1 // no separator at the end of a field
	if failed > 0 && n > 2 {
		bytes--
	}
	return bytes
}

// fieldBytesLastFailed is fieldBytes for a failed highest index.
func fieldBytesLastFailed(n, failed, open int64) int64 {
	bytes := namedBytes(n-1, n, 1) + separatedBytes(n-1, failed-1, open) - 1
	if n > 1 {
		bytes--
	}
	return bytes
}

// separatedBytes returns the length of both fields, with a separator after each index.
func separatedBytes(n, failed, open int64) int64 {
	below := n - min(3*failed, n)
	bytes := namedBytes(below, n, 1)
	top := below
	below -= 3 * min(open, below/3)
	bytes += namedBytes(below, top, 1) - namedBytes(below, top, 3)
	if below > 0 {
		bytes += namedBytes(below-1, below, 1)
	}
	if below > 1 {
		bytes += namedBytes(0, 1, 1)
	}
	return bytes
}

// namedBytes returns the length of first, first+step, … below end as text, each with a
// separator.
func namedBytes(first, end, step int64) (bytes int64) {
	low, high := int64(0), int64(10)
	for digits := int64(1); low < end; digits++ {
		if from, to := max(first, low), min(end, high); from < to {
			below := func(i int64) int64 { return (i - first + step - 1) / step }
			bytes += (digits + 1) * (below(to) - below(from))
		}
		low, high = high, 10*high
	}
	return bytes
}
