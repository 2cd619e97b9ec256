package jobpolicy

import (
	"cmp"
	"slices"

	"github.com/restartkit/restart/indexset"
)

// indexes are the indexes of an Indexed Job by outcome.
type indexes struct {
	succeeded, failed       indexset.Set // including those that end in this plan
	wasSucceeded, wasFailed indexset.Set // in the status
	allSucceeded            indexset.Set // wasSucceeded and indexes beyond completions
	predecessors            []*podView   // by index, the failed pods whose replacements do not exist yet
}

// predecessor returns the last failed pod of the index, whose counts its next pod
// carries. It is nil before the first failure.
func (x *indexes) predecessor(index int) *podView {
	i, ok := slices.BinarySearchFunc(x.predecessors, index, func(p *podView, index int) int { return cmp.Compare(p.index, index) })
	if !ok {
		return nil
	}
	return x.predecessors[i]
}

// observeIndexes reads the index fields of the status with indexset.ParseLenient, drops
// indexes beyond completions, and adds the indexes that end with pods not yet recorded.
//
// An index ends once, either succeeded or failed, and the end that the status records
// stands. An index in both fields has succeeded. So has an index with a new
// success and a new failure in the same plan.
//
// If an index will run again, its last failed pod is the predecessor of the next one.
// The predecessor keeps its finalizer until the next pod exists, because its annotations
// are the only record of the failures (KEP-3850, "Tracking the number of failures per
// index").
func (v *view) observeIndexes() (x indexes, notes notes) {
	status := &v.in.Job.Status
	x.wasSucceeded, x.allSucceeded = v.readField("completedIndexes", status.CompletedIndexes, &notes)
	if v.perIndex && status.FailedIndexes != nil {
		x.wasFailed, _ = v.readField("failedIndexes", *status.FailedIndexes, &notes)
	}
	if both := x.wasFailed.Intersect(x.wasSucceeded); !both.IsZero() {
		notes.add("status.failedIndexes: %s are in completedIndexes too and taken as completed", both)
		x.wasFailed = x.wasFailed.Minus(both)
	}
	var succeeded, failed []int
	for rest := v.pods; len(rest) > 0; {
		var same []*podView
		same, rest = sameIndex(rest)
		index := same[0].index
		if !same[0].inRange {
			continue
		}
		now := v.observeIndex(same)
		switch {
		case x.wasFailed.Contains(index):
		case now.succeeded:
			succeeded = append(succeeded, index)
		case now.lastFailed == nil || x.wasSucceeded.Contains(index):
		case now.failed:
			failed = append(failed, index)
			for _, p := range same {
				if v.failsIndex(p) {
					p.role = roleFailsIndex
				}
			}
		case !now.active:
			now.lastFailed.role = rolePredecessor
			x.predecessors = append(x.predecessors, now.lastFailed)
		}
	}
	x.succeeded = x.wasSucceeded.With(succeeded...)
	x.failed = x.wasFailed.With(failed...)
	return x, notes
}

// readField parses an index field of the status. set holds only the indexes below
// completions.
func (v *view) readField(field, text string, notes *notes) (set, all indexset.Set) {
	all, report := indexset.ParseLenient(text)
	if report.First != nil {
		notes.add("status.%s: %d items skipped, %d out of order; first: %v", field, report.Skipped, report.Reordered, report.First)
	}
	set = all.Clip(v.completions())
	if n := all.Len() - set.Len(); n > 0 {
		notes.add("status.%s: %d indexes beyond completions %d are dropped", field, n, v.completions())
	}
	return set, all
}

// indexNow summarizes the pods that one index has now.
type indexNow struct {
	active            bool     // one of them is active
	succeeded, failed bool     // through a pod without a count yet
	lastFailed        *podView // last to end among those with the most failures; nil without a limit per index
}

func (v *view) observeIndex(pods []*podView) (now indexNow) {
	for _, p := range pods {
		switch {
		case p.active():
			now.active = true
		case !p.tracked():
		case p.succeeded():
			now.succeeded = true
		case p.failed() && v.perIndex:
			now.failed = now.failed || v.failsIndex(p)
			if now.lastFailed == nil || p.follows(now.lastFailed) {
				now.lastFailed = p
			}
		}
	}
	return now
}

// failsIndex reports whether the pod fails its index, assuming that the index has not
// ended.
func (v *view) failsIndex(p *podView) bool {
	return p.tracked() && p.failed() && p.match.indexFailedAfter(p.failures, v.spec.BackoffLimitPerIndex)
}

// follows reports whether p rather than q is the last failed pod of their index. That is
// the pod with more failures before it or, if these are equal, the one that ended later.
func (p *podView) follows(q *podView) bool {
	a, b := addCounts(p.failures, p.ignored), addCounts(q.failures, q.ignored)
	if a != b {
		return a > b
	}
	return !p.finish.Before(q.finish)
}
