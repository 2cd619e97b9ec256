package jobpolicy

import (
	"github.com/restartkit/restart/internal/count"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// NextCounts returns the failure counts for the replacement of a failed pod with this
// Match, given the index's counts before the failure. failures counts towards the limit
// per index; ignored does not. Both saturate at 2^31-1 (KEP-3850, "Tracking the number
// of failures per index").
func (m Match) NextCounts(failures, ignored int) (nextFailures, nextIgnored int) {
	failures, ignored = addCounts(max(failures, 0), 0), addCounts(max(ignored, 0), 0)
	if m.Counted() {
		return addCounts(failures, 1), ignored
	}
	return failures, addCounts(ignored, 1)
}

// IndexFailed reports whether a failed pod fails its index for good, because a
// FailIndex rule matched, or the failure is counted and failures exceeds limit.
// failures is the count after this failure, as returned by NextCounts, so a limit of 1
// allows two runs. With a nil limit no index fails.
func (m Match) IndexFailed(failures int, limit *int32) bool {
	return m.indexFailedAfter(max(failures, 1)-1, limit)
}

// indexFailedAfter is IndexFailed for the number of counted failures before this one,
// as carried by pods.
func (m Match) indexFailedAfter(before int, limit *int32) bool {
	switch {
	case limit == nil:
		return false
	case m.Action == batch.ActionFailIndex:
		return true
	}
	return m.Counted() && before >= int(*limit)
}

// addCounts returns the sum of two failure counts, at most maxCount.
func addCounts(a, b int) int { return min(a, maxCount-b) + b }

// maxCount is the highest failure count in an annotation.
const maxCount = count.Max
