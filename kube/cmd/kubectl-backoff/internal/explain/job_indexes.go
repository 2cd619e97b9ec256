package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// Index is an index that has failed pods and has not ended.
type Index struct {
	Index    int    `json:"index"`
	Failures int    `json:"failures"` // that count towards the limit per index
	Ignored  int    `json:"ignored,omitempty"`
	Pod      string `json:"pod"`             // its latest pod
	Start    *Start `json:"start,omitempty"` // of its next pod; nil while one is active
}

// indexes returns the indexes with failed pods that have not ended, in order.
func (j *jobView) indexes() []Index {
	if !j.planned || j.spec.CompletionMode != batch.IndexedCompletion || j.spec.BackoffLimitPerIndex == nil {
		return nil
	}
	ended := j.endedIndexes()
	latest := make(map[int]*batch.Pod)
	for _, p := range j.pods {
		i := p.CompletionIndex()
		if last := latest[i]; last == nil || laterAttempt(p, last) {
			latest[i] = p
		}
	}
	var all []Index
	for i, p := range latest {
		if i < 0 || ended.Contains(i) || p.Status.Phase == batch.PodSucceeded {
			continue
		}
		x := Index{Index: i, Pod: p.Name}
		x.Failures, x.Ignored = p.FailureCounts()
		if p.Status.Phase == batch.PodFailed {
			m := jobpolicy.MatchPod(j.spec.PodFailurePolicy, p)
			x.Failures, x.Ignored = m.NextCounts(x.Failures, x.Ignored)
			x.Start = j.indexStart(p, m, x)
		}
		if x.Failures > 0 || x.Ignored > 0 {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b Index) int { return cmp.Compare(a.Index, b.Index) })
	return all
}

// heldPlaces names the indexes that keep others from a place of parallelism while they wait
// for a delay, or returns "". The Job controller gives the places to the lowest open indexes,
// whether their delays are over or not.
func (j *jobView) heldPlaces() string {
	if j.engine.StartReadyIndexes { // waiting indexes hold no places
		return ""
	}
	var waiting []int
	for _, x := range j.indexes() {
		if x.Start != nil && x.Start.From.After(j.Now) {
			waiting = append(waiting, x.Index)
		}
	}
	if len(waiting) == 0 {
		return ""
	}
	served := slices.Clone(waiting)
	for _, p := range j.pods {
		if i := p.CompletionIndex(); i >= 0 && p.Status.Phase != batch.PodFailed {
			served = append(served, i)
		}
	}
	for _, n := range j.plan.Create {
		served = append(served, n.Index)
	}
	left := j.endedIndexes().With(served...).AppendAbsent(nil, 1, int(*j.spec.Completions))
	if len(left) == 0 {
		return ""
	}
	holders := indexset.Of(waiting...).Clip(left[0])
	switch holders.Len() {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; index %v holds a place while it waits for its delay", holders)
	}
	return fmt.Sprintf("; indexes %v hold places while they wait for their delays", holders)
}

// endedIndexes returns the indexes that have succeeded or failed. Unreadable parts of
// the status are left out.
func (j *jobView) endedIndexes() indexset.Set {
	completed, _ := j.job.Status.CompletedIndexSet()
	failed, _ := j.job.Status.FailedIndexSet()
	var now []int
	for i := range j.plan.Decisions {
		if d := &j.plan.Decisions[i]; d.IndexFailed {
			now = append(now, d.Index)
		}
	}
	return completed.Union(failed).With(now...)
}

// indexStart returns when the attempt after a failed pod starts, as far as its delay tells.
func (j *jobView) indexStart(p *batch.Pod, m jobpolicy.Match, x Index) *Start {
	failures := x.Failures + x.Ignored
	if j.engine.IgnoredDelay != jobpolicy.DelayLikeFailure {
		if failures = x.Failures; !m.Counted() {
			failures = x.Ignored
			if j.engine.IgnoredDelay == jobpolicy.NoDelay {
				failures = 0
			}
		}
	}
	delay := j.engine.Remaining(failures, 0)
	from := p.FinishTime().Add(delay)
	return &Start{From: from, To: from.Add(2 * time.Second), Why: fmt.Sprintf("the end of its last pod at %s and a delay of %s", clock(p.FinishTime(), j.Now), short(delay))}
}

// laterAttempt reports whether p is a later attempt of an index than q.
func laterAttempt(p, q *batch.Pod) bool {
	pf, pi := p.FailureCounts()
	qf, qi := q.FailureCounts()
	return cmp.Or(cmp.Compare(int64(pf)+int64(pi), int64(qf)+int64(qi)), p.CreationTimestamp.Compare(q.CreationTimestamp), cmp.Compare(p.Name, q.Name)) > 0
}
