package jobpolicy

import "github.com/restartkit/restart/jobpolicy/batch"

// NextCounts returns the failure counts of an index after a failed pod of which
// the policy said m, from those before it: failures counts towards the limit per
// index, ignored does not. The replacement carries them. Negative counts are 0,
// and both saturate at 2^31-1, the most that the annotations hold (KEP-3850,
// "Tracking the number of failures per index").
func (m Match) NextCounts(failures, ignored int) (nextFailures, nextIgnored int) {
	failures, ignored = addCounts(max(failures, 0), 0), addCounts(max(ignored, 0), 0)
	if m.Counted() {
		return addCounts(failures, 1), ignored
	}
	return failures, addCounts(ignored, 1)
}

// IndexFailed reports whether a failed pod fails its index for good: a FailIndex
// rule matched it, or it counts and is one failure more than the limit. failures
// is the number of counted failures of the index with this one, as NextCounts
// returns it, so that a limit of 1 allows two runs; a number below 1 counts as 1.
// A nil limit is no limit per index, and no index fails then.
func (m Match) IndexFailed(failures int, limit *int32) bool {
	return m.indexFailedAfter(max(failures, 1)-1, limit)
}

// indexFailedAfter is IndexFailed by the counted failures before this one, which
// pods carry.
func (m Match) indexFailedAfter(before int, limit *int32) bool {
	switch {
	case limit == nil:
		return false
	case m.Action == batch.ActionFailIndex:
		return true
	}
	return m.Counted() && before >= int(*limit)
}

// addCounts adds two failure counts and saturates.
func addCounts(a, b int) int { return min(a, maxCount-b) + b }

// maxCount is the highest failure count that an annotation holds.
const maxCount = 1<<31 - 1
