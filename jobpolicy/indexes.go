package jobpolicy

import (
	"strconv"

	"github.com/restartkit/restart/indexset"
)

// readIndexes reads the status' index fields, leniently and against
// completions, and adds the ends of this pass.
//
// An index ends once: where the status says both, or an index succeeds that had
// failed, the first verdict stands; in one pass success comes first.
//
// For an index that is to run again the last failed pod is kept: it keeps its
// finalizer until the replacement exists, because its annotations are the only
// record of the failures (KEP-3850, "Tracking the number of failures per index").
func (p *pass) readIndexes() {
	p.wasSucceeded = p.readField("completedIndexes", p.status.CompletedIndexes)
	if p.perIndex && p.status.FailedIndexes != nil {
		p.wasFailed = p.readField("failedIndexes", *p.status.FailedIndexes)
	}
	if both := p.wasFailed.Intersect(p.wasSucceeded); !both.IsZero() {
		p.note("status.failedIndexes: %s are in completedIndexes too and taken as completed", both)
		p.wasFailed = p.wasFailed.Minus(both)
	}
	var succeeded, failed []int
	for rest := p.pods; len(rest) > 0; {
		var same []*podView
		same, rest = cutIndex(rest)
		index := same[0].index
		if !same[0].inRange || p.wasFailed.Contains(index) {
			continue
		}
		now := p.readIndex(same)
		switch {
		case now.succeeded:
			succeeded = append(succeeded, index)
		case now.lastFailed == nil || p.wasSucceeded.Contains(index):
		case now.failed:
			failed = append(failed, index)
		case !now.active:
			now.lastFailed.kept = true
			p.kept = append(p.kept, now.lastFailed)
		}
	}
	p.succeeded = p.wasSucceeded.With(succeeded...)
	p.failed = p.wasFailed.With(failed...)
}

// cutIndex splits off the pods that have the index of the first one.
func cutIndex(pods []*podView) (same, rest []*podView) {
	n := 1
	for n < len(pods) && pods[n].index == pods[0].index {
		n++
	}
	return pods[:n], pods[n:]
}

// indexNow is what the pods of one index show.
type indexNow struct {
	active            bool     // one is active
	succeeded, failed bool     // by a pod that is not counted yet
	lastFailed        *podView // of those with most failures, the one that ended last; nil without a limit per index
}

func (p *pass) readIndex(pods []*podView) (now indexNow) {
	for _, v := range pods {
		switch {
		case v.active:
			now.active = true
		case !v.tracked:
		case v.succeeded:
			now.succeeded = true
		case v.failed && p.perIndex:
			now.failed = now.failed || p.match(v).indexFailedAfter(v.failures, p.spec.BackoffLimitPerIndex)
			if now.lastFailed == nil || v.follows(now.lastFailed) {
				now.lastFailed = v
			}
		}
	}
	return now
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

// keptPods returns a function that returns the kept pod of an index, nil if there
// is none, for indexes that rise from call to call.
func (p *pass) keptPods() func(index int) *podView {
	rest := p.kept
	return func(index int) *podView {
		for len(rest) > 0 && rest[0].index < index {
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0].index == index {
			return rest[0]
		}
		return nil
	}
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
