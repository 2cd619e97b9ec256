package jobpolicy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// view is the basis of a decision, built by observe from the Engine and the Input. It
// does not change afterwards.
type view struct {
	engine Engine
	in     Input         // with the State of this Job
	spec   batch.JobSpec // with defaults

	indexed  bool
	perIndex bool // Indexed, with a limit per index
	indexes       // of an Indexed Job

	pods []*podView // without duplicates, by index and UID
	podCounts

	startTime time.Time     // of the Job, now if it just started, zero if suspended without a start
	olderFor  time.Duration // how much longer to treat the status as older than the last one written; 0 if it is current
	notes     notes
}

// completions returns the number of indexes of an Indexed Job.
func (v *view) completions() int { return max(int(*v.spec.Completions), 0) }

// replaceOnlyFailed reports whether a pod being deleted is replaced only after it has
// ended. This is the default with a failure policy, and API servers accept no other
// value there.
func replaceOnlyFailed(s *batch.JobSpec) bool {
	return s.PodReplacementPolicy == batch.PodReplacementFailed
}

// podView is a pod with everything that observe derives from it.
type podView struct {
	*batch.Pod
	index             int // completion index, -1 if absent or NonIndexed
	failures, ignored int // of its index, before this pod

	inRange     bool // the pod's end can count, because the Job is NonIndexed or the index is one of its own
	tracked     bool // has the tracking finalizer, and its end has not been counted for good
	untracked   bool // never had the finalizer, so its end counts nothing
	released    bool // the caller has removed its finalizer
	counted     bool // settled and released by an earlier plan, though Pods may show it as before
	handled     bool // its end was decided on by an earlier plan
	recorded    recorded
	active      bool // neither finished nor being deleted
	terminating bool // not finished, being deleted
	succeeded   bool // counts as succeeded
	failed      bool // counts as failed; a terminating pod does only if it may be replaced at once
	predecessor bool // last failed pod of an index, held until the next attempt exists and carries its counts
	failsIndex  bool // its index fails with it, in this plan
	misread     bool // an annotation does not hold a valid number

	match  Match     // of the policy, if the pod has failed
	finish time.Time // when the pod ended, if it succeeded or failed
}

// recorded says which of the status' lists of uncounted pods contains a pod.
type recorded uint8

const (
	unrecorded recorded = iota
	recordedSucceeded
	recordedFailed
)

// newlyEnded reports whether the pod's end counts and is not yet recorded.
func (p *podView) newlyEnded() bool {
	return p.tracked && p.inRange && (p.succeeded || p.failed) && p.recorded == unrecorded
}

// endIsNew reports whether the pod has ended and is not in the status, because its end
// is not yet recorded or counts nothing.
func (p *podView) endIsNew() bool { return p.newlyEnded() || p.untracked }

func (p *podView) ref() PodRef { return PodRef{Name: p.Name, UID: p.UID} }

// identity returns the pod's UID, or its name if it has none. It identifies the pod
// within the Job, the status and the State.
func (p *podView) identity() string {
	if p.UID == "" {
		return p.Name
	}
	return p.UID
}

// indexes are the indexes of an Indexed Job by outcome.
type indexes struct {
	succeeded, failed       indexset.Set // including those that end in this plan
	wasSucceeded, wasFailed indexset.Set // in the status
	allSucceeded            indexset.Set // wasSucceeded and indexes beyond completions
	predecessors            []*podView   // by index, the failed pods whose next attempts do not exist yet
}

// predecessor returns the predecessor of the index's next attempt, nil before the
// first.
func (x *indexes) predecessor(index int) *podView {
	i, ok := slices.BinarySearchFunc(x.predecessors, index, func(p *podView, index int) int { return cmp.Compare(p.index, index) })
	if !ok {
		return nil
	}
	return x.predecessors[i]
}

// podCounts are the numbers of pods by outcome.
type podCounts struct {
	active, ready, terminating int
	succeededPods, failedPods  int // including those of earlier plans; of an Indexed Job, succeeded indexes
	ended                      int // ended but not yet in the status
}

// notes describe unreadable or skipped input.
type notes []string

func (n *notes) add(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }
