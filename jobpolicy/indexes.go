package jobpolicy

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/restartkit/restart/indexset"
)

// readIndexes reads the status' index fields, leniently and against
// completions, and adds the ends of this pass.
//
// An index ends once: where the status says both, or an index succeeds that had
// failed, the first verdict stands; in one pass success comes first.
func (p *pass) readIndexes() {
	p.wasSucceeded = p.readField("completedIndexes", p.status.CompletedIndexes)
	var succeeded, failed []int
	for _, v := range p.pods {
		if v.tracked && v.inRange && v.Status.Phase == PodSucceeded {
			succeeded = append(succeeded, v.index)
		}
	}
	if !p.perIndex {
		p.succeeded = p.wasSucceeded.With(succeeded...)
		return
	}
	if p.status.FailedIndexes != nil {
		p.wasFailed = p.readField("failedIndexes", *p.status.FailedIndexes)
	}
	if both := p.wasFailed.Intersect(p.wasSucceeded); !both.IsZero() {
		p.note("status.failedIndexes: %s are in completedIndexes too and taken as completed", both)
		p.wasFailed = p.wasFailed.Minus(both)
	}
	for _, v := range p.pods {
		if v.tracked && v.inRange && v.failed && IndexFailed(p.match(v), v.failures, p.spec.BackoffLimitPerIndex) {
			failed = append(failed, v.index)
		}
	}
	p.succeeded = p.wasSucceeded.With(succeeded...).Minus(p.wasFailed)
	p.failed = p.wasFailed.Union(indexset.Of(failed...).Minus(p.succeeded))
}

func (p *pass) readField(field, text string) indexset.Set {
	set, report := indexset.ParseLenient(text)
	if report.First != nil {
		p.note("status.%s: %d items skipped, %d out of order; first: %v", field, report.Skipped, report.Reordered, report.First)
	}
	clipped := set.Clip(p.completions())
	if n := set.Len() - clipped.Len(); n > 0 {
		p.note("status.%s: %d indexes beyond completions %d are dropped", field, n, p.completions())
	}
	return clipped
}

// pending returns the n lowest indexes that have neither ended nor an active pod
// nor, where only ended pods are replaced, a terminating one; nor are they in
// waiting.
func (p *pass) pending(n int, waiting []int) []int {
	busy := append([]int(nil), waiting...)
	for _, v := range p.pods {
		if v.inRange && (v.active || v.terminating && p.spec.replaceOnlyFailed()) {
			busy = append(busy, v.index)
		}
	}
	return p.succeeded.Union(p.failed).With(busy...).AppendAbsent(nil, n, p.completions())
}

// keptPods returns, for every index that is to run again, the failed pod that
// its replacement follows: the one with most failures, then the latest end. It
// keeps its finalizer until the replacement exists, because its annotations are
// the only record of the failures (KEP-3850, "Tracking the number of failures
// per index").
func (p *pass) keptPods() (kept []*podView) {
	for first := 0; first < len(p.pods); {
		index := p.pods[first].index
		var last *podView
		active := false
		for ; first < len(p.pods) && p.pods[first].index == index; first++ {
			v := p.pods[first]
			active = active || v.active
			if v.tracked && v.inRange && v.failed && (last == nil || v.follows(last)) {
				last = v
			}
		}
		if last != nil && !active && !p.succeeded.Contains(index) && !p.failed.Contains(index) {
			kept = append(kept, last)
		}
	}
	return kept
}

// keptPod returns the kept pod of the index, nil if there is none.
func (p *pass) keptPod(index int) *podView {
	i, ok := slices.BinarySearchFunc(p.kept, index, func(v *podView, index int) int { return cmp.Compare(v.index, index) })
	if !ok {
		return nil
	}
	return p.kept[i]
}

// follows reports whether v rather than w is the last failed pod of their index.
func (v *podView) follows(w *podView) bool {
	a, b := addCounts(v.failures, v.ignored), addCounts(w.failures, w.ignored)
	if a != b {
		return a > b
	}
	return !v.finish().Before(w.finish())
}

// addCounts adds two failure counts and saturates.
func addCounts(a, b int) int { return min(a, maxCount-b) + b }

// generateName is the prefix of the names of an index's pods, cut so that what
// the API server appends still fits; the suffix stays whole. Without an index the
// API server does the cutting.
func generateName(job string, index int) string {
	if index < 0 {
		return job + "-"
	}
	const longest = 58
	suffix := "-" + strconv.Itoa(index) + "-"
	return job[:min(len(job), longest-len(suffix))] + suffix
}
