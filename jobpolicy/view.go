package jobpolicy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/restartkit/restart/indexset"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// view is what a plan is decided on: the Engine, the Input and what was worked out
// of them. Nothing of it changes once observe has returned it.
type view struct {
	engine Engine
	in     Input         // its State is that of this Job
	spec   batch.JobSpec // with defaults

	indexed  bool
	perIndex bool // Indexed, with a limit per index
	indexes       // of an Indexed Job

	pods []*podView // each once, in the order of index and UID
	podCounts

	startTime time.Time     // of the Job: its status', or now; zero if it has none and is suspended
	olderFor  time.Duration // how much longer the Job is taken for older than what was written; 0: it is not
	notes     notes
}

// completions is the number of indexes of an Indexed Job.
func (v *view) completions() int { return max(int(*v.spec.Completions), 0) }

// replaceOnlyFailed reports whether a pod that is being deleted is replaced only
// once it has ended. With a failure policy that is the default, and no API server takes
// anything else.
func replaceOnlyFailed(s *batch.JobSpec) bool {
	return s.PodReplacementPolicy == batch.PodReplacementFailed
}

// podView is a pod with what there is to know of it, worked out once.
type podView struct {
	*batch.Pod
	index             int // completion index; -1: none, or the Job is NonIndexed
	failures, ignored int // of its index, before it

	inRange     bool // its end can count: NonIndexed, or the index is one of the Job's
	tracked     bool // it has the tracking finalizer: its end has not been counted for good
	untracked   bool // its end counts nothing because it never had the finalizer
	released    bool // the caller has taken its finalizer off
	counted     bool // its end was dealt with and its finalizer taken off before; it may be shown as it was
	handled     bool // its end was decided on by an earlier plan
	recorded    recorded
	active      bool // neither finished nor being deleted
	terminating bool // not finished, being deleted
	succeeded   bool // counts as succeeded
	failed      bool // counts as failed; while it terminates only if it may be replaced at once
	predecessor bool // the next attempt of its index continues its counts: it is not released before that exists
	failsIndex  bool // its index fails with it, in this plan
	misread     bool // an annotation does not hold the number that it is read as

	match  Match     // what the policy says, if it has failed
	finish time.Time // when it ended, if it has succeeded or failed
}

// recorded says in which list of the status' uncounted pods a pod is.
type recorded uint8

const (
	unrecorded recorded = iota
	recordedSucceeded
	recordedFailed
)

// newlyEnded reports whether the pod's end counts and is not recorded yet.
func (p *podView) newlyEnded() bool {
	return p.tracked && p.inRange && (p.succeeded || p.failed) && p.recorded == unrecorded
}

// endIsNew reports whether the pod has ended and no status says so yet, because its
// end was not recorded or because it counts nothing.
func (p *podView) endIsNew() bool { return p.newlyEnded() || p.untracked }

func (p *podView) ref() PodRef { return PodRef{Name: p.Name, UID: p.UID} }

// identity tells the pod from others of the Job, in the status and the State
// too: its UID, or its name where whoever made it gives none.
func (p *podView) identity() string {
	if p.UID == "" {
		return p.Name
	}
	return p.UID
}

// indexes are an Indexed Job's indexes by what has become of them.
type indexes struct {
	succeeded, failed       indexset.Set // with those that end in this plan
	wasSucceeded, wasFailed indexset.Set // as the status has them
	allSucceeded            indexset.Set // wasSucceeded with indexes beyond completions
	predecessors            []*podView   // by index: the failed pods whose next attempts are to come
}

// predecessor returns the predecessor of the index's next attempt, nil if that is
// the first.
func (x *indexes) predecessor(index int) *podView {
	i, ok := slices.BinarySearchFunc(x.predecessors, index, func(p *podView, index int) int { return cmp.Compare(p.index, index) })
	if !ok {
		return nil
	}
	return x.predecessors[i]
}

// podCounts are the pods by what has become of them.
type podCounts struct {
	active, ready, terminating int
	succeededPods, failedPods  int // with those that earlier plans counted; of an Indexed Job succeeded indexes
	ended                      int // whose end is not in the status yet
}

// notes say what could not be read or was left out.
type notes []string

func (n *notes) add(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }
