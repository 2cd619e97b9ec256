package jobpolicy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/restartkit/restart/field"
	"github.com/restartkit/restart/internal/count"
	"github.com/restartkit/restart/jobpolicy/batch"
)

// podView is a pod with everything that observe derives from it.
type podView struct {
	*batch.Pod
	index             int // completion index, -1 if absent or NonIndexed
	failures, ignored int // failures of its index before this pod, as its annotations say

	stage    stage
	tracking tracking
	role     role

	inRange bool // its end can count: the Job is NonIndexed, or the index is one of the Job's
	handled bool // an earlier plan decided on its end
	misread bool // one of its annotations does not hold a valid number

	match  Match     // of the pod failure policy, if the pod has failed
	finish time.Time // when the pod ended, if it succeeded or failed
}

// stage says whether a pod runs, and how its end counts.
type stage uint8

const (
	stageActive      stage = iota // neither finished nor being deleted
	stageTerminating              // being deleted, replaced only once it has ended
	stageReplaceable              // being deleted, counts as failed and may be replaced at once
	stageSucceeded
	stageFailed
)

func (p *podView) active() bool { return p.stage == stageActive }

// terminating reports whether the pod is being deleted and has not ended yet.
func (p *podView) terminating() bool {
	return p.stage == stageTerminating || p.stage == stageReplaceable
}

func (p *podView) succeeded() bool { return p.stage == stageSucceeded }

// failed reports whether the pod counts as failed. A pod being deleted does if it may be
// replaced at once.
func (p *podView) failed() bool { return p.stage == stageFailed || p.stage == stageReplaceable }

// tracking says how far the end of a pod has been counted. Counting takes three steps, so
// that a crash between them loses nothing: the status names the pod as uncounted, the
// pod's tracking finalizer is removed, and a later status counts the pod.
type tracking uint8

const (
	trackingNone     tracking = iota // no finalizer, and nothing else tells whether its end was counted
	trackingOpen                     // has the finalizer, and the status does not name it
	trackingRecorded                 // has the finalizer, and the status names it as uncounted
	trackingFreed                    // the status names it as uncounted, and its finalizer is gone
	trackingReleased                 // the caller has removed its finalizer, and the status does not name it
	trackingCounted                  // counted by an earlier plan, though Pods may show it as before
	trackingNever                    // never had the finalizer, so its end counts nothing
)

// tracked reports whether the pod has the tracking finalizer and its end has not been
// counted for good.
func (p *podView) tracked() bool {
	return p.tracking == trackingOpen || p.tracking == trackingRecorded
}

// recorded reports whether the status names the pod as uncounted.
func (p *podView) recorded() bool {
	return p.tracking == trackingRecorded || p.tracking == trackingFreed
}

// role says what a failed pod means for its index.
type role uint8

const (
	roleNone        role = iota
	rolePredecessor      // the last failed pod of an index that will run again, kept until its replacement exists
	roleFailsIndex       // this plan decides that the index fails because of this pod
)

// newlyEnded reports whether the pod's end counts and is not yet recorded.
func (p *podView) newlyEnded() bool {
	return p.tracking == trackingOpen && p.inRange && (p.succeeded() || p.failed())
}

// endIsNew reports whether the pod has ended and is not in the status, because its end
// is not yet recorded or counts nothing.
func (p *podView) endIsNew() bool { return p.newlyEnded() || p.tracking == trackingNever }

func (p *podView) ref() PodRef { return PodRef{Name: p.Name, UID: p.UID} }

// identity returns the pod's UID, or its name if it has none. It identifies the pod
// within the Job, the status and the State.
func (p *podView) identity() string { return identityOf(p.Pod) }

func identityOf(pod *batch.Pod) string {
	if pod.UID == "" {
		return pod.Name
	}
	return pod.UID
}

// observePods builds a podView for every pod, ordered by index and UID. Of pods with the
// same identity it uses the first in the Input. It returns an error for a pod without an
// identity.
func (v *view) observePods(known known) (pods []*podView, notes notes, err error) {
	all := make([]podView, 0, len(v.in.Pods)) // never grows, so that pointers to its elements stay valid
	pods = make([]*podView, 0, len(v.in.Pods))
	seen := make(map[string]struct{}, len(v.in.Pods))
	for i, pod := range v.in.Pods {
		if pod == nil {
			notes.add("a nil pod was left out")
			continue
		}
		id := identityOf(pod)
		if id == "" {
			return nil, nil, field.Errors{{Field: fmt.Sprintf("Pods[%d]", i), Type: field.Required, Detail: "a pod needs a UID or a name"}}
		}
		if _, twice := seen[id]; twice {
			notes.add("pod %s was left out: %s occurs twice", pod.Name, id)
			continue
		}
		seen[id] = struct{}{}
		p := v.podView(pod, known)
		p.match = noMatch
		if p.succeeded() || p.failed() {
			p.finish, p.handled = pod.FinishTime(), known.handled[id]
		}
		if p.failed() {
			p.match = MatchPod(v.spec.PodFailurePolicy, pod)
		}
		all = append(all, p)
		pods = append(pods, &all[len(all)-1])
	}
	slices.SortFunc(pods, func(a, b *podView) int {
		if a.index != b.index {
			return cmp.Compare(a.index, b.index)
		}
		return cmp.Or(strings.Compare(a.UID, b.UID), strings.Compare(a.Name, b.Name))
	})
	for _, p := range pods {
		if p.misread {
			notes.addMisread(p.Pod)
		}
	}
	return pods, notes, nil
}

// podView derives everything about a pod except its match and when it ended.
func (v *view) podView(pod *batch.Pod, known known) podView {
	p := podView{Pod: pod, index: -1, inRange: true}
	if v.indexed {
		p.readAnnotations()
		p.inRange = p.index >= 0 && p.index < v.completions()
	}
	id := p.identity()
	phase := pod.Status.Phase
	finished, deleting := pod.Finished(), !pod.DeletionTimestamp.IsZero()
	hasFinalizer := pod.Tracked() && !known.released[id]

	recorded := known.uncountedFailed[id] || known.uncountedSucceeded[id]
	switch {
	case recorded && hasFinalizer:
		p.tracking = trackingRecorded
	case recorded:
		p.tracking = trackingFreed
	case known.counted[id]:
		p.tracking = trackingCounted
	case hasFinalizer:
		p.tracking = trackingOpen
	case finished && v.scaledAway(p.index):
		p.tracking = trackingCounted // or released without being counted, if its index was beyond the completions
	case known.released[id]:
		p.tracking = trackingReleased
	}

	if finished { // an end that the status has recorded stands, even if the pod now shows another
		switch {
		case known.uncountedFailed[id]:
			phase = batch.PodFailed
		case known.uncountedSucceeded[id]:
			phase = batch.PodSucceeded
		}
	}
	switch {
	case phase == batch.PodSucceeded:
		p.stage = stageSucceeded
	case phase == batch.PodFailed:
		p.stage = stageFailed
	case deleting && v.replacesOnlyFailed():
		p.stage = stageTerminating
	case deleting:
		p.stage = stageReplaceable
	}
	return p
}

// scaledAway reports whether the index is beyond the Job's completions now or was so in
// the last plan, which released all pods that had ended there.
func (v *view) scaledAway(index int) bool {
	if !v.indexed {
		return false
	}
	n := v.completions()
	if last := v.in.State.Written.Completions; last > 0 {
		n = min(n, last)
	}
	return index >= n
}

// sameIndex splits off the pods with the index of the first one.
func sameIndex(pods []*podView) (same, rest []*podView) {
	n := 1
	for n < len(pods) && pods[n].index == pods[0].index {
		n++
	}
	return pods[:n], pods[n:]
}

// numbers are the annotations of an Indexed Job's pod that hold numbers.
var numbers = [...]string{batch.JobCompletionIndexAnnotation, batch.JobIndexFailureCountAnnotation, batch.JobIndexIgnoredFailureCountAnnotation}

// readAnnotations parses the numbers in the annotations of an Indexed Job's pod. An
// invalid failure count is 0. A too large index is kept, since it is out of
// range in every Job.
func (p *podView) readAnnotations() {
	p.index = -1
	for i, to := range [...]*int{&p.index, &p.failures, &p.ignored} {
		text, there := p.Annotations[numbers[i]]
		if !there {
			continue
		}
		n, ok := count.Parse(text)
		if !ok {
			p.misread = true
		}
		if ok || to == &p.index {
			*to = n
		}
	}
}

// addMisread notes annotations that do not hold a valid number.
func (n *notes) addMisread(pod *batch.Pod) {
	for _, a := range numbers {
		if text, there := pod.Annotations[a]; there {
			if _, ok := count.Parse(text); !ok {
				n.add("pod %s: annotation %s is %q: not a number from 0 to %d", pod.Name, a, text, maxCount)
			}
		}
	}
}

// observeUntracked looks for ended pods that never had the tracking finalizer, so that
// their ends count nothing. It adds notes about them and sets trackingNever.
//
// A pod that was counted and released has no finalizer either. So pods without it are
// noted only if they are more than the status counts, and get trackingNever only if the
// status counts none. observeUntracked ignores pods being deleted and pods whose index is
// beyond the completions. Once the end of the Job is decided, it ignores all pods.
func (v *view) observeUntracked() (notes notes) {
	status := &v.in.Job.Status
	if progressOf(status).Ending {
		return nil
	}
	var succeeded, failed []*podView
	for _, p := range v.pods {
		switch {
		case p.tracking != trackingNone || !p.inRange || !p.DeletionTimestamp.IsZero():
		case p.failed():
			failed = append(failed, p)
		case p.succeeded() && !v.wasSucceeded.Contains(p.index) && !v.wasFailed.Contains(p.index):
			succeeded = append(succeeded, p)
		}
	}
	if len(failed) > int(status.Failed) {
		failed = slices.DeleteFunc(failed, func(p *podView) bool { return !p.match.Counted() })
	}
	report := func(how string, pods []*podView, counted int) {
		if len(pods) <= counted {
			return
		}
		notes.add("%d pods, such as %s, have %s without the finalizer %s, and at most %d of them were counted; see Pod.Track",
			len(pods), pods[0].Name, how, batch.JobTrackingFinalizer, counted)
		if counted > 0 {
			return
		}
		for _, p := range pods {
			p.tracking = trackingNever
		}
	}
	countedSuccesses := int(status.Succeeded)
	if v.indexed {
		countedSuccesses = 0 // the pods of counted indexes are not in the list
	}
	report("succeeded", succeeded, countedSuccesses)
	report("failed", failed, int(status.Failed))
	return notes
}
